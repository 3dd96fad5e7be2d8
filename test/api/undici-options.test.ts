/** Each option of undici 6, 7 and 8 has an effect, is refused, or is warned of, and so is a typo. */

import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:http'
import * as http2 from 'node:http2'
import { createSecureServer } from 'node:http2'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import * as undici7 from 'undici'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  Agent,
  Client,
  EnvHttpProxyAgent,
  errors,
  fetch,
  Pool,
  ProxyAgent,
  UpstreamPool,
} from '../../src/index.ts'
import type { ForeignOption } from '../../src/options/foreign-options.ts'
import { FOREIGN_DISPATCHER_OPTIONS, FOREIGN_REQUEST_OPTIONS } from '../../src/options/foreign-options.ts'
import { DISPATCHER_OPTIONS, REQUEST_OPTIONS } from '../../src/options/known-options.ts'
import type { Dispatcher as DispatcherType } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'
import { listen } from '../support/servers/listen.ts'
import { toCertificate } from '../support/servers/server.ts'
import { UNDICIS } from './undicis.ts'

const heard: string[] = []

beforeEach(() => {
  heard.length = 0
  vi.spyOn(process, 'emitWarning').mockImplementation((warning, options) => {
    if (Reflect.get(Object(options), 'code') === 'DODICI_UNKNOWN_OPTION') heard.push(String(warning))
  })
})

afterEach(() => {
  vi.restoreAllMocks()
})

/** The names that a constructor of undici takes out of its options. */
function toNames(someClass: unknown): string[] {
  const [, list = ''] = /constructor \([^{]*\{([^}]*)\} = \{\}\)/.exec(String(someClass)) ?? []
  return list
    .replaceAll(/\/\/.*/g, '')
    .split(',')
    .map((part) => part.trim().split(/[ =]/)[0] ?? '')
    .filter((name) => name !== '' && !name.startsWith('...'))
}

/** Of each class: how it is made, and what an error calls it. */
const CLASSES: readonly [string, (options: object) => { destroy(): Promise<void> }, owner?: string][] = [
  ['Client', (options) => new Client('https://localhost:1', options)],
  ['Pool', (options) => new Pool('https://localhost:1', options)],
  ['Agent', (options) => new Agent(options)],
  ['ProxyAgent', (options) => new ProxyAgent({ uri: 'http://localhost:1', ...options }), 'proxy agent'],
  ['EnvHttpProxyAgent', (options) => new EnvHttpProxyAgent(options), 'proxy agent'],
  ['UpstreamPool', (options) => new UpstreamPool(['https://localhost:1'], options)],
]

const FOREIGN: readonly [string, ForeignOption][] = [...FOREIGN_DISPATCHER_OPTIONS]
const FOREIGN_OF_REQUEST: readonly [string, ForeignOption][] = [...FOREIGN_REQUEST_OPTIONS]
const isFate = (fate: ForeignOption['fate']) => (row: readonly [string, ForeignOption]) =>
  row[1].fate === fate

const GET = { path: '/', method: 'GET' } as const

/** A value that asks for something. */
const MEANT = { maxCachedSessions: 0, pipelining: 0, interceptors: { Client: [] } } as Readonly<
  Record<string, unknown>
>
const toMeant = (name: string): unknown => (name in MEANT ? MEANT[name] : 1)

it('all names that undici’s constructors take are known', () => {
  const names = UNDICIS.flatMap(([, { Client, Pool, Agent }]) => [Client, Pool, Agent].flatMap(toNames))
  expect(names).toContain('keepAliveMaxTimeout')
  expect(names).toContain('clientTtl')
  expect(names).toContain('maxOrigins')
  const { accepted, foreign } = DISPATCHER_OPTIONS
  expect(names.filter((name) => !accepted.has(name) && !foreign.has(name))).toEqual([])
})

it('docs/options.md says of each what becomes of it', async () => {
  const docs = await readFile(new URL('../../docs/options.md', import.meta.url), 'utf8')
  const rows = [...docs.matchAll(/^\| `(\w+)` \| (dispatcher|request) \| (\w+) \| (.+) \|$/gm)]
  const said = rows.map(
    ([, name, owner, fate, why]) => `${owner}: ${name} ${fate}: ${why?.replaceAll('`', '')}`,
  )
  const toLine =
    (owner: string) =>
    ([name, { fate, why }]: readonly [string, ForeignOption]) =>
      `${owner}: ${name} ${fate}: ${why}`
  expect(said.toSorted()).toEqual(
    [
      ...FOREIGN.map(toLine(DISPATCHER_OPTIONS.owner)),
      ...FOREIGN_OF_REQUEST.map(toLine(REQUEST_OPTIONS.owner)),
    ].toSorted(),
  )
})

describe.each(CLASSES)('an option of another library, of %s', (_name, make, owner = 'dispatcher') => {
  const tryMake = (options: object) => void make(options).destroy()

  it.each(FOREIGN.filter(isFate('refused')))('%s is refused, with what to use instead', (name, { why }) => {
    const thrown = expect(() => tryMake({ [name]: toMeant(name) }))
    thrown.toThrow(errors.InvalidArgumentError)
    thrown.toThrow(`The ${owner} option ${name} isn't supported: ${why}`)
  })

  it.each([
    'keepAlive',
    'idleTimeout',
    'maxKeepAliveTimeout',
    'socketTimeout',
  ])('%s is refused by undici, too', (name) => {
    for (const [, { Client: TheirClient }] of UNDICIS) {
      expect(() => new TheirClient('http://localhost:1', { [name]: 1 } as object)).toThrow(
        `unsupported ${name}`,
      )
    }
  })

  it.each(FOREIGN)('%s is accepted where it asks for nothing', (name, { isIdle }) => {
    for (const value of [undefined, null, false, 0, 100, {}].filter(
      (value) => value === undefined || value === null || isIdle(value),
    ))
      tryMake({ [name]: value })
    expect(heard).toEqual([])
  })
})

it.each(FOREIGN.filter(isFate('warned')))('%s of a dispatcher is warned of, once', (name, { why }) => {
  for (const [, make] of [...CLASSES, ...CLASSES]) void make({ [name]: toMeant(name) }).destroy()
  const owners = ['dispatcher', 'proxy agent']
  expect(heard).toEqual(owners.map((owner) => `The ${owner} option ${name} has no effect: ${why}`))
})

async function start() {
  const peer = await startPeer(SERVE)
  const client = destroyWithTest(new Client(peer.origin))
  return { peer, client }
}

describe('an option of another library, of a request', () => {
  it.each(
    FOREIGN_OF_REQUEST.filter(isFate('refused')),
  )('%s is refused, with what to use instead', async (name, { why }) => {
    const { client, peer } = await start()
    const error = await client.request({ ...GET, [name]: 1 }).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(errors.InvalidArgumentError)
    expect(String(error)).toContain(`The request option ${name} isn't supported: ${why}`)
    expect(peer.connections).toEqual([])
    await (await client.request({ ...GET, [name]: name === 'maxRedirections' ? 0 : false })).body.dump()
  })

  /** How each API is called, and how it tells of a failure. */
  const APIS: readonly (readonly [string, (client: Client, options: object) => Promise<unknown>])[] = [
    ['request', async (client, options) => (await client.request({ ...GET, ...options })).body.dump()],
    ['stream', (client, options) => client.stream({ ...GET, ...options }, () => new PassThrough().resume())],
    [
      'pipeline',
      async (client, options) => {
        const pipeline = client.pipeline({ ...GET, ...options }, ({ body }) => body)
        await text(pipeline.end())
      },
    ],
    [
      'dispatch',
      async (client, options) => {
        const recorder = new Recorder()
        client.dispatch({ ...GET, ...options }, recorder)
        await recorder.settled
        if (recorder.errors.length > 0) throw recorder.error
      },
    ],
    [
      'connect',
      async (client, options) => (await client.connect({ path: 'a.test:1', ...options })).socket.destroy(),
    ],
    [
      'upgrade',
      async (client, options) => (await client.upgrade({ path: '/', ...options })).socket.destroy(),
    ],
  ]

  /** A server that takes everything, tunnels too, and a client whose code has warned of nothing yet. */
  async function startAnew() {
    vi.resetModules()
    const { Client: NewClient } = await import('../../src/index.ts')
    const server = http2.createServer({ settings: { enableConnectProtocol: true } })
    server.on('stream', (stream: http2.ServerHttp2Stream, { ':method': method }) => {
      stream.on('error', () => {})
      stream.respond({ ':status': 200 })
      if (method !== 'CONNECT') stream.end()
    })
    const { port } = await listen(server)
    const client = new NewClient(`http://127.0.0.1:${port}`)
    onTestFinished(() => client.destroy())
    return client
  }

  it.each(APIS)('is refused or warned of by %s as by request', async (_api, call) => {
    const client = await startAnew()
    for (const [name, { fate, why }] of FOREIGN_OF_REQUEST) {
      const error = await call(client, { [name]: 1 }).catch((caught: unknown) => caught)
      const refusal = `InvalidArgumentError: The request option ${name} isn't supported: ${why}`
      expect(error instanceof Error ? String(error) : 'none').toBe(fate === 'refused' ? refusal : 'none')
    }
    const warnings = FOREIGN_OF_REQUEST.filter(isFate('warned')).map(
      ([name, { why }]) => `The request option ${name} has no effect: ${why}`,
    )
    expect(heard).toEqual(warnings)
  })

  it.each(FOREIGN_OF_REQUEST)('%s may be an interceptor’s own', async (name) => {
    const { client } = await start()
    const composed = client.compose((dispatch) => (options, handler) => dispatch(options, handler))
    await (await composed.request({ ...GET, [name]: 1 })).body.dump()
    expect(heard).toEqual([])
  })
})

describe('an option of undici that has an effect', () => {
  const tell: RequestListener = (request, response) => void response.end(request.httpVersion)

  /** Speaks both protocols. */
  async function startBoth() {
    const { private: key, cert } = await toCertificate()
    const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
      response.end(request.httpVersion)
    })
    const { port } = await listen(server)
    return { origin: `https://localhost:${port}`, ca: cert }
  }

  /** Of Dodici and of undici. */
  interface AnyAgent {
    destroy(): Promise<void>
    request(options: typeof GET & { origin: string }): Promise<{ body: { text(): Promise<string> } }>
  }

  async function ask(dispatcher: AnyAgent, origin: string): Promise<string> {
    onTestFinished(() => dispatcher.destroy())
    const { body } = await dispatcher.request({ origin, ...GET })
    return body.text()
  }

  it('allowH2: false asks for HTTP/1.1', async () => {
    const { origin, ca } = await startBoth()
    const options = { connect: { ca } }
    expect(await ask(new Agent(options), origin)).toBe('2.0')
    expect(await ask(new Agent({ ...options, allowH2: false }), origin)).toBe('1.1')
    expect(await ask(new undici7.Agent({ ...options, allowH2: false }), origin)).toBe('1.1')
    for (const OwnClass of [Client, Pool]) {
      const dispatcher = new OwnClass(origin, { ...options, allowH2: false })
      onTestFinished(() => dispatcher.destroy())
      const { body } = await dispatcher.request({ path: '/', method: 'GET' })
      expect(await body.text()).toBe('1.1')
    }
  })

  it('tls and connect are one, and connect wins', async () => {
    const { origin, ca } = await startBoth()
    expect(await ask(new Agent({ tls: { ca } }), origin)).toBe('2.0')
    expect(await ask(new Agent({ tls: { ca: 'nothing' }, connect: { ca } }), origin)).toBe('2.0')
    const refused = ask(new Agent({ tls: { ca }, connect: { ca: [] } }), origin)
    await expect(refused).rejects.toBeInstanceOf(errors.ConnectError)
    expect(await ask(new undici7.Agent({ tls: { ca } } as object), origin)).toBe('1.1')
  })

  it('connect: { socketPath } is where a request goes, and wins over socketPath', async () => {
    const server = createServer(tell)
    const socketPath = join(tmpdir(), `dodici-${process.pid}-options.sock`)
    server.listen(socketPath)
    await once(server, 'listening')
    onTestFinished(async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
    // Nobody listens there.
    const origin = 'http://localhost:1'
    expect(await ask(new Agent({ connect: { socketPath } }), origin)).toBe('1.1')
    expect(await ask(new Agent({ connect: { socketPath }, socketPath: '/nowhere' }), origin)).toBe('1.1')
    expect(await ask(new undici7.Agent({ connect: { socketPath } }), origin)).toBe('1.1')
  })

  it('connect: { timeout } is the connectTimeout, and wins over it', async () => {
    const silent = createTcpServer((socket) => socket.resume())
    const { port } = await listen(silent)
    const origin = `https://localhost:${port}`
    const failed = ask(new Agent({ connect: { timeout: 100 }, connectTimeout: 60_000 }), origin)
    const error = await failed.catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(errors.ConnectTimeoutError)
    expect(String(error)).toContain('connectTimeout (100 ms)')
    expect(() => new Agent({ connect: { timeout: -1 } })).toThrow('connectTimeout')
  })
})

function makeAll(options: object): void {
  for (const [name, make] of CLASSES)
    if (['Client', 'Pool', 'Agent'].includes(name)) void make(options).destroy()
}

async function send(dispatcher: DispatcherType, options: object): Promise<void> {
  const { body } = await dispatcher.request({ path: '/', method: 'GET', ...options })
  await body.dump()
}

describe('an unknown option of a constructor', () => {
  it('is warned of once, with the nearest name', () => {
    makeAll({ keepAliveTimeot: 1 })
    expect(heard).toEqual([
      'Unknown dispatcher option: "keepAliveTimeot" has no effect. Did you mean "keepAliveTimeout"?',
    ])
  })

  it('is warned of where no name is near', () => {
    makeAll({ colour: 'red' })
    expect(heard).toEqual(['Unknown dispatcher option: "colour" has no effect'])
  })

  it('is warned of within connect and h2Options', () => {
    makeAll({ connect: { rejectUnauthorised: true }, h2Options: { pingIntervall: 1 } })
    expect(heard.toSorted()).toEqual([
      'Unknown connect option: "rejectUnauthorised" has no effect. Did you mean "rejectUnauthorized"?',
      'Unknown h2Options option: "pingIntervall" has no effect. Did you mean "pingInterval"?',
    ])
  })
})

describe('an unknown option of a request', () => {
  it('is warned of once, with the nearest name', async () => {
    const { client } = await start()
    await send(client, { headersTimeot: 1 })
    await send(client, { headersTimeot: 1, flavour: 'sweet' })
    expect(heard).toEqual([
      'Unknown request option: "headersTimeot" has no effect. Did you mean "headersTimeout"?',
      'Unknown request option: "flavour" has no effect',
    ])
  })

  it('may be an interceptor’s own, but not a typo', async () => {
    const { client } = await start()
    const composed = client.compose((dispatch) => (options, handler) => dispatch(options, handler))
    await send(composed, { cacheTags: ['a'], bodyTimeot: 1 })
    expect(heard).toEqual(['Unknown request option: "bodyTimeot" has no effect. Did you mean "bodyTimeout"?'])
  })

  it('may be one of an interceptor in front of an Agent, and a typo is warned of once', async () => {
    const { peer } = await start()
    const agent = destroyWithTest(new Agent({ h2c: true }))
    const composed = agent.compose((dispatch) => (options, handler) => dispatch(options, handler))
    await send(composed, { origin: peer.origin, cacheTagsOfAgent: ['a'], uploadTimeot: 1 })
    await send(agent, { origin: peer.origin, uploadTimeot: 1, requestTimeot: 1 })
    expect(heard).toEqual([
      'Unknown request option: "uploadTimeot" has no effect. Did you mean "uploadTimeout"?',
      'Unknown request option: "requestTimeot" has no effect. Did you mean "requestTimeout"?',
    ])
  })

  it('of fetch() is warned of only near a known name', async () => {
    const { client, peer } = await start()
    const init: object = { dispatcher: client, agent: null, redirects: 'follow' }
    await (await fetch(peer.origin, init)).text()
    expect(heard).toEqual(['Unknown fetch() option: "redirects" has no effect. Did you mean "redirect"?'])
  })
})
