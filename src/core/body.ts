/**
 * Any accepted request body → one BodySource.
 *
 * @module
 */

import { Readable } from 'node:stream'
import { RequestAbortedError } from '../errors.ts'
import { invalid } from './options.ts'

/** No body: HEADERS carries END_STREAM. */
export interface NoBody {
  readonly kind: 'none'
  readonly length: 0
  readonly replayable: true
}

/** All of the body at hand: it can be sent any number of times. */
export interface BytesBody {
  readonly kind: 'bytes'
  /** Bytes. */
  readonly length: number
  readonly replayable: true
  /** The caller's own bytes, not a copy. */
  open(): Uint8Array
}

/** A body that comes in pieces, of a length that may not be known before. */
export interface StreamBody {
  readonly kind: 'stream'
  /** Bytes, or null where only the end will tell. */
  readonly length: number | null
  /** Whether `open()` may be called again after a first attempt failed. */
  readonly replayable: boolean
  /** The stream of one attempt. */
  open(): Readable
  /** Calls back, once at most, when the source breaks or is destroyed before its end; also while nobody reads it yet. */
  watch(onBroken: (error: Error) => void): void
  /** Ends what no attempt will read. Idempotent. */
  destroy(error: Error | null): void
}

/** Where a request's body comes from: one of three kinds, whatever the caller gave. */
export type BodySource = NoBody | BytesBody | StreamBody

/** The one body of all requests that have none. */
export const NO_BODY: NoBody = Object.freeze({ kind: 'none', length: 0, replayable: true })

class Bytes implements BytesBody {
  readonly kind = 'bytes'
  readonly replayable = true
  readonly length: number
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.length = bytes.byteLength
  }

  open(): Uint8Array {
    return this.#bytes
  }
}

/**
 * A caller's own Readable: what was read from it is gone, so it can't be sent again.
 *
 * It is watched from the moment the request is made: it may break while the call still waits in a queue, when nobody
 * reads it yet, and a stream's unheard `error` event ends the process.
 */
class OneReadable implements StreamBody {
  readonly kind = 'stream'
  readonly length = null
  readonly replayable = false
  readonly #readable: Readable

  #onBroken: ((error: Error) => void) | null = null

  constructor(readable: Readable) {
    this.#readable = readable
    // After its end it has no part in the call any more: a Duplex may break there on its other side.
    readable.on('error', (error) => {
      if (!readable.readableEnded) this.#break(error)
    })
    readable.on('close', () => {
      if (!readable.readableEnded)
        this.#break(new RequestAbortedError('The request body was destroyed before its end'))
    })
  }

  watch(onBroken: (error: Error) => void): void {
    this.#onBroken = onBroken
  }

  #break(error: Error): void {
    const onBroken = this.#onBroken
    this.#onBroken = null
    onBroken?.(error)
  }

  open(): Readable {
    return this.#readable
  }

  destroy(error: Error | null): void {
    if (!this.#readable.destroyed) this.#readable.destroy(error ?? undefined)
  }
}

/**
 * Makes a BodySource of a request's body.
 *
 * @param body a string (as UTF-8), a Buffer, any typed array, a DataView, an ArrayBuffer, a Readable; null and
 * undefined are no body.
 * @throws InvalidArgumentError for anything else, and for a Readable that was read from already.
 */
export function toBodySource(body: unknown): BodySource {
  if (body === null || body === undefined) return NO_BODY
  if (typeof body === 'string') return new Bytes(Buffer.from(body))
  if (body instanceof Uint8Array) return new Bytes(body)
  if (ArrayBuffer.isView(body))
    return new Bytes(new Uint8Array(body.buffer, body.byteOffset, body.byteLength))
  if (body instanceof ArrayBuffer) return new Bytes(new Uint8Array(body))
  if (body instanceof Readable) {
    if (Readable.isDisturbed(body))
      throw invalid('body', body, 'a Readable that nobody has read from or destroyed')
    return new OneReadable(body)
  }
  throw invalid('body', body, 'a string, a Buffer, a typed array, an ArrayBuffer, a Readable, or null')
}
