/** Options of connections of HTTP/1.1: Dodici over each undici does what that undici does. */

import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import * as undici7 from 'undici'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { readSlots, SLOTS } from '../../src/scheduler/fallback/builtin.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { Http1Server } from '../support/servers/fallback-http1.ts'
import { serveHttp1Hello, startHttp1 } from '../support/servers/fallback-http1.ts'
import type { AnyDispatcher, AnyLibrary } from './undicis.ts'
import { ours, UNDICIS } from './undicis.ts'

const heard: string[] = []

beforeEach(() => {
  heard.length = 0
  vi.spyOn(process, 'emitWarning').mockImplementation((warning, options) => {
    if (Reflect.get(Object(options), 'code') === 'DODICI_UNKNOWN_OPTION') heard.push(String(warning))
  })
  onTestFinished(() => void vi.restoreAllMocks())
})

/** Makes an undici the one that is built into Node, for the length of a test. */
function build({ Agent }: AnyLibrary): void {
  const before = readSlots()
  Reflect.set(globalThis, SLOTS.legacy, new Agent({}))
  Reflect.set(globalThis, SLOTS.native, undefined)
  onTestFinished(() => {
    Reflect.set(globalThis, SLOTS.legacy, before.legacy)
    Reflect.set(globalThis, SLOTS.native, before.native)
  })
}

const KINDS = ['Client', 'Pool', 'Agent'] as const

function make(
  library: AnyLibrary,
  kind: (typeof KINDS)[number],
  server: Http1Server,
  given: object,
): AnyDispatcher {
  const options = library === ours && kind !== 'Agent' ? { ...given, h2c: false } : given
  return destroyWithTest(
    kind === 'Agent' ? new library.Agent(options) : new library[kind](server.origin, options),
  )
}

const ask = async (dispatcher: AnyDispatcher, server: Http1Server, more: object = {}): Promise<string> =>
  (await dispatcher.request({ origin: server.origin, path: '/', method: 'GET', ...more })).body.text()

async function askInTurn(
  dispatcher: AnyDispatcher,
  server: Http1Server,
  requests: readonly object[],
): Promise<void> {
  for (const more of requests) {
    await ask(dispatcher, server, more)
    // A connection that is to be closed behind the response is closed by now.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** On which connection each request came, and what its field `connection` said. */
function toSeen({ requests, sockets }: Http1Server): [number, string][] {
  return requests.map(({ socket, rawHeaders }) => {
    const at = rawHeaders.findIndex((name) => name.toLowerCase() === 'connection')
    return [sockets.indexOf(socket), rawHeaders[at + 1] ?? '']
  })
}

/**
 * Which requests must have a connection that no request had before. An Agent of undici 7, by which Dodici asks, may open
 * more of them, once one was closed.
 */
function toFresh(seen: readonly (readonly [number, string])[]): unknown[] {
  return seen.map(([at, field], i) => {
    const [lastAt, lastField] = seen[i - 1] ?? [at, '']
    return [field, lastField === 'close' ? at > lastAt : 'any']
  })
}

/** A server that asks for such a time by `keep-alive`; null: by none. */
async function startAsking(timeout: number | null): Promise<Http1Server> {
  const listener: RequestListener = (request, response) => {
    if (timeout !== null) response.setHeader('keep-alive', `timeout=${timeout}`)
    serveHttp1Hello(request, response)
  }
  const server = await startHttp1(listener, { tls: false })
  server.server.keepAliveTimeout = 0
  return server
}

const closed = (socket: Socket | undefined): Promise<unknown> =>
  socket === undefined || socket.closed ? Promise.resolve() : once(socket, 'close')

interface Case {
  readonly what: string
  readonly options: object
  readonly requests: readonly object[]
  readonly timeout?: number
  /** The connection of each request, and its field. */
  readonly seen: readonly (readonly [number, string])[]
}

const CASES: readonly Case[] = [
  {
    what: 'no option',
    options: {},
    requests: [{}, {}, {}],
    seen: [
      [0, 'keep-alive'],
      [0, 'keep-alive'],
      [0, 'keep-alive'],
    ],
  },
  {
    what: 'maxRequestsPerClient: 2',
    options: { maxRequestsPerClient: 2 },
    requests: [{}, {}, {}, {}, {}],
    seen: [
      [0, 'keep-alive'],
      [0, 'close'],
      [1, 'keep-alive'],
      [1, 'close'],
      [2, 'keep-alive'],
    ],
  },
  {
    what: 'pipelining: 0',
    options: { pipelining: 0 },
    requests: [{}, {}],
    seen: [
      [0, 'close'],
      [1, 'close'],
    ],
  },
  {
    what: 'reset: true of a request',
    options: {},
    requests: [{ reset: true }, {}, { reset: false }, {}],
    seen: [
      [0, 'close'],
      [1, 'keep-alive'],
      [1, 'keep-alive'],
      [1, 'keep-alive'],
    ],
  },
  {
    what: 'a field connection: close',
    options: {},
    requests: [{ headers: { Connection: 'close' } }, { headers: ['connection', 'keep-alive'] }, {}],
    seen: [
      [0, 'close'],
      [1, 'keep-alive'],
      [1, 'keep-alive'],
    ],
  },
  {
    what: 'a keepAliveTimeoutThreshold above what the server asks for',
    options: { keepAliveTimeoutThreshold: 6_000 },
    timeout: 5,
    requests: [{}, {}],
    seen: [
      [0, 'keep-alive'],
      [1, 'keep-alive'],
    ],
  },
  {
    what: 'a keepAliveTimeoutThreshold of 0',
    options: { keepAliveTimeoutThreshold: 0 },
    timeout: 2,
    requests: [{}, {}],
    seen: [
      [0, 'keep-alive'],
      [0, 'keep-alive'],
    ],
  },
  {
    what: 'the keepAliveTimeoutThreshold by default',
    options: {},
    timeout: 2,
    requests: [{}, {}],
    seen: [
      [0, 'keep-alive'],
      [1, 'keep-alive'],
    ],
  },
]

const ONE_MORE: Case['seen'] = [
  [0, 'keep-alive'],
  [0, 'keep-alive'],
  [0, 'close'],
  [1, 'keep-alive'],
  [1, 'keep-alive'],
]

describe.each(UNDICIS)('over %s', (version, undici) => {
  beforeEach(() => build(undici))

  describe.each(CASES)('$what', ({ options, requests, timeout, seen }) => {
    it.each(KINDS)('of a %s does what it does there', async (kind) => {
      // undici 6 and 7 send one request more on a connection.
      const isOneMore = version !== 'undici 8' && 'maxRequestsPerClient' in options
      for (const library of [undici, ours]) {
        const server = await startAsking(timeout ?? null)
        const limited = { connections: 1, ...options }
        await askInTurn(make(library, kind, server, limited), server, requests)
        const expected = isOneMore ? ONE_MORE : seen
        if (version !== 'undici 7' || (library === undici && kind !== 'Agent'))
          expect(toSeen(server)).toEqual(expected)
        else expect(toFresh(toSeen(server))).toEqual(toFresh(expected))
      }
      expect(heard).toEqual([])
    })
  })

  it.each(KINDS)('keepAliveTimeout of a %s closes an idle connection', async (kind) => {
    for (const library of [undici, ours]) {
      const server = await startAsking(null)
      await ask(make(library, kind, server, { keepAliveTimeout: 50 }), server)
      await closed(server.sockets[0])
    }
  })

  it.each(KINDS)('keepAliveMaxTimeout of a %s wins over what the server asks for', async (kind) => {
    for (const library of [undici, ours]) {
      const server = await startAsking(600)
      await ask(make(library, kind, server, { keepAliveMaxTimeout: 50 }), server)
      await closed(server.sockets[0])
    }
  })

  it('keepAliveTimeout: 0 and keepAliveMaxTimeout: 0 are no limits', async () => {
    const server = await startAsking(null)
    const client = make(ours, 'Client', server, { keepAliveTimeout: 0, keepAliveMaxTimeout: 0 })
    await askInTurn(client, server, [{}, {}, {}])
    expect(server.sockets).toHaveLength(1)
  })

  it.each(
    KINDS,
  )('pipelining: 3 of a %s sends three requests at once, where blocking is false', async (kind) => {
    for (const library of [undici, ours]) {
      const held: Parameters<RequestListener>[] = []
      const server = await startHttp1((...exchange) => void held.push(exchange), { tls: false })
      const dispatcher = make(library, kind, server, { pipelining: 3, connections: 1 })
      const all = Promise.all(
        Array.from({ length: 5 }, (_, i) => ask(dispatcher, server, { path: `/${i}`, blocking: false })),
      )
      if (library === ours || kind !== 'Pool') await expect.poll(() => held.length).toBe(3)
      else await expect.poll(() => held.length).toBeGreaterThan(0)
      server.server.on('request', serveHttp1Hello)
      server.server.removeListener('request', server.server.listeners('request')[0] as () => void)
      for (const exchange of held.splice(0)) serveHttp1Hello(...exchange)
      expect(await all).toEqual(Array.from({ length: 5 }, (_, i) => `GET /${i} over 1.1`))
      expect(server.sockets).toHaveLength(1)
    }
  })

  it.each([
    'clientTtl',
    'maxSessionAge',
  ])('%s retires a connection, also the only one, or is warned about', async (name) => {
    const isKnown = version !== 'undici 6'
    const toEnd = (): number => performance.now() + 5_000
    for (const kind of KINDS) {
      for (const connections of [1, 2, null]) {
        const server = await startAsking(null)
        const dispatcher = make(ours, kind, server, { [name]: 5, connections })
        const end = toEnd()
        do await ask(dispatcher, server)
        while (isKnown && server.sockets.length < 3 && performance.now() < end)
        if (isKnown) expect(server.sockets.length).toBeGreaterThanOrEqual(3)
      }
    }
    if (isKnown) {
      // With a limit, a request to undici 7 may wait for ever.
      const server = await startAsking(null)
      const pool = make(undici, 'Pool', server, { clientTtl: 5 })
      for (const end = toEnd(); server.sockets.length < 3 && performance.now() < end; )
        await ask(pool, server)
      expect(server.sockets.length).toBeGreaterThanOrEqual(3)
    }
    const why = 'the built-in undici, which serves HTTP/1.1, is too old for it'
    expect(heard).toEqual(
      isKnown ? [] : [`The dispatcher option ${name} has no effect over HTTP/1.1: ${why}`],
    )
  })
})

describe('beside a fallback of the caller’s', () => {
  const NAMES = [
    ...['keepAliveMaxTimeout', 'keepAliveTimeoutThreshold', 'maxRequestsPerClient', 'pipelining'],
  ]

  it.each(NAMES)('%s is warned about, once', async (name) => {
    const fallback = destroyWithTest(new undici7.Agent())
    const options = { [name]: 1, fallback }
    for (const library of [ours, ours]) {
      destroyWithTest(new library.Agent(options))
      destroyWithTest(new library.Pool('https://localhost:1', options))
    }
    const why = 'the fallback has its own options'
    expect(heard).toEqual([`The dispatcher option ${name} has no effect: ${why}`])
  })

  it('options that aren’t given are no reason for a warning', () => {
    const options = { pipelining: null, clientTtl: undefined, fallback: destroyWithTest(new undici7.Agent()) }
    destroyWithTest(new ours.Agent(options))
    expect(heard).toEqual([])
  })
})
