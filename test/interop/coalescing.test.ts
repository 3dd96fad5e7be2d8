import { execFileSync } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { install, uninstall } from '../../src/index.ts'
import type { CoalesceOptions, DodiciChannels } from '../../types/index.ts'
import { askAgent, toAgent } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { lacks, requireProgram } from '../support/servers/programs.ts'
import { makeFolder, startProcess } from '../support/servers/server-process.ts'
import { toNamesCertificate, toNamesLookup } from '../support/servers/shared-names.ts'
import type { Runtime } from './runtimes/programs.ts'
import { lacksRuntime, requireRuntime } from './runtimes/programs.ts'

/**
 * Ten times as slow: on a busy machine the first handshake may take a second, for which the other origins would wait no longer
 * (coalescing-life.test.ts has that limit).
 */
vi.mock('../../src/core/clock.ts', async (load) => {
  const original = await load<typeof import('../../src/core/clock.ts')>()
  const { PacedClock } = await import('../support/clocks/paced-clock.ts')
  return { ...original, systemClock: new PacedClock(original.systemClock, 0.1) }
})

const NAMES = Array.from({ length: 20 }, (_, i) => `o${i}.shared.test`)
/** nginx serves it only on a connection that has asked for it by SNI. */
const PICKY = 'picky.shared.test'
const ORIGIN_SERVER = fileURLToPath(new URL('children/origin-server.mjs', import.meta.url))
const ENVOY = fileURLToPath(new URL('../../scripts/install-envoy.sh', import.meta.url))

/** What each server is started with. Its responses are the name of the host, and a line feed perhaps. */
interface Folder {
  readonly path: string
  readonly port: number
}

type Kind = 'nginx' | 'h2o' | 'Envoy'

const ALL: readonly Kind[] = ['nginx', 'h2o', 'Envoy']

function isMissing(kind: Kind): boolean {
  if (kind !== 'Envoy') return lacks(kind)
  if (process.env.CI === 'true') return false
  try {
    execFileSync(ENVOY, ['--installed'], { stdio: 'ignore' })
    return false
  } catch {
    console.warn('SKIPPED: the tests that need Envoy: scripts/install-envoy.sh installs it.')
    return true
  }
}

function toNginx({ path, port }: Folder): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const listen = `listen 127.0.0.1:${port} http2 ssl;`
  return `
    daemon off;
    pid ${path}/nginx.pid;
    error_log stderr notice;
    worker_processes 1;
    events { worker_connections 1024; }
    http {
      access_log off;
      ${temporary.map((name) => `${name}_temp_path ${path}/${name};`).join('\n')}
      ssl_certificate ${path}/cert.pem;
      ssl_certificate_key ${path}/key.pem;
      server { ${listen} server_name *.shared.test; return 200 "$connection $host"; }
      server {
        ${listen}
        server_name ${PICKY};
        if ($ssl_server_name != $host) { return 421; }
        return 200 "$connection $host";
      }
    }`
}

async function toH2o({ path, port }: Folder): Promise<string> {
  const hosts = await Promise.all(
    NAMES.map(async (name) => {
      await mkdir(join(path, name))
      await writeFile(join(path, name, 'index.html'), `- ${name}`)
      return `  "${name}:${port}":\n    paths:\n      "/":\n        file.dir: ${join(path, name)}\n`
    }),
  )
  return `${process.getuid?.() === 0 ? 'user: root\n' : ''}listen:
  host: 127.0.0.1
  port: ${port}
  ssl:
    certificate-file: ${path}/cert.pem
    key-file: ${path}/key.pem
pid-file: ${path}/pid
error-log: /dev/null
hosts:
${hosts.join('')}`
}

function toEnvoy({ path, port }: Folder): string {
  const typed = 'type.googleapis.com/envoy.extensions'
  const router = { '@type': `${typed}.filters.http.router.v3.Router` }
  const manager = {
    '@type': `${typed}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'shared',
    http_filters: [{ name: 'envoy.filters.http.router', typed_config: router }],
    route_config: {
      virtual_hosts: NAMES.map((name) => ({
        name,
        domains: [`${name}:${port}`],
        routes: [
          { match: { prefix: '/' }, direct_response: { status: 200, body: { inline_string: `- ${name}` } } },
        ],
      })),
    },
  }
  const certificate = {
    certificate_chain: { filename: `${path}/cert.pem` },
    private_key: { filename: `${path}/key.pem` },
  }
  const context = {
    '@type': `${typed}.transport_sockets.tls.v3.DownstreamTlsContext`,
    common_tls_context: { tls_certificates: [certificate], alpn_protocols: ['h2'] },
  }
  const filter = { name: 'envoy.filters.network.http_connection_manager', typed_config: manager }
  const listener = {
    address: { socket_address: { address: '127.0.0.1', port_value: port } },
    filter_chains: [
      { filters: [filter], transport_socket: { name: 'envoy.transport_sockets.tls', typed_config: context } },
    ],
  }
  return JSON.stringify({ static_resources: { listeners: [listener] } })
}

/** Starts a server for all names, with one certificate. It ends with the test. */
async function start(kind: Kind): Promise<{ toOrigin: (name: string) => string; ca: string }> {
  if (kind !== 'Envoy') requireProgram(kind)
  const { key, cert } = await toNamesCertificate(['*.shared.test'])
  const { port } = await startProcess(async (at) => {
    const folder = await makeFolder('shared')
    await writeFile(join(folder, 'key.pem'), key)
    await writeFile(join(folder, 'cert.pem'), cert)
    const where = { path: folder, port: at }
    if (kind === 'nginx') {
      const file = join(folder, 'nginx.conf')
      await writeFile(file, toNginx(where))
      const args = ['-p', folder, '-c', file, '-e', 'stderr']
      return { command: 'nginx', args, ready: 'start worker processes' }
    }
    if (kind === 'h2o') {
      const file = join(folder, 'h2o.yaml')
      await writeFile(file, await toH2o(where))
      return { command: 'h2o', args: ['-m', 'worker', '-c', file], ready: null }
    }
    const file = join(folder, 'envoy.json')
    await writeFile(file, toEnvoy(where))
    const command = execFileSync(ENVOY, ['--installed'], { encoding: 'utf8' }).trim()
    const args = ['-c', file, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'off']
    return { command, args, ready: null }
  })
  return { toOrigin: (name) => `https://${name}:${port}`, ca: cert }
}

/** Notes the socket of each session. @returns ends that */
function watchSockets(sockets: Set<unknown>): () => void {
  const listen = (message: unknown): void => {
    sockets.add((message as DodiciChannels['dodici:session:ready']).socket)
  }
  subscribe('dodici:session:ready', listen)
  return () => void unsubscribe('dodici:session:ready', listen)
}

describe.each(ALL)('behind %s', (kind) => {
  describe.skipIf(isMissing(kind)).each(ENGINES)('on engine %s', (engine) => {
    async function setUp(isShared: boolean) {
      const { toOrigin, ca } = await start(kind)
      const connect = { ca, lookup: toNamesLookup({ '*': ['127.0.0.1'] }) }
      const agent = toAgent({ coalesce: isShared, engine, connect })
      const sockets = new Set<unknown>()
      const toClose = watchSockets(sockets)
      onTestFinished(toClose)
      const ask = async (name: string): Promise<string> => {
        const { statusCode, body } = await agent.request({ origin: toOrigin(name), path: '/', method: 'GET' })
        return `${statusCode} ${(await body.text()).trim().split(' ').at(-1)}`
      }
      return { agent, ask, sockets, toOrigin }
    }

    it('20 origins share a connection, and each gets its own response', async () => {
      const { ask, sockets } = await setUp(true)
      expect(await Promise.all(NAMES.map(ask))).toEqual(NAMES.map((name) => `200 ${name}`))
      for (const name of NAMES) expect(await ask(name)).toBe(`200 ${name}`)
      expect(sockets.size).toBe(1)
    })

    it('20 origins have 20 connections without the option', async () => {
      const { ask, sockets } = await setUp(false)
      expect(await Promise.all(NAMES.map(ask))).toEqual(NAMES.map((name) => `200 ${name}`))
      expect(sockets.size).toBe(20)
    })

    it("Node's fetch shares it, by install()", async () => {
      const { agent, toOrigin } = await setUp(true)
      install(agent)
      onTestFinished(uninstall)
      const texts = await Promise.all(NAMES.map(async (name) => (await fetch(toOrigin(name))).text()))
      expect(texts.map((text) => text.trim().split(' ').at(-1))).toEqual(NAMES)
      await askAgent(agent, toOrigin(NAMES[0] ?? ''))
      const served = agent.stats[toOrigin('o0.shared.test')]?.sessions.map(({ origins }) => origins.length)
      expect(served).toEqual([20])
    })

    // The others have no such virtual host.
    if (kind !== 'nginx') return

    it('a virtual host that says 421 gets a connection of its own', async () => {
      const { ask, sockets } = await setUp(true)
      await ask('o0.shared.test')
      expect(await ask(PICKY)).toBe(`200 ${PICKY}`)
      expect(await ask('o1.shared.test')).toBe('200 o1.shared.test')
      expect(await ask(PICKY)).toBe(`200 ${PICKY}`)
      expect(sockets.size).toBe(2)
    })
  })
})

/** Servers that send ORIGIN (RFC 8336). H2O does from 2.3 on; Debian has 2.2. Bun has its own HTTP/2 below node:http2. */
const RUNTIMES: readonly Runtime[] = [
  { name: 'Node', args: [] },
  { name: 'Bun', args: ['--no-install'] },
]

/** Starts `children/origin-server.mjs`. @param listed the names in the ORIGIN frame; none: there is no frame */
async function startOrigins(runtime: Runtime, listed: readonly string[]) {
  const { key, cert } = await toNamesCertificate(['*.shared.test'])
  const folder = await makeFolder('origins')
  await writeFile(join(folder, 'key.pem'), key)
  await writeFile(join(folder, 'cert.pem'), cert)
  const { port } = await startProcess(async (at) => {
    const origins = listed.map((name) => `https://${name}:${at}`)
    const args = [...runtime.args, ORIGIN_SERVER, folder, String(at), ...origins]
    return { command: requireRuntime(runtime), args, ready: 'listening' }
  })
  return { toOrigin: (name: string) => `https://${name}:${port}`, ca: cert }
}

describe.each(RUNTIMES)('behind node:http2 of $name, which sends ORIGIN', (runtime) => {
  describe.skipIf(lacksRuntime(runtime)).each(ENGINES)('on engine %s', (engine) => {
    async function setUp(listed: readonly string[], coalesce: CoalesceOptions) {
      const { toOrigin, ca } = await startOrigins(runtime, listed)
      const lookup = toNamesLookup({ '*': ['127.0.0.1'] })
      const agent = toAgent({ coalesce, engine, connect: { ca, lookup } })
      const sockets = new Set<unknown>()
      onTestFinished(watchSockets(sockets))
      const ask = (name: string): Promise<string> => askAgent(agent, toOrigin(name))
      return { agent, ask, sockets, toOrigin, asked: lookup.asked }
    }

    it.each([
      { origins: 'origin-frame', listed: 20, connections: 1 },
      { origins: 'origin-frame', listed: 10, connections: 11 },
      { origins: 'origin-frame', listed: 0, connections: 20 },
      { origins: 'both', listed: 20, connections: 1 },
      { origins: 'both', listed: 10, connections: 11 },
      { origins: 'both', listed: 0, connections: 1 },
      { origins: 'dns', listed: 10, connections: 11 },
    ] as const)('20 origins, $listed of them listed, have $connections by $origins', async (one) => {
      const { ask, sockets, toOrigin } = await setUp(NAMES.slice(0, one.listed), { origins: one.origins })
      for (const name of NAMES) expect(await ask(name)).toBe(toOrigin(name).slice('https://'.length))
      expect(sockets.size).toBe(one.connections)
    })

    it('20 origins need one look-up with skipDns', async () => {
      const { ask, sockets, asked } = await setUp(NAMES, { skipDns: true })
      await ask(NAMES[0] ?? '')
      await Promise.all(NAMES.map(ask))
      expect([asked, sockets.size]).toEqual([[NAMES[0]], 1])
    })

    it("Node's fetch shares the connection, by install()", async () => {
      const { agent, sockets, toOrigin } = await setUp(NAMES, { origins: 'origin-frame' })
      install(agent)
      onTestFinished(uninstall)
      for (const name of NAMES)
        expect(await (await fetch(toOrigin(name))).text()).toBe(toOrigin(name).slice('https://'.length))
      expect(sockets.size).toBe(1)
    })
  })
})
