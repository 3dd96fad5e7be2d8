/**
 * Keeps a node:http2 session's native half alive for as long as its streams may need it.
 *
 * @module
 */

import type { ClientHttp2Session } from 'node:http2'

/** Node's own key for the handle, under which every session has it. Undefined until the first session was seen. */
let handleKey: symbol | null | undefined

/**
 * A session's native half, to be kept until the session and all its streams are gone, and no longer.
 *
 * Node destroys a stream's native half one turn of the event loop after its session's, and drops its only reference to
 * the session's before that. If the garbage collector runs in between, it frees the session first, and node aborts the
 * process (`~Http2Session(): current_nghttp2_memory_ == 0`) if nghttp2 has memory left for one of the streams, for
 * example for a header section whose rest doesn't arrive.
 *
 * @returns null if node has no such key
 */
export function toSessionHandle(http2: ClientHttp2Session): object | null {
  if (handleKey === undefined) {
    const keys = Object.getOwnPropertySymbols(http2)
    handleKey = keys.find((key) => key.description === 'kHandle') ?? null
  }
  const handle: unknown = handleKey === null ? null : Reflect.get(http2, handleKey)
  return typeof handle === 'object' ? handle : null
}
