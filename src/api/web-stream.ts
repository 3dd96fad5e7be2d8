/**
 * The web stream of a response body.
 *
 * @module
 */

import type { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { loadWebStreams } from '../core/builtin.ts'
import { noop } from '../core/noop.ts'
import { RequestAbortedError } from '../errors/errors.ts'

/**
 * A web stream that reads a Readable, one piece at a time, when asked. Its `cancel()` destroys the Readable.
 *
 * `ReadableStream.from()` isn't used: a cancel before the first read would never reach the iterator.
 */
export function toWebStream(readable: Readable): ReadableStream<Uint8Array> {
  let iterator: AsyncIterator<Uint8Array> | null = null
  const { ReadableStream } = loadWebStreams()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        iterator ??= readable[Symbol.asyncIterator]()
        const { done, value } = await iterator.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      cancel() {
        readable.on('error', noop)
        readable.destroy(new RequestAbortedError('The body was cancelled'))
      },
    },
    { highWaterMark: 0 },
  )
}
