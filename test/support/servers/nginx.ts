import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AccessLine } from './access-log.ts'
import { parseAccessLog } from './access-log.ts'
import { lacks, requireProgram } from './programs.ts'
import { toCertificate } from './server.ts'
import { makeFolder, startProcess } from './server-process.ts'

/** A running nginx. */
export interface Nginx {
  readonly origin: string
  /** The certificate of a TLS server, to be trusted by `connect: { ca }`. */
  readonly ca: string
  /** Ends it, and gives its access log: a line for each request that it took up. */
  stop(): Promise<AccessLine[]>
}

interface NginxOptions {
  readonly tls?: boolean
  /** Directives of its `server` block, besides those that say where it listens. */
  readonly server: string
}

export const lacksNginx = lacks('nginx')

/** Starts an nginx that speaks HTTP/2, in cleartext by prior knowledge. It ends with the test. */
export async function startNginx({ tls = false, server }: NginxOptions): Promise<Nginx> {
  requireProgram('nginx')
  const folder = await makeFolder('nginx')
  const { private: key, cert: ca } = tls ? await toCertificate() : { private: '', cert: '' }
  if (tls) {
    await writeFile(join(folder, 'key.pem'), key)
    await writeFile(join(folder, 'cert.pem'), ca)
  }
  const configuration = join(folder, 'nginx.conf')
  const running = await startProcess(async (port) => {
    await writeFile(configuration, toConfiguration(folder, port, tls, server))
    const args = ['-p', folder, '-c', configuration, '-e', 'stderr']
    return { command: 'nginx', args, ready: 'start worker processes' }
  })
  return {
    origin: tls ? `https://localhost:${running.port}` : `http://127.0.0.1:${running.port}`,
    ca,
    stop: async () => {
      await running.stop()
      return parseAccessLog(await readFile(join(folder, 'access.log'), 'utf8'))
    },
  }
}

function toConfiguration(folder: string, port: number, tls: boolean, server: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
    daemon off;
    pid ${folder}/nginx.pid;
    error_log stderr notice;
    worker_processes 1;
    events { worker_connections 1024; }
    http {
      log_format line '$connection $request_method $request_uri $status';
      access_log ${folder}/access.log line;
      ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
      server {
        listen 127.0.0.1:${port} http2${tls ? ' ssl' : ''};
        ${tls ? `ssl_certificate ${folder}/cert.pem; ssl_certificate_key ${folder}/key.pem;` : ''}
        ${server}
      }
    }`
}
