import type { Readable } from 'node:stream'

/** A `FormData`: the global one, or that of any undici. It is sent as `multipart/form-data`. */
export interface FormDataLike {
  /** All entries, in order: a string, or a file. */
  entries(): Iterable<[string, unknown]>
  /** All values of one name. */
  getAll(name: string): unknown[]
  /** Never there: tells a `FormData` from a `URLSearchParams`, which can be sorted. */
  sort?: never
}

/** A `Blob` or a `File`: the global one, or any that has these members. */
export interface BlobLike {
  /** Bytes. */
  readonly size: number
  /** The media type; empty for none. */
  readonly type: string
  /** The content. */
  stream(): ReadableStreamLike
}

/** A web `ReadableStream`: the global one, that of `node:stream/web`, or any with a reader. */
export interface ReadableStreamLike {
  /** Whether it has a reader already. */
  readonly locked: boolean
  /** Locks the stream, and gives the reader. */
  getReader(): unknown
}

/** A piece of a body that comes in pieces: a string is sent as UTF-8. */
export type BodyChunk = string | ArrayBufferView | ArrayBuffer

/**
 * Where a request's bytes come from.
 *
 * - a string is sent as UTF-8; a Buffer, a typed array, a DataView or an ArrayBuffer as its bytes, uncopied;
 * - a Blob is read anew for each attempt; its `type` becomes the `content-type` if the headers have none;
 * - a FormData is sent as `multipart/form-data`, with one boundary for all attempts, a URLSearchParams as
 *   `application/x-www-form-urlencoded`; both set the `content-type` likewise;
 * - a Readable, a web ReadableStream, an iterable or async iterable of strings or bytes is sent as it comes, once.
 *   It must be unread;
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

/** Makes the body of one attempt. It is called once for each attempt, when the request is about to be sent. */
export type BodyFactory = () => BodyInit

/**
 * A request's body: the bytes themselves, a source of bytes, or a function that makes either.
 *
 * Bytes, Blob, FormData, URLSearchParams and a function are replayable: a request with such a body can be sent again.
 */
export type RequestBody = BodyInit | BodyFactory
