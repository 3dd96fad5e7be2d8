/**
 * diagnostics_channel publishing: undici's channels where they fit, and `dodici:session:*`.
 *
 * Whoever publishes asks `hasSubscribers` first, so that nobody who doesn't listen pays.
 *
 * @module
 */

import { channel } from 'node:diagnostics_channel'

/** undici's, of one request. Messages have `request`: see `RequestTrace` in `core/request-trace.ts`. */
export const requestChannels = Object.freeze({
  /** `{ request }`, before it is sent: `request.addHeader(name, value)` still adds to it. */
  create: channel('undici:request:create'),
  /** `{ request }` */
  bodySent: channel('undici:request:bodySent'),
  /** `{ request, chunk }` */
  bodyChunkSent: channel('undici:request:bodyChunkSent'),
  /** `{ request, response: { statusCode, headers, statusText } }`; `headers` is a flat list of Buffers. */
  headers: channel('undici:request:headers'),
  /** `{ request, chunk }` */
  bodyChunkReceived: channel('undici:request:bodyChunkReceived'),
  /** `{ request, trailers }`, a flat list of Buffers: the response is complete. */
  trailers: channel('undici:request:trailers'),
  /** `{ request, error }` */
  error: channel('undici:request:error'),
})

/** undici's, of connections. */
export const clientChannels = Object.freeze({
  /**
   * `{ connectParams, connector }`; `connector` is the `connect` function; null for options,
   * which may have keys in them.
   */
  beforeConnect: channel('undici:client:beforeConnect'),
  /** `{ connectParams, connector, socket }` */
  connected: channel('undici:client:connected'),
  /** `{ connectParams, connector, error }` */
  connectError: channel('undici:client:connectError'),
  /** `{ request, headers, socket }`, by each attempt. `headers` is what HTTP/1.1 would look like. */
  sendHeaders: channel('undici:client:sendHeaders'),
})

/** Ours. Each message has `session`, one object for the whole life of one: `{ id, origin, openedFor }`. */
export const sessionChannels = Object.freeze({
  /** `{ session }`: a connection is about to be made. */
  open: channel('dodici:session:open'),
  /** `{ session, socket }`: it takes calls. */
  ready: channel('dodici:session:ready'),
  /**
   * `{ session, goaway }`: it takes none any more. `goaway`:
   * `{ code, lastStreamId, debugData }`, or null when we began.
   */
  draining: channel('dodici:session:draining'),
  /** `{ session, cause }`; `cause` is null for one that was closed on purpose. */
  closed: channel('dodici:session:closed'),
  /** `{ session, rtt }`: a PING has come back, after so many milliseconds. */
  ping: channel('dodici:session:ping'),
  /**
   * `{ session, streamId, sessionWindow }`: an upload has to wait for the peer to read. `sessionWindow` is
   * what the whole session may still send, in bytes: 0 when that is what is used up, more when it's the
   * stream's own window, or the socket.
   */
  stall: channel('dodici:session:stall'),
})
