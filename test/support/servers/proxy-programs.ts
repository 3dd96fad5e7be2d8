/** Proxies that others wrote. Each knows one user, and writes down what it was asked for. */

import { spawnSync } from 'node:child_process'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Program } from './programs.ts'
import { lacks, requireProgram } from './programs.ts'
import { toCertificate } from './server.ts'
import type { ServerProcess } from './server-process.ts'
import { makeFolder, startProcess } from './server-process.ts'

/** Who may use the proxies. The password has what a URL must escape. */
export const USER = 'me'
export const PASSWORD = 's3cr3t:@'
/** The password as Apache's MD5 and as SHA-1: squid reads the one, Envoy the other. */
const MD5 = '$apr1$WBc.pw59$4v3VptBG124XSOb7t.pRu/'
const SHA1 = '{SHA}KaxFK3Y3xceV3n7bv85sclR55lA='

/** A running proxy. */
export interface ProxyProgram {
  /** Without credentials. The name of its host is `localhost`. */
  readonly url: string
  /** What it has written down: lines with the target, and what became of it. Some are written when a tunnel ends. */
  log(): Promise<string>
  /** Kills it, with all its connections. */
  kill(): Promise<void>
  /** Starts it anew, on the same port. */
  restart(): Promise<void>
}

/** A kind of proxy. */
export interface ProxyKind {
  readonly name: string
  /** The status of its response to wrong and missing credentials; 0 with SOCKS5. */
  readonly refusal: 407 | 401 | 0
  /** Whether its log has the user's name. */
  readonly logsUser: boolean
  /** It isn't installed, and its tests are skipped. Never with CI=true. */
  readonly isLacking: boolean
  readonly start: () => Promise<ProxyProgram>
}

/** How to start one. */
type ToLaunch = Parameters<typeof startProcess>[0]

class RestartedProxy implements ProxyProgram {
  readonly url: string
  readonly #toLaunch: ToLaunch
  readonly #file: string | null
  #process: ServerProcess

  /** @param file its log; null: it says what it does */
  private constructor(protocol: string, toLaunch: ToLaunch, process: ServerProcess, file: string | null) {
    this.url = `${protocol}://localhost:${process.port}`
    this.#toLaunch = toLaunch
    this.#process = process
    this.#file = file
    // Before it is asked to end: nghttpx of one process doesn't listen, and squid takes its time.
    onTestFinished(() => this.kill())
  }

  static async start(protocol: string, file: string | null, toLaunch: ToLaunch): Promise<RestartedProxy> {
    return new RestartedProxy(protocol, toLaunch, await startProcess(toLaunch), file)
  }

  async log(): Promise<string> {
    return this.#file === null ? this.#process.said() : readFile(this.#file, 'utf8')
  }

  kill(): Promise<void> {
    return this.#process.kill()
  }

  async restart(): Promise<void> {
    this.#process = await startProcess(this.#toLaunch, this.#process.port)
  }
}

/** A folder with the server's certificate and its key. */
async function makeTlsFolder(name: string): Promise<string> {
  const folder = await makeFolder(name)
  // squid gives up root's rights before it opens its log.
  await chmod(folder, 0o777)
  const { private: key, cert } = await toCertificate()
  await writeFile(join(folder, 'key.pem'), key)
  await writeFile(join(folder, 'cert.pem'), cert)
  return folder
}

/** squid, with `basic_ncsa_auth`: HTTP/1.1. */
export async function startSquid(tls: boolean): Promise<ProxyProgram> {
  requireProgram('squid')
  const folder = await makeTlsFolder('squid')
  await writeFile(join(folder, 'users'), `${USER}:${MD5}\n`)
  const file = join(folder, 'squid.conf')
  return RestartedProxy.start(tls ? 'https' : 'http', join(folder, 'access.log'), async (port) => {
    await writeFile(file, toSquidConfiguration(folder, port, tls))
    // It says that it accepts connections a little before it does.
    return { command: 'squid', args: ['-N', '-d1', '-f', file], ready: null }
  })
}

function toSquidConfiguration(folder: string, port: number, tls: boolean): string {
  const listen = tls
    ? `https_port 127.0.0.1:${port} tls-cert=${folder}/cert.pem tls-key=${folder}/key.pem`
    : `http_port 127.0.0.1:${port}`
  return `${listen}
    auth_param basic program /usr/lib/squid/basic_ncsa_auth ${folder}/users
    auth_param basic children 1
    auth_param basic realm dodici
    acl known proxy_auth REQUIRED
    http_access allow known
    http_access deny all
    cache deny all
    cache_mem 1 MB
    cache_log /dev/null
    cache_store_log none
    coredump_dir none
    pid_filename none
    netdb_filename none
    pinger_enable off
    max_filedescriptors 4096
    shutdown_lifetime 0 seconds
    visible_hostname localhost
    logformat line %un %rm %ru %>Hs
    access_log stdio:${folder}/access.log line
    `.replaceAll('\n    ', '\n')
}

/** nghttpx in front of squid: HTTP/2 and HTTP/1.1. It passes CONNECT on, with the credentials. */
async function startNghttpx(): Promise<ProxyProgram> {
  requireProgram('nghttpx')
  const behind = await startSquid(false)
  const folder = await makeTlsFolder('nghttpx')
  const squid = `127.0.0.1,${new URL(behind.url).port}`
  const front = await RestartedProxy.start('https', null, async (port) => ({
    command: 'nghttpx',
    // Of one process, as it may be killed.
    args: [
      ...['--http2-proxy', '--no-ocsp', '--conf=/dev/null', '--single-process', '--workers=1'],
      // By default it opens eight tunnels to a host, and lets the others wait.
      ...[`--frontend=127.0.0.1,${port}`, `--backend=${squid}`, '--backend-connections-per-host=512'],
      ...['--accesslog-file=/dev/stdout', '--accesslog-format=$alpn $method $path $status'],
      ...[join(folder, 'key.pem'), join(folder, 'cert.pem')],
    ],
    ready: null,
  }))
  return {
    url: front.url,
    log: async () => (await front.log()) + (await behind.log()),
    kill: () => front.kill(),
    restart: () => front.restart(),
  }
}

/** Envoy: CONNECT by HTTP/2 and HTTP/1.1. It refuses with 401. */
async function startEnvoy(): Promise<ProxyProgram> {
  const folder = await makeTlsFolder('envoy')
  const file = join(folder, 'envoy.json')
  const command = requireEnvoy()
  const options = ['--disable-hot-restart', '--concurrency', '1', '--file-flush-interval-msec', '50']
  return RestartedProxy.start('https', join(folder, 'access.log'), async (port) => {
    await writeFile(file, JSON.stringify(toEnvoyConfiguration(folder, port)))
    return { command, args: ['-c', file, ...options], ready: null }
  })
}

const EXTENSIONS = 'type.googleapis.com/envoy.extensions'
export const toConfig = (type: string, config: object) => ({ '@type': `${EXTENSIONS}.${type}`, ...config })

function toEnvoyConfiguration(folder: string, port: number): object {
  const dns_cache_config = { name: 'dns', dns_lookup_family: 'V4_ONLY' }
  const tls = toConfig('transport_sockets.tls.v3.DownstreamTlsContext', {
    common_tls_context: {
      alpn_protocols: ['h2', 'http/1.1'],
      tls_certificates: [
        {
          certificate_chain: { filename: join(folder, 'cert.pem') },
          private_key: { filename: join(folder, 'key.pem') },
        },
      ],
    },
  })
  const address = { socket_address: { address: '127.0.0.1', port_value: port } }
  const transport_socket = { name: 'envoy.transport_sockets.tls', typed_config: tls }
  const filters = [
    {
      name: 'envoy.filters.network.http_connection_manager',
      typed_config: toEnvoyManager(folder, dns_cache_config),
    },
  ]
  const cluster = toConfig('clusters.dynamic_forward_proxy.v3.ClusterConfig', { dns_cache_config })
  return {
    static_resources: {
      listeners: [{ address, filter_chains: [{ transport_socket, filters }] }],
      clusters: [
        {
          name: 'forward',
          lb_policy: 'CLUSTER_PROVIDED',
          cluster_type: { name: 'envoy.clusters.dynamic_forward_proxy', typed_config: cluster },
        },
      ],
    },
  }
}

function toEnvoyManager(folder: string, dns_cache_config: object): object {
  const log = toConfig('access_loggers.file.v3.FileAccessLog', {
    path: join(folder, 'access.log'),
    log_format: {
      text_format_source: {
        inline_string: '%PROTOCOL% %REQ(:METHOD)% %REQ(:AUTHORITY)% %RESPONSE_CODE%\n',
      },
    },
  })
  const basicAuth = toConfig('filters.http.basic_auth.v3.BasicAuth', {
    users: { inline_string: `${USER}:${SHA1}` },
    authentication_header: 'proxy-authorization',
  })
  const forward = toConfig('filters.http.dynamic_forward_proxy.v3.FilterConfig', { dns_cache_config })
  const upgrade_configs = [{ upgrade_type: 'CONNECT', connect_config: {} }]
  const route = { cluster: 'forward', timeout: '0s' }
  return toConfig('filters.network.http_connection_manager.v3.HttpConnectionManager', {
    stat_prefix: 'proxy',
    http2_protocol_options: { allow_connect: true },
    access_log: [{ name: 'envoy.access_loggers.file', typed_config: log }],
    http_filters: [
      { name: 'envoy.filters.http.basic_auth', typed_config: basicAuth },
      { name: 'envoy.filters.http.dynamic_forward_proxy', typed_config: forward },
      { name: 'envoy.filters.http.router', typed_config: toConfig('filters.http.router.v3.Router', {}) },
    ],
    route_config: {
      request_headers_to_remove: ['proxy-authorization'],
      virtual_hosts: [
        {
          name: 'all',
          domains: ['*'],
          routes: [
            { match: { connect_matcher: {} }, route: { ...route, upgrade_configs } },
            { match: { prefix: '/' }, route },
          ],
        },
      ],
    },
  })
}

/** microsocks: SOCKS5, with user name and password. */
async function startMicrosocks(): Promise<ProxyProgram> {
  requireProgram('microsocks')
  return RestartedProxy.start('socks5', null, async (port) => ({
    command: 'microsocks',
    args: ['-i', '127.0.0.1', '-p', `${port}`, '-u', USER, '-P', PASSWORD],
    ready: null,
  }))
}

const ENVOY_SCRIPT = fileURLToPath(new URL('../../../scripts/install-envoy.sh', import.meta.url))

/** The path of the Envoy that the script has installed; null where it hasn't. */
function findEnvoy(): string | null {
  const { status, stdout } = spawnSync(ENVOY_SCRIPT, ['--installed'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : null
}

export function requireEnvoy(): string {
  const path = findEnvoy()
  if (path === null) throw new Error('envoy is not installed: scripts/install-servers.sh installs it')
  return path
}

export function lacksEnvoy(): boolean {
  if (process.env.CI === 'true' || findEnvoy() !== null) return false
  console.warn('SKIPPED: the tests that need envoy: scripts/install-servers.sh installs it.')
  return true
}

const lacksAny = (...programs: Program[]): boolean => programs.map(lacks).includes(true)
const lacksSquid = lacksAny('squid')

export const PROXY_KINDS: readonly ProxyKind[] = [
  { name: 'squid', refusal: 407, logsUser: true, isLacking: lacksSquid, start: () => startSquid(false) },
  {
    name: 'squid over TLS',
    ...{ refusal: 407, logsUser: true, isLacking: lacksSquid, start: () => startSquid(true) },
  },
  {
    name: 'nghttpx',
    ...{ refusal: 407, logsUser: true, isLacking: lacksAny('nghttpx') || lacksSquid, start: startNghttpx },
  },
  { name: 'Envoy', refusal: 401, logsUser: false, isLacking: lacksEnvoy(), start: startEnvoy },
  {
    name: 'microsocks',
    ...{ refusal: 0, logsUser: false, isLacking: lacksAny('microsocks'), start: startMicrosocks },
  },
]
