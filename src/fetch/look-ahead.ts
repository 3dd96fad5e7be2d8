/**
 * The body of a Request, which is only available as a stream.
 *
 * @module
 */

import type { ReadableStreamLike } from '../../types/body.ts'
import { noop } from '../core/noop.ts'
import { originalSetImmediate } from '../core/original-timers.ts'
import type { ReadResult } from '../request/stream-reader.ts'
import { StreamReader } from '../request/stream-reader.ts'
import { ByteStream, checkChunk } from './byte-stream.ts'
import type { FetchBody } from './fetch-body.ts'
import { toBytesBody, toStreaming } from './fetch-body.ts'

/** How many bytes are read ahead at most, even if more are in memory. */
const MAX_HELD = 8_388_608

/**
 * A body in memory is read within one turn of the event loop. A Blob of several parts needs a second one on Node 24 and
 * 26.
 */
const MAX_TURNS = 2

/** The result of a read that has to wait for something. */
const LATE = Symbol('late')

/**
 * A Request doesn't reveal the source of its body. But a body from a string, from bytes, or from a form or a Blob in
 * memory is available at once, so it is read before anything is sent: then its length can be announced, and a
 * redirect or another connection can send it again. Any other body is sent as it arrives.
 *
 * @throws the stream's own error, and TypeError for a chunk that isn't a Uint8Array
 */
export async function lookAhead(stream: ReadableStreamLike): Promise<FetchBody> {
  const isOfBytes = isByteStream(stream)
  const reader = new StreamReader(stream)
  const held: Uint8Array[] = []
  if (!isOfBytes) return toRest(new ReadAhead(held, reader, reader.read()))
  // The first piece may be of any size: a string or bytes come in one piece, and are in memory anyway.
  for (let size = 0; size <= MAX_HELD || held.length < 2; size += held.at(-1)?.byteLength ?? 0) {
    const read = reader.read()
    const result = await readAtOnce(read)
    if (result === LATE) return toRest(new ReadAhead(held, reader, read))
    const { done, value } = checkChunk(result)
    if (done) return toBytesBody(toOne(held))
    held.push(value as Uint8Array)
  }
  return toRest(new ReadAhead(held, reader, null))
}

function toOne(held: readonly Uint8Array[]): Uint8Array {
  return held.length === 1 ? (held[0] as Uint8Array) : Buffer.concat(held)
}

function toRest(rest: ReadAhead): FetchBody {
  return toStreaming(new ByteStream(rest))
}

/** A body in memory has a byte stream. Any other kind of stream is the caller's own, and can't be repeated. */
function isByteStream(stream: ReadableStreamLike): boolean {
  try {
    const reader = Reflect.apply(stream.getReader, stream, [{ mode: 'byob' }]) as { releaseLock?(): void }
    reader.releaseLock?.()
    return true
  } catch {
    return false
  }
}

async function readAtOnce(read: PromiseLike<ReadResult>): Promise<ReadResult | typeof LATE> {
  for (let turns = 1; turns <= MAX_TURNS; turns++) {
    const result = await Promise.race([read, nextTurn()])
    if (result !== LATE) return result
  }
  return LATE
}

function nextTurn(): Promise<typeof LATE> {
  return new Promise((resolve) => originalSetImmediate(resolve, LATE))
}

/** A stream whose first pieces were already read. */
class ReadAhead implements ReadableStreamLike {
  /** Read from the front with an iterator, because `shift()` copies a long list. */
  readonly #held: Iterator<Uint8Array>
  readonly #reader: StreamReader
  /** Null for none. */
  #read: PromiseLike<ReadResult> | null
  locked = false

  constructor(held: Uint8Array[], reader: StreamReader, read: PromiseLike<ReadResult> | null) {
    this.#held = held.values()
    this.#reader = reader
    this.#read = read
    // The read may fail before its result is used: the reader gets the error then.
    read?.then(undefined, noop)
  }

  getReader(): this {
    this.locked = true
    return this
  }

  read(): PromiseLike<ReadResult> {
    const { done, value } = this.#held.next()
    if (done !== true) return Promise.resolve({ done: false, value })
    const read = this.#read ?? this.#reader.read()
    this.#read = null
    return read
  }

  cancel(reason: unknown): PromiseLike<void> {
    return this.#reader.cancel(reason)
  }
}
