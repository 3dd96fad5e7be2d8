/**
 * The kinds of calls to a server of gRPC, by the clients of examples/grpc: see `calls.mjs`, and
 * `test/interop/grpc-go/service.go` for what its methods do.
 */
import { loadModules } from '../support.mjs'

/** @typedef {import('./calls.mjs').Context} Context */

const { call, GrpcCall } =
  /** @type {typeof import('../../examples/grpc/request-client.mjs') & typeof import('../../examples/grpc/dispatch-client.mjs')} */ (
    await loadModules(`
    export { call } from '../examples/grpc/request-client.mjs'
    export { GrpcCall } from '../examples/grpc/dispatch-client.mjs'`)
  )

/** Milliseconds. A call that meets this deadline stands still. */
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
async function ask(...args) {
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
function toPieces({ random, tag }) {
  return Array.from({ length: random.integer(1, 8) }, () => Buffer.alloc(random.integer(9, 3_000), tag))
}

/** @param {Buffer[]} pieces */
async function* trickle(pieces) {
  for (const piece of pieces) {
    await new Promise((resolve) => setImmediate(resolve))
    yield piece
  }
}

/** @param {unknown} seen @param {unknown} expected */
function check(seen, expected) {
  if (`${seen}` !== `${expected}`) throw new Error(`gRPC brought ${`${seen}`.slice(0, 100)}`)
}

/** @param {Context} context @param {string} method @param {Buffer} input @param {number} code @param {object} [more] */
async function fail(context, method, input, code, more) {
  try {
    for await (const message of open(context, method, input, more)) check(message, 'a failure')
  } catch (error) {
    if (Object(error).code !== code) throw toCause(error)
    return 'failed as asked'
  }
  throw new Error('a call that has to fail ended well')
}

/** @type {Readonly<Record<string, (context: Context) => Promise<string>>>} */
export const grpcKinds = {
  async grpcUnary(context) {
    const message = Buffer.concat(toPieces(context))
    check(await ask(context, 'Echo', message), message)
    return 'complete'
  },

  async grpcCollect(context) {
    const pieces = toPieces(context)
    const Size = Buffer.concat(pieces).length
    check(await ask(context, 'Collect', trickle(pieces)), JSON.stringify({ Count: pieces.length, Size }))
    return 'complete'
  },

  async grpcExpand(context) {
    const [Count, Size] = [context.random.integer(0, 30), context.random.integer(2, 20_000)]
    const messages = await ask(context, 'Expand', Buffer.from(JSON.stringify({ Count, Size })))
    check([messages.length, ...messages.map(({ length }) => length)], [Count, ...Array(Count).fill(Size)])
    return 'complete'
  },

  async grpcChat(context) {
    const pieces = toPieces(context)
    check(await ask(context, 'Chat', trickle(pieces)), pieces)
    return 'complete'
  },

  /** Cancelled after the first message. */
  async grpcLeave(context) {
    const pieces = toPieces(context)
    try {
      for await (const message of open(context, 'Chat', trickle(pieces))) {
        check(message, pieces[0])
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
