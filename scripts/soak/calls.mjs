/**
 * The kinds of calls. Each sends a request and checks the response, or abandons it in one of the ways in which callers do. Each settles
 * with the name of its outcome. What `test/interop/grpc-go/service.go` says of its methods holds for those of gRPC.
 */
import { Readable, Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { WebSocket } from 'undici'
import { loadModules } from '../support.mjs'
import { Expected } from './watch.mjs'

/**
 * @typedef {import('../random.mjs').Random} Random
 *
 * @typedef {object} Context
 * @property {Random} random
 * @property {import('../../types/index.ts').Dispatcher} dispatcher
 * @property {{ origin: string, path: string, signal: import('../../types/index.ts').CallSignal, idempotent?: boolean }} options
 * @property {string} tag names a body: its first 9 bytes
 * @property {(moment: 'header' | 'end') => void} reached reports the progress of the call
 * @property {typeof import('../../src/index.ts').fetch} fetch
 */

const turn = () => new Promise((resolve) => setImmediate(resolve))

/**
 * Turns of the event loop for which a slow reader stops, at most: a fast server sends more than a stream's window
 * meanwhile.
 */
const MAX_PAUSE = 40

/** @param {number} count */
async function turns(count) {
  for (let index = 0; index < count; index++) await turn()
}

/**
 * The servers respond with a body that contains its length, or with the body that was sent.
 *
 * @param {string} text @param {string} tag
 */
export function check(text, tag) {
  if (text.startsWith(tag)) return
  if (Number.parseInt(text, 10) !== text.length) {
    throw new Error(`a body of ${text.length} bytes was taken for whole: ${text.slice(0, 20)}…`)
  }
}

/** @param {Context} context @param {Pick<import('../../types/index.ts').RequestOptions, 'method' | 'body' | 'requestTimeout'>} extra */
async function ask({ dispatcher, options, tag, reached }, extra) {
  const { statusCode, body } = await dispatcher.request({ ...options, ...extra })
  reached('header')
  if (statusCode !== 200) {
    body.destroy()
    throw new Error(`status ${statusCode}`)
  }
  return finish({ tag, reached }, await body.text())
}

/** All of a response has come. @param {Pick<Context, 'tag' | 'reached'>} context @param {string} text */
function finish({ tag, reached }, text, outcome = 'complete') {
  check(text, tag)
  reached('end')
  return outcome
}

/**
 * A GET, and what is done with the body of its response.
 *
 * @param {(body: import('../../types/index.ts').BodyReadable, context: Context) => Promise<string>} read
 * @returns {(context: Context) => Promise<string>}
 */
const toGet = (read) => async (context) => {
  const { body } = await context.dispatcher.request({ ...context.options, method: 'GET' })
  context.reached('header')
  return read(body, context)
}

/** @param {Context} context */
function toPieces({ random, tag }) {
  const filler = Buffer.alloc(random.integer(1, 3_000), 'p')
  return Array.from({ length: random.integer(1, 8) }, (_, index) => (index === 0 ? Buffer.from(tag) : filler))
}

/** @param {Buffer[]} pieces */
async function* trickle(pieces) {
  for (const piece of pieces) {
    await turn()
    yield piece
  }
}

/** @param {Buffer[]} pieces */
async function* break_(pieces) {
  yield* trickle(pieces)
  throw new Expected('body threw')
}

async function* endless(/** @type {string} */ tag) {
  yield Buffer.from(tag)
  for (;;) {
    await turn()
    yield Buffer.alloc(200, 'e')
  }
}

class Sink extends Writable {
  text = ''

  /** @override @param {Buffer} chunk @param {unknown} _encoding @param {() => void} callback */
  _write(chunk, _encoding, callback) {
    this.text += chunk
    if (chunk.length % 3 === 0) setImmediate(callback)
    else callback()
  }
}

/**
 * A reader of `data` that stops at many a piece, for some turns of the event loop: pieces pile up, and windows close.
 *
 * @param {import('../../types/index.ts').BodyReadable} body @param {Random} random
 */
async function readWithPauses(body, random) {
  let text = ''
  // It may have failed before the listener below was added.
  const ended = finished(body)
  body.on('data', (chunk) => {
    text += chunk
    if (random.chance(0.5)) return
    body.pause()
    turns(random.integer(1, MAX_PAUSE)).then(() => body.resume())
  })
  await ended
  return text
}

/**
 * The same by iteration: it takes the pieces that are there when it continues.
 *
 * @param {AsyncIterable<Buffer>} body @param {Random} random
 */
async function readLate(body, random) {
  let text = ''
  for await (const chunk of body) {
    text += chunk
    await turns(random.integer(0, MAX_PAUSE))
  }
  return text
}

/** A handler that counts, and holds the body back now and then. */
class OwnHandler {
  /** @param {Context} context @param {(outcome: string) => void} resolve @param {(error: unknown) => void} reject */
  constructor(context, resolve, reject) {
    this.context = context
    this.resolve = resolve
    this.reject = reject
    this.text = ''
    this.ends = 0
  }

  onRequestStart() {}

  /** @param {import('../../types/index.ts').DispatchController} controller */
  onResponseStart(controller) {
    const { random, reached } = this.context
    reached('header')
    if (random.chance(0.05)) controller.abort(new Expected('aborted by its controller'))
  }

  /** @param {import('../../types/index.ts').DispatchController} controller @param {Buffer} chunk */
  onResponseData(controller, chunk) {
    this.text += chunk
    if (!this.context.random.chance(0.2)) return
    controller.pause()
    setImmediate(() => controller.resume())
  }

  onResponseEnd() {
    if (++this.ends > 1) this.reject(new Error('a second end'))
    this.context.reached('end')
    try {
      check(this.text, this.context.tag)
      this.resolve('complete')
    } catch (error) {
      this.reject(error)
    }
  }

  /** @param {unknown} _controller @param {unknown} error */
  onResponseError(_controller, error) {
    this.reject(++this.ends > 1 ? new Error('a second end') : error)
  }
}

/** @type {Readonly<Record<string, (context: Context) => Promise<string>>>} */
export const kinds = {
  get: (context) => ask(context, { method: 'GET' }),

  iterate: toGet(async (body, context) => {
    let text = ''
    for await (const chunk of body) text += chunk
    return finish(context, text)
  }),

  /** Slower than the server, from the first byte or later. */
  slowly: toGet(async (body, context) => {
    const { random } = context
    const read = random.chance(0.5) ? readWithPauses : readLate
    await turns(random.integer(0, MAX_PAUSE))
    return finish(context, await read(body, random), 'complete, read slowly')
  }),

  /** Isn't read, and is destroyed after a while. */
  drop: toGet(async (body, { random }) => {
    await turns(random.integer(0, 10))
    body.destroy()
    return 'dropped'
  }),

  dump: toGet(async (body) => {
    await body.dump()
    return 'dumped'
  }),

  /** Isn't read, and never destroyed: only its own limit ends it. A signal would keep it alive as long as itself. */
  async forget({ dispatcher, options }) {
    await dispatcher.request({ ...options, method: 'GET', requestTimeout: 500, signal: null })
    return 'forgotten'
  },

  async stream({ dispatcher, options, tag, reached }) {
    const sink = new Sink()
    await dispatcher.stream({ ...options, method: 'GET' }, () => {
      reached('header')
      return sink
    })
    return finish({ tag, reached }, sink.text)
  },

  async pipeline(context) {
    const { dispatcher, options, tag, reached } = context
    const sink = new Sink()
    const duplex = dispatcher.pipeline({ ...options, method: 'POST' }, ({ body }) => {
      reached('header')
      return body
    })
    // Node 22 and later refuse one that is destroyed already, and leave its error, which comes a tick later, to us.
    duplex.on('error', () => {})
    try {
      await pipeline(Readable.from(trickle(toPieces(context))), duplex, sink)
    } catch (error) {
      throw duplex.errored ?? error
    }
    return finish({ tag, reached }, sink.text)
  },

  dispatch: (context) =>
    new Promise((resolve, reject) => {
      const handler = new OwnHandler(context, resolve, reject)
      context.dispatcher.dispatch({ ...context.options, method: 'GET' }, handler)
    }),

  postBytes: (context) => ask(context, { method: 'POST', body: Buffer.concat(toPieces(context)) }),

  postGenerator: (context) => ask(context, { method: 'POST', body: trickle(toPieces(context)) }),

  postReadable: (context) => ask(context, { method: 'POST', body: Readable.from(toPieces(context)) }),

  /** Makes a new body for each attempt. */
  postFactory(context) {
    const pieces = toPieces(context)
    return ask(context, { method: 'POST', body: () => trickle(pieces) })
  },

  postThrows: (context) => ask(context, { method: 'POST', body: break_(toPieces(context)) }),

  postEndless: (context) => ask(context, { method: 'POST', body: endless(context.tag), requestTimeout: 200 }),
}

export const WEIGHTS = {
  get: 40,
  iterate: 8,
  slowly: 8,
  drop: 5,
  dump: 3,
  forget: 2,
  stream: 8,
  pipeline: 4,
  dispatch: 10,
  postBytes: 8,
  postGenerator: 4,
  postReadable: 3,
  postFactory: 4,
  postThrows: 1,
  postEndless: 0.5,
}

/** @param {Context} context @param {object} extra */
async function fetchText(context, extra) {
  const { origin, path, signal } = context.options
  // An emitter is nothing that it knows.
  const own = signal instanceof AbortSignal ? { signal } : {}
  try {
    const init = { dispatcher: context.dispatcher, ...own, ...extra }
    const response = await context.fetch(`${origin}${path}`, init)
    context.reached('header')
    if (response.status !== 200) {
      // A body that is left alone keeps its listener on the signal until the response is collected.
      await response.body?.cancel()
      throw new Error(`status ${response.status}`)
    }
    return finish(context, await response.text())
  } catch (error) {
    // A network error is a TypeError; Dodici's own one is its cause.
    throw error instanceof TypeError && error.cause !== undefined ? error.cause : error
  }
}

/**
 * Writes pieces, which come back as they are, and ends; or leaves it in the middle.
 *
 * @param {Context} context @param {import('node:stream').Duplex} socket
 */
async function talk(context, socket) {
  const { random, reached } = context
  const isLeft = random.chance(0.1)
  const pieces = toPieces(context)
  const sent = Buffer.concat(pieces)
  /** @type {Buffer[]} */
  const received = []
  try {
    await new Promise((resolve, reject) => {
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('a tunnel closed without its end, and without an error')))
      socket.on('end', () => resolve(null))
      socket.on('data', (chunk) => {
        received.push(chunk)
        if (isLeft) resolve(socket.destroy())
      })
      write(socket, pieces, random).catch(reject)
    })
  } finally {
    socket.destroy()
    const all = Buffer.concat(received)
    if (!all.equals(sent.subarray(0, all.length))) failOn(all)
  }
  if (isLeft) return 'left'
  const { length } = Buffer.concat(received)
  if (length !== sent.length) throw new Error(`a tunnel has ended after ${length} of ${sent.length} bytes`)
  reached('end')
  return 'complete, through a tunnel'
}

/** @param {Buffer} bytes @returns {never} */
function failOn(bytes) {
  throw new Error(`a tunnel has brought other bytes: ${bytes.toString('latin1', 0, 20)}…`)
}

/** @param {import('node:stream').Duplex} socket @param {Buffer[]} pieces @param {Context['random']} random */
async function write(socket, pieces, random) {
  for (const piece of pieces) {
    if (socket.destroyed) return
    socket.write(piece)
    await turns(random.integer(0, 4))
  }
  if (!socket.destroyed) socket.end()
}

/** @param {Context} context @returns {Promise<string>} */
function talkByWebSocket(context) {
  const { dispatcher, options, random, tag, reached } = context
  const url = options.origin.replace('http:', 'ws:')
  const messages = Array.from({ length: random.integer(1, 6) }, (_, i) =>
    `${tag}-${i}-`.padEnd(random.integer(20, 3_000), 'w'),
  )
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url}/soak`, { dispatcher: /** @type {any} */ (dispatcher) })
    let next = 0
    socket.addEventListener('open', () => {
      reached('header')
      socket.send(messages[0])
    })
    socket.addEventListener('message', ({ data }) => {
      if (data !== messages[next++])
        reject(new Error(`a WebSocket has brought ${String(data).slice(0, 20)}…`))
      if (next < messages.length) socket.send(messages[next])
      else if (random.chance(0.5)) socket.close()
      // The server closes.
      else socket.send('bye')
    })
    // The event of the close follows, whatever the cause was.
    socket.addEventListener('error', () => {})
    socket.addEventListener('close', ({ code }) => {
      resolve(next === messages.length ? 'complete, by WebSocket' : `WebSocket closed with ${code}`)
    })
  })
}

/** @type {Readonly<Record<string, (context: Context) => Promise<string>>>} */
export const chaosKinds = {
  fetchGet: (context) => fetchText(context, {}),
  fetchBytes: (context) => fetchText(context, { method: 'POST', body: Buffer.concat(toPieces(context)) }),
  fetchStream: (context) =>
    fetchText(context, { method: 'POST', body: trickle(toPieces(context)), duplex: 'half' }),

  async connect(context) {
    const { dispatcher, options, reached } = context
    const { socket } = await dispatcher.connect({ ...options, path: 'tunnel.test:443' })
    reached('header')
    return talk(context, socket)
  },

  async upgrade(context) {
    const { dispatcher, options, reached } = context
    const { socket } = await dispatcher.upgrade({ ...options, protocol: 'echo' })
    reached('header')
    return talk(context, socket)
  },

  webSocket: talkByWebSocket,
}

export const FETCHES = { fetchGet: 12, fetchBytes: 4, fetchStream: 3 }
export const CONNECT = { connect: 4 }
export const UPGRADE = { upgrade: 4 }
export const WEB_SOCKETS = { webSocket: 5 }

const { call, GrpcCall } =
  /** @type {typeof import('../../examples/grpc/request-client.mjs') & typeof import('../../examples/grpc/dispatch-client.mjs')} */ (
    await loadModules(`
    export { call } from '../examples/grpc/request-client.mjs'
    export { GrpcCall } from '../examples/grpc/dispatch-client.mjs'`)
  )

/** Milliseconds. A call of gRPC that meets this deadline stands still. */
const ENOUGH = 20_000
const CODES = { aborted: 10, deadlineExceeded: 4 }

/**
 * @param {Context} context @param {string} method @param {Uint8Array | AsyncIterable<Uint8Array>} input
 * @param {import('../../examples/grpc/protocol.mjs').CallOptions} [more]
 * @returns {AsyncIterable<Buffer>}
 */
function open({ random, dispatcher, options, reached }, method, input, more = {}) {
  const { origin, signal } = options
  const own = {
    origin,
    timeout: ENOUGH,
    onMetadata: () => reached('header'),
    onTrailers: () => reached('end'),
    // An emitter is nothing that gRPC's clients know.
    ...(signal instanceof AbortSignal ? { signal } : {}),
    ...more,
  }
  const name = `dodici.Test/${method}`
  // The clients take any dispatcher, and name their own class.
  const own_ = /** @type {import('../../src/index.ts').Dispatcher} */ (dispatcher)
  return random.chance(0.5) ? call(own_, name, input, own) : new GrpcCall(own_, name, input, own)
}

/** @param {Parameters<typeof open>} args */
async function askGrpc(...args) {
  const messages = []
  try {
    for await (const message of open(...args)) messages.push(message)
  } catch (error) {
    throw toCause(error)
  }
  return messages
}

/** Dodici's own error: only it has `processed`. @param {unknown} error */
function toCause(error) {
  return error instanceof Error && error.cause !== undefined ? error.cause : error
}

/** @param {Context} context */
function toMessages({ random, tag }) {
  return Array.from({ length: random.integer(1, 8) }, () => Buffer.alloc(random.integer(9, 3_000), tag))
}

/** @param {unknown} seen @param {unknown} expected */
function compare(seen, expected) {
  if (`${seen}` !== `${expected}`) throw new Error(`gRPC brought ${`${seen}`.slice(0, 100)}`)
}

/** @param {Context} context @param {string} method @param {Buffer} input @param {number} code @param {object} [more] */
async function fail(context, method, input, code, more) {
  try {
    for await (const message of open(context, method, input, more)) compare(message, 'a failure')
  } catch (error) {
    if (Object(error).code !== code) throw toCause(error)
    return 'failed as asked'
  }
  throw new Error('a call that has to fail ended well')
}

/** @type {Readonly<Record<string, (context: Context) => Promise<string>>>} */
export const grpcKinds = {
  async grpcUnary(context) {
    const message = Buffer.concat(toMessages(context))
    compare(await askGrpc(context, 'Echo', message), message)
    return 'complete'
  },

  async grpcCollect(context) {
    const pieces = toMessages(context)
    const Size = Buffer.concat(pieces).length
    compare(
      await askGrpc(context, 'Collect', trickle(pieces)),
      JSON.stringify({ Count: pieces.length, Size }),
    )
    return 'complete'
  },

  async grpcExpand(context) {
    const [Count, Size] = [context.random.integer(0, 30), context.random.integer(2, 20_000)]
    const messages = await askGrpc(context, 'Expand', Buffer.from(JSON.stringify({ Count, Size })))
    compare([messages.length, ...messages.map(({ length }) => length)], [Count, ...Array(Count).fill(Size)])
    return 'complete'
  },

  async grpcChat(context) {
    const pieces = toMessages(context)
    compare(await askGrpc(context, 'Chat', trickle(pieces)), pieces)
    return 'complete'
  },

  /** Cancelled after the first message. */
  async grpcLeave(context) {
    const pieces = toMessages(context)
    try {
      for await (const message of open(context, 'Chat', trickle(pieces))) {
        compare(message, pieces[0])
        return 'cancelled'
      }
    } catch (error) {
      throw toCause(error)
    }
    throw new Error('a stream ended before its first message')
  },

  grpcFail: (context) =>
    fail(
      context,
      'Fail',
      Buffer.from(JSON.stringify({ Code: CODES.aborted, Message: context.tag })),
      CODES.aborted,
    ),

  grpcNever(context) {
    const timeout = context.random.integer(1, 200)
    // A name of its own: the server reports each event once.
    return fail(context, 'Never', Buffer.from(context.tag), CODES.deadlineExceeded, { timeout })
  },
}

export const GRPC_WEIGHTS = {
  grpcUnary: 40,
  grpcCollect: 10,
  grpcExpand: 15,
  grpcChat: 15,
  grpcLeave: 4,
  grpcFail: 5,
  grpcNever: 3,
}
