/** A gRPC client that uses `request()`. */

// @ts-check

import {
  checkHeader,
  checkStatus,
  GrpcError,
  MessageReader,
  Status,
  toGrpcError,
  toMetadata,
  toRequest,
} from './protocol.mjs'

/**
 * A call of any kind. It starts with the first read; leaving the loop cancels it.
 *
 * @param {import('dodici').Dispatcher} dispatcher a Client or a Pool of the server's origin, or an Agent
 * @param {string} method such as `package.Service/Method`
 * @param {import('./protocol.mjs').Input} input
 * @param {import('./protocol.mjs').CallOptions} options
 * @returns {AsyncGenerator<Buffer>} the messages of the response
 * @throws {GrpcError} once the messages that came have been read
 */
export async function* call(dispatcher, method, input, options = {}) {
  const begun = performance.now()
  /** @type {import('dodici').BodyReadable | null} */
  let body = null
  try {
    const { signal = null } = options
    const request = {
      ...toRequest(method, input, options),
      signal,
      responseHeaders: /** @type {const} */ ('raw'),
    }
    const response = await dispatcher.request(request)
    body = response.body
    const header = toMetadata(response.headers)
    checkHeader(response.statusCode, header)
    options.onMetadata?.(header)
    const messages = new MessageReader(options)
    for await (const piece of body) yield* messages.read(piece)
    messages.end()
    // The body has ended, so the trailers are there.
    const trailers = toMetadata(response.trailers)
    options.onTrailers?.(trailers)
    checkStatus(header, trailers)
  } catch (error) {
    throw toGrpcError(error, options, begun)
  } finally {
    // A caller that leaves the loop before the end cancels the call. After the end this has no effect.
    body?.destroy()
  }
}

/** A call whose response is one message. @param {Parameters<typeof call>} args as for `call()` */
export async function callForOne(...args) {
  /** @type {Buffer | null} */
  let response = null
  for await (const message of call(...args)) {
    if (response !== null) throw new GrpcError(Status.UNIMPLEMENTED, 'The response has more than one message')
    response = message
  }
  if (response === null) throw new GrpcError(Status.UNIMPLEMENTED, 'The response has no message')
  return response
}
