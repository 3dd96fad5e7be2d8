/** Whatever code a caller passes in, or listens with, runs in the async context in which the call was made. */

import { AsyncLocalStorage } from 'node:async_hooks'
import http from 'node:http'
import type { Duplex } from 'node:stream'
import { Readable, Writable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { interceptors, RetryAgent } from 'undici'
import { describe, expect, it } from 'vitest'
import { Client, fetch } from '../../src/index.ts'
import type { Dispatcher, DispatchOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { listen } from '../support/servers/listen.ts'
import { startServer } from '../support/servers/server.ts'

const storage = new AsyncLocalStorage<string>()

/** More than the windows of a server, and than the buffers on the way: the rest is asked for when it has read. */
const PIECES = 12
const PIECE = 65_536
const ENDLESS = 10_000

interface Given {
  readonly dispatcher: Dispatcher
  readonly origin: string
  /** Notes in whose context a hook runs. */
  readonly hear: (hook: string) => void
}

/** One use of an API; it settles when its last hook has run. */
type Play = (given: Given) => Promise<unknown>

const GET = { path: '/', method: 'GET' } as const
const POST = { path: '/', method: 'POST' } as const
/** The server breaks the response off. */
const BREAK = { path: '/break', method: 'GET' } as const
/** The server refuses the upload in its middle. */
const REFUSE = { path: '/refuse', method: 'POST' } as const

function listenTo(stream: Readable | Writable, name: string, hear: (hook: string) => void): Promise<unknown> {
  for (const event of ['data', 'end', 'finish', 'error', 'close', 'drain'])
    stream.on(event, () => hear(`${name} ${event}`))
  return new Promise((resolve) => stream.on('close', resolve))
}

function handle(hear: (hook: string) => void): {
  handler: Parameters<Dispatcher['dispatch']>[1]
  settled: Promise<void>
} {
  let settle = (): void => {}
  const settled = new Promise<void>((resolve) => {
    settle = resolve
  })
  const handler = {
    onRequestStart: () => hear('onRequestStart'),
    onResponseStarted: () => hear('onResponseStarted'),
    onResponseStart: () => hear('onResponseStart'),
    onResponseData: () => hear('onResponseData'),
    onResponseEnd: () => {
      hear('onResponseEnd')
      settle()
    },
    onResponseError: () => {
      hear('onResponseError')
      settle()
    },
    onBodySent: () => hear('onBodySent'),
    onRequestSent: () => hear('onRequestSent'),
  }
  return { handler, settled }
}

function dispatch({ dispatcher, origin, hear }: Given, options: DispatchOptions): Promise<void> {
  const { handler, settled } = handle(hear)
  dispatcher.dispatch({ origin, ...options }, handler)
  return settled
}

async function* generate(hear: (hook: string) => void): AsyncGenerator<Buffer> {
  try {
    for (let i = 0; i < PIECES; i++) {
      hear('generator')
      yield Buffer.alloc(PIECE)
    }
  } finally {
    hear('generator return')
  }
}

function toReadable(hear: (hook: string) => void): Readable {
  let left = PIECES
  return new Readable({
    read() {
      hear('_read')
      this.push(left-- > 0 ? Buffer.alloc(PIECE) : null)
    },
    destroy(error, callback) {
      hear('_destroy')
      callback(error)
    },
  })
}

/** @param count more of them than fit into all buffers on the way, for a stream that has to be cancelled */
function toStream(hear: (hook: string) => void, count = PIECES): ReadableStream {
  let left = count
  return new ReadableStream(
    {
      pull(controller) {
        hear('pull')
        if (left-- > 0) controller.enqueue(new Uint8Array(PIECE))
        else controller.close()
      },
      cancel: () => hear('cancel'),
    },
    { highWaterMark: 0 },
  )
}

/** A dispatcher that tells of each dispatch: an interceptor is the caller's code, too. */
function tell(dispatcher: Dispatcher, hear: (hook: string) => void): Dispatcher {
  return dispatcher.compose((next) => (options, handler) => {
    hear('interceptor')
    return next(options, handler)
  })
}

const ignore = (): void => {}

/** By the hooks that have to be heard. */
const PLAYS: Record<string, { play: Play; hooks: string[]; only?: 'HTTP/2' }> = {
  'dispatch()': {
    hooks: [
      'onRequestStart',
      'onResponseStarted',
      'onResponseStart',
      'onResponseData',
      'onResponseEnd',
      'onRequestSent',
    ],
    play: (given) => dispatch(given, GET),
  },
  'dispatch() of a generator': {
    hooks: ['generator', 'generator return', 'onBodySent', 'onRequestSent', 'onResponseEnd'],
    play: (given) => dispatch(given, { ...POST, body: generate(given.hear) }),
  },
  'dispatch() of a Readable': {
    hooks: ['_read', '_destroy', 'onResponseEnd'],
    play: (given) => dispatch(given, { ...POST, body: toReadable(given.hear) }),
  },
  'dispatch() that is refused, and sent again': {
    only: 'HTTP/2',
    hooks: ['body function', 'generator', 'onResponseEnd'],
    play: async (given) => {
      let made = 0
      await dispatch(given, {
        ...POST,
        path: '/again',
        headers: { 'x-id': String(Math.random()) },
        body: () => {
          made++
          given.hear('body function')
          return generate(given.hear)
        },
      })
      expect(made).toBe(2)
    },
  },
  'dispatch() with trailers': {
    only: 'HTTP/2',
    hooks: ['trailers', 'onResponseEnd'],
    play: (given) =>
      dispatch(given, {
        ...POST,
        body: toReadable(ignore),
        trailers: () => {
          given.hear('trailers')
          return { 'x-a': '1' }
        },
      }),
  },
  'dispatch() of a response that breaks off': {
    hooks: ['onResponseStart', 'onResponseError'],
    play: (given) => dispatch(given, BREAK),
  },
  'dispatch() of a generator that is refused': {
    hooks: ['generator', 'generator return', 'onResponseError'],
    play: (given) => dispatch(given, { ...REFUSE, body: generate(given.hear) }),
  },
  'dispatch() of a web stream that is refused': {
    hooks: ['pull', 'cancel'],
    play: async (given) => {
      let cancelled = (): void => {}
      const isCancelled = new Promise<void>((resolve) => {
        cancelled = resolve
      })
      const hear = (hook: string): void => {
        given.hear(hook)
        if (hook === 'cancel') cancelled()
      }
      await Promise.all([isCancelled, dispatch(given, { ...REFUSE, body: toStream(hear, ENDLESS) })])
    },
  },
  'request()': {
    hooks: ['onInfo', 'body data', 'body end', 'body close'],
    play: async ({ dispatcher, origin, hear }) => {
      const { body } = await dispatcher.request({ ...GET, origin, onInfo: () => hear('onInfo') } as never)
      await listenTo(body, 'body', hear)
    },
  },
  'request() of a response that breaks off': {
    hooks: ['body data', 'body error', 'body close'],
    play: async ({ dispatcher, origin, hear }) => {
      const { body } = await dispatcher.request({ ...BREAK, origin } as never)
      await listenTo(body, 'body', hear)
    },
  },
  'stream()': {
    hooks: ['factory', 'write', 'final', 'writable finish', 'writable close', 'callback'],
    play: ({ dispatcher, origin, hear }) =>
      new Promise((resolve) => {
        const factory = (): Writable => {
          hear('factory')
          const writable = new Writable({
            write(_chunk, _encoding, callback) {
              hear('write')
              callback()
            },
            final(callback) {
              hear('final')
              callback()
            },
          })
          void listenTo(writable, 'writable', hear).then(resolve)
          return writable
        }
        dispatcher.stream({ ...GET, origin } as never, factory, () => hear('callback'))
      }),
  },
  'pipeline()': {
    hooks: ['handler', 'written', 'duplex finish', 'duplex data', 'duplex end', 'duplex close'],
    play: async ({ dispatcher, origin, hear }) => {
      const duplex = dispatcher.pipeline({ ...POST, origin } as never, ({ body }) => {
        hear('handler')
        return body
      })
      for (let i = 0; i < PIECES; i++) duplex.write(Buffer.alloc(PIECE), () => hear('written'))
      duplex.end()
      await listenTo(duplex, 'duplex', hear)
    },
  },
  'upgrade()': {
    hooks: ['callback', 'socket data', 'written', 'socket end', 'socket finish', 'socket close'],
    play: ({ dispatcher, origin, hear }) =>
      new Promise((resolve, reject) => {
        const options = { path: '/', protocol: 'websocket', origin }
        dispatcher.upgrade(options as never, (error, data) => {
          hear('callback')
          if (error !== null || data?.socket === undefined) {
            reject(error)
            return
          }
          const { socket } = data
          resolve(listenTo(socket, 'socket', hear))
          socket.once('data', () => socket.end('bye', () => hear('written')))
          socket.write('hello', () => hear('written'))
        })
      }),
  },
  'a tunnel of connect()': {
    only: 'HTTP/2',
    hooks: ['callback', 'socket data', 'written', 'socket end', 'socket finish', 'socket close'],
    play: ({ dispatcher, hear }) =>
      new Promise((resolve, reject) => {
        dispatcher.connect({ path: 'a.test:1' } as never, (error, data) => {
          hear('callback')
          if (error !== null || data?.socket === undefined) {
            reject(error)
            return
          }
          const { socket } = data
          resolve(listenTo(socket, 'socket', hear))
          socket.once('data', () => socket.end('bye', () => hear('written')))
          socket.write('hello', () => hear('written'))
        })
      }),
  },
  'fetch()': {
    hooks: ['interceptor', 'read'],
    play: async ({ dispatcher, origin, hear }) => {
      const response = await fetch(origin, { dispatcher: tell(dispatcher, hear) })
      for await (const _piece of response.body ?? []) hear('read')
    },
  },
  'fetch() that is redirected': {
    hooks: ['interceptor', 'text'],
    play: async ({ dispatcher, origin, hear }) => {
      const response = await fetch(`${origin}/redirect`, { dispatcher: tell(dispatcher, hear) })
      expect(response.redirected).toBe(true)
      await response.text()
      hear('text')
    },
  },
  'fetch() of a web stream that is refused': {
    hooks: ['pull', 'cancel'],
    play: ({ dispatcher, origin, hear }) =>
      new Promise<void>((resolve) => {
        const body = toStream((hook) => {
          hear(hook)
          if (hook === 'cancel') resolve()
        }, ENDLESS)
        const init = { dispatcher, method: 'POST', body, duplex: 'half' } as never
        fetch(`${origin}/refuse`, init).catch(ignore)
      }),
  },
  "Node's fetch that is redirected": {
    hooks: ['interceptor', 'text'],
    play: async ({ dispatcher, origin, hear }) => {
      const init = { dispatcher: tell(dispatcher, hear) } as RequestInit
      await (await globalThis.fetch(`${origin}/redirect`, init)).text()
      hear('text')
    },
  },
  "Node's fetch of a web stream": {
    hooks: ['pull'],
    play: async ({ dispatcher, origin, hear }) => {
      const init = { dispatcher, method: 'POST', body: toStream(hear), duplex: 'half' }
      await (await globalThis.fetch(origin, init as never)).text()
    },
  },
  "undici's redirect interceptor": {
    hooks: ['interceptor', 'onResponseEnd'],
    play: ({ dispatcher, origin, hear }) => {
      const redirecting = tell(dispatcher, hear).compose(
        interceptors.redirect({ maxRedirections: 2 }) as never,
      )
      return dispatch({ dispatcher: redirecting, origin, hear }, { ...GET, path: '/redirect' })
    },
  },
  "undici's RetryAgent": {
    hooks: ['interceptor', 'onResponseEnd'],
    play: ({ dispatcher, origin, hear }) => {
      const retrying = new RetryAgent(tell(dispatcher, hear) as never, {
        minTimeout: 1,
        maxTimeout: 1,
        maxRetries: 1,
      })
      return dispatch(
        { dispatcher: retrying as never, origin, hear },
        {
          ...GET,
          path: '/retry',
          headers: { 'x-id': String(Math.random()) },
        },
      )
    },
  },
  'a signal of another caller': {
    hooks: ['body error', 'body close'],
    play: async ({ dispatcher, origin, hear }) => {
      const abort = new AbortController()
      const { body } = await dispatcher.request({
        ...GET,
        path: '/open',
        origin,
        signal: abort.signal,
      } as never)
      const closed = listenTo(body, 'body', hear)
      storage.run('of the signal', () => abort.abort())
      await closed
    },
  },
  'a signal of another caller, before the response': {
    hooks: ['generator', 'generator return', 'callback'],
    play: ({ dispatcher, origin, hear }) =>
      new Promise<void>((resolve) => {
        const abort = new AbortController()
        let count = 0
        const body = generate((hook) => {
          hear(hook)
          if (++count === 2) setImmediate(() => storage.run('of the signal', () => abort.abort()))
        })
        const options = { path: '/silent', method: 'POST', origin, body, signal: abort.signal }
        dispatcher.request(options as never, () => {
          hear('callback')
          resolve()
        })
      }),
  },
  'a limit': {
    hooks: ['onResponseError'],
    play: (given) => dispatch(given, { ...GET, path: '/silent', headersTimeout: 20 }),
  },
  'the end of the dispatcher': {
    hooks: ['onResponseError'],
    play: (given) => {
      const settled = dispatch(given, { ...GET, path: '/silent' })
      storage.run('of the end', () => setImmediate(() => given.dispatcher.destroy(new Error('enough'))))
      return settled
    },
  },
}

/** A request, as a server of either protocol sees it. */
interface Exchange {
  readonly path: string
  readonly id: string
  readonly body: Readable
  inform(): void
  respond(status: number): void
  write(text: string): void
  end(text?: string): void
  destroy(): void
}

/** Requests that were refused once. */
const refused = new Set<string>()

function serve(exchange: Exchange): void {
  const { path, id, body } = exchange
  if (path === '/silent') {
    body.resume()
  } else if (path === '/refuse') {
    body.once('data', () => exchange.destroy())
  } else if (path === '/redirect') {
    exchange.respond(307)
    exchange.end()
  } else if (path === '/retry' && !refused.has(id)) {
    refused.add(id)
    exchange.respond(503)
    exchange.end()
  } else {
    exchange.inform()
    body.resume().once('end', () => serveBody(exchange))
  }
}

/** In pieces, which a client reads one by one. */
function serveBody(exchange: Exchange): void {
  exchange.respond(200)
  exchange.write('a')
  if (exchange.path === '/open') return
  setImmediate(() => {
    exchange.write('b')
    setImmediate(() => (exchange.path === '/break' ? exchange.destroy() : exchange.end('c')))
  })
}

function serveTunnel(socket: Duplex, isBroken: boolean): void {
  socket.on('error', ignore)
  socket.once('data', () => {
    if (isBroken) socket.destroy(new Error('enough'))
    else socket.write('welcome')
  })
  socket.once('end', () => socket.end())
}

async function startHttp2(): Promise<string> {
  const { origin } = await startServer(
    (stream, fields) => {
      stream.on('error', ignore)
      if (fields[':method'] === 'CONNECT') {
        stream.respond({ ':status': 200 })
        serveTunnel(stream, String(fields[':authority']).startsWith('break'))
        return
      }
      if (fields[':path'] === '/again' && !refused.has(String(fields['x-id']))) {
        refused.add(String(fields['x-id']))
        stream.close(REFUSED_STREAM)
        return
      }
      serve({
        path: String(fields[':path']),
        id: String(fields['x-id']),
        body: stream,
        inform: () => stream.additionalHeaders({ ':status': 103, link: '</a>' }),
        respond: (status) => stream.respond({ ':status': status, location: '/' }),
        write: (text) => stream.write(text),
        end: (text) => stream.end(text),
        destroy: () => stream.destroy(new Error('enough')),
      })
    },
    { settings: { enableConnectProtocol: true } },
  )
  return origin
}

async function startHttp1(): Promise<string> {
  const server = http.createServer((request, response) =>
    serve({
      path: request.url ?? '',
      id: String(request.headers['x-id']),
      body: request,
      inform: () => response.writeEarlyHints({ link: '</a>; rel=preload' }),
      respond: (status) => response.writeHead(status, { location: '/' }).flushHeaders(),
      write: (text) => response.write(text),
      end: (text) => response.end(text),
      destroy: () => request.socket.destroy(),
    }),
  )
  server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
    serveTunnel(socket, false)
  })
  return `http://127.0.0.1:${(await listen(server)).port}`
}

const PROTOCOLS = {
  'HTTP/2': { start: startHttp2, options: {} },
  'HTTP/1.1': { start: startHttp1, options: { h2c: false } },
} as const

/** What the connection is when the calls are made. The warm one was opened in another context. */
const STATES = {
  cold: { isWarm: false, isQueued: false },
  warm: { isWarm: true, isQueued: false },
  'warm, one call at a time': { isWarm: true, isQueued: true },
} as const

const CALLERS = ['alice', 'bob', 'carol']

async function warm(client: Client): Promise<void> {
  await storage.run('of the connection', async () => {
    await (await client.request({ path: '/', method: 'GET' })).body.text()
  })
}

const CASES = Object.entries(PROTOCOLS).flatMap(([protocol, { start, options }]) =>
  Object.entries(STATES).flatMap(([state, { isWarm, isQueued }]) =>
    Object.entries(PLAYS)
      .filter(([, { only }]) => only === undefined || only === protocol)
      // HTTP/1.1 has no streams that wait for each other here: its dispatcher opens connections.
      .filter(() => protocol === 'HTTP/2' || !isQueued)
      .map(([name, { play, hooks }]) => ({
        title: `${name}, ${protocol}, ${state}`,
        start,
        play,
        hooks,
        isWarm,
        options: { ...options, ...(isQueued ? { maxConcurrentStreams: 1 } : {}) },
      })),
  ),
)

describe('the context of its caller is that of each hook', () => {
  it.each(CASES)('$title', async ({ start, play, hooks, isWarm, options }) => {
    const origin = await start()
    const client = destroyWithTest(new Client(origin, options))
    if (isWarm) await warm(client)
    const wrong: string[] = []
    const heard = new Set<string>()
    const calls = CALLERS.map((caller) =>
      storage.run(caller, () => {
        const hear = (hook: string): void => {
          heard.add(`${caller}: ${hook}`)
          const found = storage.getStore()
          if (found !== caller) wrong.push(`${hook} of ${caller} ran in the context ${found}`)
        }
        return play({ dispatcher: client, origin, hear })
      }),
    )
    await Promise.all(calls)
    expect(wrong).toEqual([])
    const due = CALLERS.flatMap((caller) => hooks.map((hook) => `${caller}: ${hook}`))
    expect([...heard]).toEqual(expect.arrayContaining(due))
  })
})
