/**
 * The pieces of a response for `for await`.
 *
 * @module
 */

import type { Readable } from 'node:stream'
import { finished } from 'node:stream'
import { noop } from '../core/noop.ts'
import { isOwn, leadToAwaiting } from '../errors/awaited-stack.ts'

/**
 * Reads a Readable as its own async iterator does, with the same awaits, so that a piece costs the same. But an
 * error's stack leads to the loop: it is thrown from here, where V8 sees what awaits the iterator. Node's iterator
 * throws an error from a socket's callback unchanged.
 */
export async function* iterate<T>(readable: Readable): AsyncGenerator<T, undefined, undefined> {
  /** Undefined until the stream is over; null after a successful end. */
  let failure: Error | null | undefined
  let wake: () => void = noop
  const wait = (resolve: () => void): void => {
    wake = resolve
  }
  const onNews = (): void => wake()
  readable.on('readable', onNews)
  const stopListening = finished(readable, { writable: false }, (error) => {
    failure = error ?? null
    wake()
  })
  try {
    for (;;) {
      const piece: T | null = readable.destroyed ? null : readable.read()
      if (piece !== null) yield piece
      else if (failure === null) return
      else if (failure === undefined) await new Promise<void>(wait)
      else {
        // The loop may have asked for this piece just now, and awaits it from then on.
        await undefined
        throw isOwn(failure) ? leadToAwaiting(failure) : failure
      }
    }
  } finally {
    stopListening()
    readable.off('readable', onNews)
    if (failure === undefined && !readable.destroyed) leave(readable)
  }
}

/**
 * The loop was left before the end. The stream fails as with Node's iterator, and needs no listener. A stream that
 * was read to its end destroys itself; a Duplex may still be written to.
 */
function leave(readable: Readable): void {
  const error = new Error('The operation was aborted')
  error.name = 'AbortError'
  readable.on('error', noop)
  readable.destroy(Object.assign(error, { code: 'ABORT_ERR' }))
}
