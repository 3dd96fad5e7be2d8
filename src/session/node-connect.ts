/**
 * How a session of node:http2 is set up.
 *
 * @module
 */

import type { ClientHttp2Session } from 'node:http2'
import { connect } from 'node:http2'
import type { Socket } from 'node:net'
import type { Origin } from '../core/options.ts'
import type { SessionOptions } from '../core/session-options.ts'
import { MAX_HEADERS_COUNT } from '../core/session-options.ts'
import { SocketError } from '../errors.ts'
import { UNLIMITED } from './peer-settings.ts'

/**
 * Bytes. With node's default of 64 KiB our own side refuses larger requests, in the words of a peer's REFUSED_STREAM. Far
 * above what `core/headers.ts` lets through, as nghttp2 compares a generous estimate with it.
 */
const MAX_HEADER_BLOCK = 1_048_576

/**
 * Megabytes, beside what answers may take. Node's default of 10 makes an unrelated request fail while a large upload waits.
 */
const MAX_SESSION_MEMORY = 1_024
const MEGABYTE = 1_000_000

/**
 * @param streamWindow SETTINGS_INITIAL_WINDOW_SIZE, in bytes
 * @throws when it isn't a socket after all, or a closed one
 */
export function connectHttp2(
  origin: Origin,
  { settings, connectionWindowSize, maxSessionBuffer }: SessionOptions,
  socket: Socket,
  streamWindow: number,
): ClientHttp2Session {
  const http2 = connect(origin.href, {
    createConnection: () => socket,
    settings: { ...settings, initialWindowSize: streamWindow },
    // Above either of the two node resets the stream with a bare ENHANCE_YOUR_CALM: the call's own limits trip first.
    maxHeaderListPairs: MAX_HEADERS_COUNT,
    maxSessionMemory: MAX_SESSION_MEMORY + Math.ceil(maxSessionBuffer / MEGABYTE),
    maxSendHeaderBlockLength: MAX_HEADER_BLOCK,
    maxReservedRemoteStreams: 0,
    peerMaxConcurrentStreams: UNLIMITED,
  })
  if (http2.destroyed) throw new SocketError('The socket was closed before a session could begin')
  http2.setLocalWindowSize(connectionWindowSize)
  return http2
}
