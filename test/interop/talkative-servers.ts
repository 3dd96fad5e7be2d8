/** Real servers at their most talkative: many small frames, PINGs, SETTINGS, WINDOW_UPDATEs. */

import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '../support/servers/free-port.ts'
import { buildGo } from '../support/servers/programs.ts'
import { requireEnvoy, toConfig } from '../support/servers/proxy-programs.ts'
import type { Cleaner } from './fetch-servers.ts'
import { launch, makeFolder } from './fetch-servers.ts'

/** A server that has `/drip?N` (a body of N pieces of a byte) and `/sip` (reads slowly, and says how many bytes came). */
export interface TalkativeServer {
  readonly origin: string
  /** To be trusted by `connect: { ca }`; `''` without TLS. */
  readonly ca: string
}

async function listen(
  cleaner: Cleaner,
  server: Http2Server | ReturnType<typeof createServer>,
): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleaner.add(() => new Promise((resolve) => server.close(resolve)))
  return (server.address() as AddressInfo).port
}

/** Asks for an ACK again and again, as soon as the last has come: of PINGs, and of SETTINGS. */
function pester(session: ServerHttp2Session): void {
  const ping = (): void => {
    if (!session.destroyed && !session.closed) session.ping(() => setTimeout(ping, 1))
  }
  const settle = (): void => {
    const maxConcurrentStreams = 100 + Math.floor(Math.random() * 100)
    if (!session.destroyed && !session.closed)
      session.settings({ maxConcurrentStreams }, () => setTimeout(settle, 5))
  }
  ping()
  settle()
}

async function drip(target: NodeJS.WritableStream, count: number): Promise<void> {
  for (let piece = 0; piece < count; piece++) {
    await new Promise((resolve) => target.write('d', resolve))
  }
  target.end()
}

function sip(stream: ServerHttp2Stream): void {
  let sum = 0
  stream.on('readable', () => {
    while (stream.read(1) !== null) sum++
  })
  stream.on('end', () => stream.end(`${sum}`))
}

/** Node's own: a `highWaterMark` of 1, writes of a byte, PINGs and SETTINGS all the time. */
export async function startNode(cleaner: Cleaner): Promise<TalkativeServer> {
  const server = createHttp2Server({ settings: { initialWindowSize: 1_024 } })
  server.on('session', (session) => {
    session.on('error', () => {})
    pester(session)
    cleaner.add(async () => session.destroy())
  })
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {})
    const url = new URL(headers[':path'] ?? '/', 'http://localhost')
    if (url.pathname === '/sip') {
      stream.respond()
      sip(stream)
      return
    }
    stream.respond({ ':status': 200 })
    void drip(stream, Number(url.search.slice(1)))
  })
  return { origin: `http://127.0.0.1:${await listen(cleaner, server)}`, ca: '' }
}

/** Go's net/http. */
export async function startGo(cleaner: Cleaner): Promise<TalkativeServer> {
  const { path, key, certificate, ca } = await makeFolder(cleaner, 'talkative')
  const binary = join(path, 'server')
  await buildGo(binary, { file: fileURLToPath(new URL('./children/talkative.go', import.meta.url)) })
  const { match } = await launch(
    cleaner,
    binary,
    ['-key', key, '-certificate', certificate],
    /^listening (\d+)$/m,
  )
  return { origin: `https://localhost:${match[1]}`, ca }
}

/** What nginx, Apache and Envoy stand in front of: HTTP/1.1, which writes bytes one by one. */
async function startBehind(cleaner: Cleaner): Promise<number> {
  const behind = createServer((request, response) => {
    if (request.url?.startsWith('/sip')) {
      let sum = 0
      request.on('data', (chunk: Buffer) => {
        sum += chunk.length
      })
      request.on('end', () => response.end(`${sum}`))
    } else void drip(response, Number(request.url?.split('?')[1]))
  })
  return listen(cleaner, behind)
}

/** nginx as a proxy that passes on at once what comes. */
export async function startNginx(cleaner: Cleaner): Promise<TalkativeServer> {
  const { path } = await makeFolder(cleaner, 'nginx')
  const upstream = await startBehind(cleaner)
  const port = await findFreePort()
  const file = join(path, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  await writeFile(
    file,
    `daemon off;
    pid ${path}/nginx.pid;
    error_log stderr notice;
    worker_processes 1;
    events { worker_connections 1024; }
    http {
      access_log off;
      ${temporary.map((name) => `${name}_temp_path ${path}/${name};`).join('\n')}
      server {
        listen 127.0.0.1:${port} http2;
        proxy_http_version 1.1;
        proxy_buffering off;
        proxy_request_buffering off;
        location / { proxy_pass http://127.0.0.1:${upstream}; }
      }
    }`,
  )
  await launch(cleaner, 'nginx', ['-p', path, '-c', file, '-e', 'stderr'], /start worker processes/)
  return { origin: `http://127.0.0.1:${port}`, ca: '' }
}

/** Apache as a proxy that passes on at once what comes. */
export async function startApache(cleaner: Cleaner): Promise<TalkativeServer> {
  const { path } = await makeFolder(cleaner, 'apache')
  const upstream = await startBehind(cleaner)
  const port = await findFreePort()
  const file = join(path, 'apache.conf')
  const modules = ['mpm_event', 'http2', 'proxy', 'proxy_http', 'authz_core']
  await writeFile(
    file,
    `ServerRoot ${path}
    DefaultRuntimeDir ${path}
    PidFile ${path}/apache.pid
    ServerName localhost
    ErrorLog "|/bin/cat"
    LogLevel notice
    User nobody
    Group nogroup
    ${modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
    Listen 127.0.0.1:${port}
    Protocols h2c
    ProxyPass / http://127.0.0.1:${upstream}/ flushpackets=on`,
  )
  await launch(cleaner, 'apache2', ['-f', file, '-D', 'FOREGROUND'], /resuming normal operations/)
  return { origin: `http://127.0.0.1:${port}`, ca: '' }
}

/** Octets of nghttpd's file `large`. */
export const LARGE = 1_000_000

/** nghttpd: it sends an upload back, and takes it in a stream window of 255 octets, so that WINDOW_UPDATEs are small. */
export async function startNghttpd(cleaner: Cleaner): Promise<TalkativeServer> {
  const { root } = await makeFolder(cleaner, 'nghttpd')
  await writeFile(join(root, 'large'), Buffer.alloc(LARGE, 'd'))
  const port = await findFreePort()
  const options = ['--address=127.0.0.1', `--htdocs=${root}`, '--echo-upload', '--window-bits=8', '--no-tls']
  await launch(cleaner, 'nghttpd', [...options, '--verbose', `${port}`], /listen 127\.0\.0\.1/)
  return { origin: `http://127.0.0.1:${port}`, ca: '' }
}

/** Envoy with small windows, and a PING each 20 ms. */
export async function startEnvoy(cleaner: Cleaner): Promise<TalkativeServer> {
  const { path } = await makeFolder(cleaner, 'envoy')
  const upstream = await startBehind(cleaner)
  const port = await findFreePort()
  const file = join(path, 'envoy.json')
  await writeFile(file, JSON.stringify(toConfiguration(port, upstream)))
  const options = ['--disable-hot-restart', '--concurrency', '1', '-c', file]
  await launch(cleaner, requireEnvoy(), options, /starting main dispatch loop/)
  return { origin: `http://127.0.0.1:${port}`, ca: '' }
}

function toConfiguration(port: number, upstream: number): object {
  const toAddress = (port_value: number) => ({ socket_address: { address: '127.0.0.1', port_value } })
  const endpoints = [{ lb_endpoints: [{ endpoint: { address: toAddress(upstream) } }] }]
  const router = {
    name: 'envoy.filters.http.router',
    typed_config: toConfig('filters.http.router.v3.Router', {}),
  }
  const manager = toConfig('filters.network.http_connection_manager.v3.HttpConnectionManager', {
    stat_prefix: 'edge',
    codec_type: 'HTTP2',
    http2_protocol_options: {
      initial_stream_window_size: 65_535,
      initial_connection_window_size: 65_535,
      connection_keepalive: { interval: '0.02s', timeout: '20s', interval_jitter: { value: 0 } },
    },
    http_filters: [router],
    route_config: {
      virtual_hosts: [
        {
          name: 'all',
          domains: ['*'],
          routes: [{ match: { prefix: '/' }, route: { cluster: 'behind', timeout: '0s' } }],
        },
      ],
    },
  })
  const filters = [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }]
  return {
    static_resources: {
      listeners: [{ address: toAddress(port), filter_chains: [{ filters }] }],
      clusters: [{ name: 'behind', type: 'STATIC', load_assignment: { cluster_name: 'behind', endpoints } }],
    },
  }
}
