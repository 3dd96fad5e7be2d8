/**
 * The kinds of calls. Each sends a request and checks the response, or abandons it in one of the ways in which
 * callers do. Each settles with the name of its outcome.
 */
import { Readable, Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { Expected } from './watch.mjs'

/**
 * @typedef {import('../random.mjs').Random} Random
 *
 * @typedef {object} Context
 * @property {Random} random
 * @property {import('../../types/index.ts').Dispatcher} dispatcher
 * @property {{ origin: string, path: string, signal: any, idempotent?: boolean }} options
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
export async function turns(count) {
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
  check(await body.text(), tag)
  reached('end')
  return 'complete'
}

/** @param {Context} context */
export function toPieces({ random, tag }) {
  const filler = Buffer.alloc(random.integer(1, 3_000), 'p')
  return Array.from({ length: random.integer(1, 8) }, (_, index) => (index === 0 ? Buffer.from(tag) : filler))
}

/** @param {Buffer[]} pieces */
export async function* trickle(pieces) {
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
    Object.assign(this, { context, resolve, reject })
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

  async iterate(context) {
    const { body } = await context.dispatcher.request({ ...context.options, method: 'GET' })
    context.reached('header')
    let text = ''
    for await (const chunk of body) text += chunk
    check(text, context.tag)
    context.reached('end')
    return 'complete'
  },

  /** Slower than the server, from the first byte or later. */
  async slowly({ dispatcher, options, random, tag, reached }) {
    const { body } = await dispatcher.request({ ...options, method: 'GET' })
    reached('header')
    const read = random.chance(0.5) ? readWithPauses : readLate
    await turns(random.integer(0, MAX_PAUSE))
    check(await read(body, random), tag)
    reached('end')
    return 'complete, read slowly'
  },

  /** Isn't read, and is destroyed after a while. */
  async drop({ dispatcher, options, random }) {
    const { body } = await dispatcher.request({ ...options, method: 'GET' })
    await turns(random.integer(0, 10))
    body.destroy()
    return 'dropped'
  },

  async dump({ dispatcher, options }) {
    const { body } = await dispatcher.request({ ...options, method: 'GET' })
    await body.dump()
    return 'dumped'
  },

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
    check(sink.text, tag)
    reached('end')
    return 'complete'
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
    check(sink.text, tag)
    reached('end')
    return 'complete'
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
