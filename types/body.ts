import type { Readable } from 'node:stream'

/** A `FormData`: the global class, or the one from any undici. Dodici sends it as `multipart/form-data`. */
export interface FormDataLike {
  /** All entries, in order: a string, or a file. */
  entries(): Iterable<[string, unknown]>
  /** All values of one name. */
  getAll(name: string): unknown[]
  /** Never there: tells a `FormData` from a `URLSearchParams`, which can be sorted. */
  sort?: never
}

/** A `Blob` or a `File`: the global classes, or any object with these members. */
export interface BlobLike {
  /** Its length in bytes. */
  readonly size: number
  /** The media type; empty for none. */
  readonly type: string
  /** The content, as a stream. */
  stream(): ReadableStreamLike
}

/** A web `ReadableStream`: the global class, the one from `node:stream/web`, or any object with a reader. */
export interface ReadableStreamLike {
  /** Whether it has a reader already. */
  readonly locked: boolean
  /** Locks the stream and returns the reader. */
  getReader(): unknown
}

/** One piece of a streamed body. Dodici sends a string as UTF-8. */
export type BodyChunk = string | ArrayBufferView | ArrayBuffer

/**
 * Where the bytes of a request body come from.
 *
 * - a string is sent as UTF-8; a Buffer, a typed array, a DataView or an ArrayBuffer as its bytes, without a copy;
 * - a Blob is read anew for each attempt; its `type` becomes the `content-type` if the headers have none;
 * - a FormData is sent as `multipart/form-data`, with the same boundary in all attempts, a URLSearchParams as
 *   `application/x-www-form-urlencoded`; both also set the `content-type`;
 * - a Readable, a web ReadableStream, or an iterable or async iterable of strings or bytes is sent once, as its data
 *   arrives. Pass it unread;
 * - `null`: no body.
 */
export type BodyInit =
  | BodyChunk
  | Readable
  | BlobLike
  | FormDataLike
  | URLSearchParams
  | ReadableStreamLike
  | Iterable<BodyChunk>
  | AsyncIterable<BodyChunk>
  | null

/** Returns the body for one attempt. Dodici calls it once per attempt, just before it sends the request. */
export type BodyFactory = () => BodyInit

/**
 * A request body: the bytes themselves, a source of bytes, or a function that returns either.
 *
 * Dodici can retry a request whose body is bytes, a Blob, a FormData, a URLSearchParams or a function.
 */
export type RequestBody = BodyInit | BodyFactory
