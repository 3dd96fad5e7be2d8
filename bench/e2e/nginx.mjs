/**
 * nginx: the server that HTTP/1.1 is measured against.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROGRAM_ENV } from '../../scripts/program-env.mjs'

const { status, stderr } = spawnSync('nginx', ['-v'], { encoding: 'utf8', env: PROGRAM_ENV })

/** Such as `nginx/1.22.1`, or null where it isn't installed. */
export const nginxVersion = status === 0 ? (/nginx\/[\d.]+/.exec(stderr)?.[0] ?? 'nginx') : null

/**
 * Writes the configuration of one process that serves the files of a directory, on one port.
 *
 * @param {object} setting
 * @param {string} setting.directory
 * @param {number} setting.port
 * @param {import('./servers.mjs').Certificate | null} setting.tls
 * @returns {{ file: string, args: string[], env: Record<string, string> }} how it is started
 */
export function toNginx({ directory, port, tls }) {
  const prefix = join(directory, `nginx-${port}`)
  mkdirSync(prefix)
  const certificate =
    tls === null ? '' : `ssl_certificate ${tls.certFile}; ssl_certificate_key ${tls.keyFile};`
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${prefix}/${name};`,
  )
  const text = `daemon off;
master_process off;
pid ${prefix}/pid;
error_log ${prefix}/error.log crit;
events { worker_connections 4096; }
http {
  access_log off;
  ${places.join('\n  ')}
  default_type application/octet-stream;
  types { application/json json; }
  open_file_cache max=100;
  # A connection lives as long as the run.
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  server {
    listen 127.0.0.1:${port}${tls === null ? '' : ' ssl'};
    ${certificate}
    root ${directory};
    # The fields that nghttpd sends.
    add_header cache-control max-age=3600;
  }
}
`
  const config = join(prefix, 'nginx.conf')
  writeFileSync(config, text)
  return { file: 'nginx', args: ['-p', prefix, '-c', config, '-e', join(prefix, 'error.log')], env: {} }
}
