/**
 * Real servers, each in a process of its own that doesn't outlive this one: over HTTP/2 by prior knowledge. The proxies among them have an
 * origin over HTTP/1.1 behind. None retries a request: what the origin gets twice, the client has sent twice.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { has, makeFolder, say, startServer, toVersion } from '../processes.mjs'
import { PROGRAM_ENV } from '../program-env.mjs'

/**
 * @typedef {object} Place of a configuration
 * @property {number} port
 * @property {number} origin its port
 * @property {string} folder
 *
 * @typedef {{ origin: string, port: number, version: string, stop(): Promise<void> }} Started
 * @typedef {(origin: number) => Promise<Started>} Recipe `origin`: the port of what a proxy has behind it
 */

const scripts = join(import.meta.dirname, '..')
const interop = join(scripts, '../test/interop')
const ECHO = join(import.meta.dirname, 'echo.mjs')

export const hasNghttpd = has('nghttpd', '--version')
export const hasGo = has('go', 'version')

/** A server whose folder goes with it. @param {string} command @param {(port: number, folder: string) => string[]} toArgs @param {NodeJS.ProcessEnv} [env] */
async function startIn(command, toArgs, env) {
  const { folder, remove } = makeFolder('soak')
  const own = { ...(env ?? PROGRAM_ENV), HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder }
  const { stop, ...started } = await startServer(command, (port) => toArgs(port, folder), own)
  return {
    ...started,
    async stop() {
      await stop()
      remove()
    },
  }
}

/** A program of Go's, which is built first. @param {string} cwd @param {string} source @param {(port: number) => string[]} toArgs */
async function startGo(cwd, source, toArgs) {
  const { folder, remove } = makeFolder('soak')
  const binary = join(folder, 'server')
  const args = ['build', '-ldflags=-s -w', '-o', binary, source]
  const { status, stderr } = spawnSync('go', args, { cwd, env: PROGRAM_ENV, encoding: 'utf8' })
  if (status !== 0) throw new Error(`go cannot build ${source}: ${stderr}`)
  const { stop, ...started } = await startServer(binary, toArgs)
  return {
    ...started,
    async stop() {
      await stop()
      remove()
    },
  }
}

/** A correct server: failures with it are the client's own. @param {number} size of the body of each response to a GET, which says it */
export const startNghttpd = (size = 20) =>
  startIn('nghttpd', (port, folder) => {
    writeFileSync(join(folder, 'soak'), `${size}:`.padEnd(size, 'n'))
    return ['--no-tls', '--address=127.0.0.1', '--echo-upload', `--htdocs=${folder}`, `${port}`]
  })

/** A gRPC server: grpc-go, or grpc-js if Go isn't installed. It is correct, and by default retires each connection after a while. */
export async function startGrpc(args = ['--max-connection-age=300ms']) {
  const toArgs = (/** @type {number} */ port) => [...args, `--port=${port}`]
  if (hasGo) return await startGo(join(interop, 'grpc-go'), '.', toArgs)
  const script = join(interop, 'children/grpc-js-server.mjs')
  return await startServer(process.execPath, (port) => [script, ...toArgs(port)])
}

/** @param {Place} place */
const toNginx = ({ port, origin, folder }) => `
  daemon off;
  master_process off;
  pid ${folder}/pid;
  error_log /dev/null;
  events { worker_connections 4096; }
  http {
    access_log off;
    client_body_temp_path ${folder}/body;
    proxy_temp_path ${folder}/proxy;
    fastcgi_temp_path ${folder}/fastcgi;
    uwsgi_temp_path ${folder}/uwsgi;
    scgi_temp_path ${folder}/scgi;
    client_max_body_size 0;
    server {
      listen 127.0.0.1:${port} http2;
      location / {
        proxy_pass http://127.0.0.1:${origin};
        proxy_http_version 1.1;
        proxy_next_upstream off;
        proxy_request_buffering off;
        proxy_buffering off;
      }
    }
  }`

/** Where Debian has Apache's modules. */
const MODULES = '/usr/lib/apache2/modules'

/** User and Group count only for root. @param {Place} place */
const toApache = ({ port, origin, folder }) => `
  ServerRoot ${folder}
  DefaultRuntimeDir ${folder}
  PidFile ${folder}/pid
  ServerName localhost
  ErrorLog /dev/null
  User nobody
  Group nogroup
  ${['mpm_event', 'http2', 'proxy', 'proxy_http', 'authz_core']
    .map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`)
    .join('\n  ')}
  Listen 127.0.0.1:${port}
  Protocols h2c
  ProxyPass / http://127.0.0.1:${origin}/ disablereuse=On flushpackets=On`

/** @param {Place} place */
const toHaproxy = ({ port, origin }) => `
global
  maxconn 4000
defaults
  mode http
  timeout connect 20s
  timeout client 60s
  timeout server 60s
  timeout tunnel 60s
  retries 0
frontend front
  bind 127.0.0.1:${port} proto h2
  default_backend back
backend back
  http-reuse never
  server origin 127.0.0.1:${origin}
`

/** @param {Place} place */
const toH2o = ({ port, origin, folder }) => `
${process.getuid?.() === 0 ? 'user: root' : ''}
listen:
  host: 127.0.0.1
  port: ${port}
pid-file: ${folder}/pid
error-log: /dev/null
hosts:
  default:
    paths:
      /:
        proxy.reverse.url: http://127.0.0.1:${origin}/
        proxy.timeout.keepalive: 0
`

/** @param {Place} place */
const toCaddy = ({ port, origin, folder }) => `
{
  admin off
  auto_https off
  storage file_system ${folder}
  log {
    output discard
  }
  servers {
    protocols h1 h2c
  }
}
http://:${port} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${origin} {
    flush_interval -1
    transport http {
      keepalive off
    }
  }
}
`

const EXTENSIONS = 'type.googleapis.com/envoy.extensions.filters'

/** @param {Place} place */
function toEnvoy({ port, origin }) {
  const at = (/** @type {number} */ port_value) => ({ socket_address: { address: '127.0.0.1', port_value } })
  const route = { match: { prefix: '/' }, route: { cluster: 'origin', timeout: '0s' } }
  const router = { '@type': `${EXTENSIONS}.http.router.v3.Router` }
  const manager = {
    '@type': `${EXTENSIONS}.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'chaos',
    codec_type: 'HTTP2',
    http2_protocol_options: { allow_connect: true },
    upgrade_configs: [{ upgrade_type: 'websocket' }],
    http_filters: [{ name: 'envoy.filters.http.router', typed_config: router }],
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes: [route] }] },
  }
  const filters = [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }]
  const endpoints = [{ lb_endpoints: [{ endpoint: { address: at(origin) } }] }]
  const cluster = { name: 'origin', type: 'STATIC', connect_timeout: '20s' }
  return JSON.stringify({
    static_resources: {
      listeners: [{ address: at(port), filter_chains: [{ filters }] }],
      clusters: [
        {
          ...cluster,
          // A connection for each request: none is used again just as it ends.
          max_requests_per_connection: 1,
          load_assignment: { cluster_name: 'origin', endpoints },
        },
      ],
    },
  })
}

/**
 * A program in front of the origin, with a configuration file.
 *
 * @param {() => { command: string, version: string }} find @param {(place: Place) => string} toConfiguration
 * @param {(file: string) => string[]} toArgs
 * @returns {Recipe}
 */
const proxy = (find, toConfiguration, toArgs) => async (origin) => {
  const { command, version } = find()
  const started = await startIn(command, (port, folder) => {
    const file = join(folder, `configuration${toConfiguration === toEnvoy ? '.json' : ''}`)
    writeFileSync(file, toConfiguration({ port, origin, folder }))
    return toArgs(file)
  })
  return { ...started, version }
}

/** @param {string} command @param {string} option */
const installed = (command, option) => () => ({ command, version: toVersion(say(command, option)) })

function findEnvoy() {
  const command = say(join(scripts, 'install-envoy.sh'), '--installed')
  return { command, version: /\/(\d+\.\d+\.\d+)\//.exec(say(command, '--version'))?.[1] ?? 'unknown' }
}

/** @param {string} major @returns {Recipe} */
const node = (major) => async () => {
  const command = say(join(scripts, 'install-node.sh'), major)
  const started = await startServer(command, (port) => [ECHO, 'h2c', `${port}`])
  return { ...started, version: say(command, '-v').slice(1) }
}

/** By their names. Each is one process, as it is killed. @type {Readonly<Record<string, Recipe>>} */
export const RECIPES = {
  nginx: proxy(installed('nginx', '-v'), toNginx, (file) => ['-c', file]),
  Apache: proxy(installed('apache2', '-v'), toApache, (file) => ['-f', file, '-X']),
  Envoy: proxy(findEnvoy, toEnvoy, (file) => [
    ...['-c', file, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'off'],
  ]),
  HAProxy: proxy(installed('haproxy', '-v'), toHaproxy, (file) => ['-f', file, '-db']),
  h2o: proxy(installed('h2o', '--version'), toH2o, (file) => ['-m', 'worker', '-c', file]),
  Caddy: proxy(installed('caddy', 'version'), toCaddy, (file) => [
    ...['run', '--config', file, '--adapter', 'caddyfile'],
  ]),
  async Hypercorn() {
    const library = say(join(scripts, 'install-hypercorn.sh'), '--installed')
    const path = `${library}:${import.meta.dirname}`
    // Without workers it is one process.
    const args = ['-m', 'hypercorn', '--workers=0', '--log-level=critical', 'echo_asgi:app']
    const env = { ...PROGRAM_ENV, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' }
    const started = await startServer('python3', (port) => [...args, `--bind=127.0.0.1:${port}`], env)
    return { ...started, version: /hypercorn-(.*)$/.exec(library)?.[1] ?? 'unknown' }
  },
  async Go() {
    const started = await startGo(import.meta.dirname, 'echo.go', (port) => [`${port}`])
    return { ...started, version: toVersion(say('go', 'version')) }
  },
  async 'grpc-go'() {
    const version = `1.64.1, Go ${toVersion(say('go', 'version'))}`
    // It permits PINGs as often as the soak's clients send them.
    return { ...(await startGrpc(['--min-time=10ms', '--max-connection-age=20s'])), version }
  },
  async nghttpd() {
    const version = toVersion(say('nghttpd', '--version'))
    return { ...(await startNghttpd(20_000)), version }
  },
  ...Object.fromEntries(['20', '22', '24', '26'].map((major) => [`Node ${major}`, node(major)])),
}

/** The proxies' origin: a connection that they have opened must not be closed by it. */
export const startOrigin = () => startServer(process.execPath, (port) => [ECHO, 'http1', `${port}`])

/** What the origin says over HTTP/1.1. @param {number} port @param {string} path @returns {Promise<any>} */
export async function askOrigin(port, path) {
  const response = await new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', path, agent: false }, resolve).on('error', reject)
  })
  return JSON.parse(await text(response))
}
