/** A gRPC client over `request()`. */

import type { BodyReadable, Dispatcher } from 'dodici'
import type { CallOptions, Input } from './protocol.ts'
import {
  checkHeader,
  checkStatus,
  GrpcError,
  MessageReader,
  Status,
  toGrpcError,
  toMetadata,
  toRequest,
} from './protocol.ts'

/**
 * A call of any kind. It starts with the first read; leaving the loop cancels it.
 *
 * @param dispatcher a Client or a Pool of the server's origin, or an Agent
 * @param method such as `package.Service/Method`
 * @returns the messages of the response
 * @throws GrpcError once the messages that came have been read
 */
export async function* call(
  dispatcher: Dispatcher,
  method: string,
  input: Input,
  options: CallOptions = {},
): AsyncGenerator<Buffer> {
  const begun = performance.now()
  let body: BodyReadable | null = null
  try {
    const { signal = null } = options
    const request = { ...toRequest(method, input, options), signal, responseHeaders: 'raw' as const }
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

/** A call whose response is one message. */
export async function callForOne(
  ...[dispatcher, method, input, options]: Parameters<typeof call>
): Promise<Buffer> {
  let response: Buffer | null = null
  for await (const message of call(dispatcher, method, input, options)) {
    if (response !== null) throw new GrpcError(Status.UNIMPLEMENTED, 'The response has more than one message')
    response = message
  }
  if (response === null) throw new GrpcError(Status.UNIMPLEMENTED, 'The response has no message')
  return response
}
