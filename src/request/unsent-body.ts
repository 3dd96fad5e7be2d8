/**
 * The body of a call that has failed before a dispatcher accepted it.
 *
 * @module
 */

import { Readable } from 'node:stream'
import { isReadableStream, toBodySource } from './body.ts'

/**
 * Ends a body that nothing will read, as the bodies of other failed calls end: a Readable is destroyed with the
 * error, so that a file is closed; a web stream is cancelled; a request that a server has received is left to that
 * server. Does nothing for a body that was read from, which the call has ended itself, and for bodies that hold
 * nothing open.
 *
 * @param options what the caller passed as the request's options
 */
export function endUnsentBody(options: unknown, error: Error): void {
  if (typeof options !== 'object' || options === null) return
  const body: unknown = Reflect.get(options, 'body')
  if (typeof body !== 'object' || body === null) return
  if (!(body instanceof Readable) && !isReadableStream(body)) return
  // What was read from belongs to its other reader, or to the call. Node's own function takes web streams, too.
  if (Readable.isDisturbed(body as Readable) || ('locked' in body && body.locked)) return
  const source = toBodySource(body)
  if (source.kind === 'stream') source.destroy(error)
}
