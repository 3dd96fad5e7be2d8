/**
 * Publishes to diagnostics_channel: undici's channels where they fit, and Dodici's own, whose messages are
 * `DodiciChannels` in types/.
 *
 * Each publisher asks `hasSubscribers` first, so that a process without subscribers doesn't pay for messages.
 *
 * @module
 */

import { channel } from 'node:diagnostics_channel'

/** undici's channels for a request. Messages have `request`: see `RequestTrace` in `request/request-trace.ts`. */
export const requestChannels = Object.freeze({
  /** `{ request }`, before it is sent: `request.addHeader(name, value)` can still add to it. */
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

/** undici's channels for connections. */
export const clientChannels = Object.freeze({
  /**
   * `{ connectParams, connector }`; `connector` is the `connect` function, or null for options, which may contain keys.
   */
  beforeConnect: channel('undici:client:beforeConnect'),
  /** `{ connectParams, connector, socket }` */
  connected: channel('undici:client:connected'),
  /** `{ connectParams, connector, error }` */
  connectError: channel('undici:client:connectError'),
  /** `{ request, headers, socket }`, for each attempt. `headers` is the header section as HTTP/1.1 would send it. */
  sendHeaders: channel('undici:client:sendHeaders'),
})

/**
 * undici's channel for tunnels: `{ socket, connectParams }`. `connectParams` has the proxy's origin and port, and the
 * tunnel's target as `path`, but no credentials.
 */
export const proxyConnected = channel('undici:proxy:connected')

/** Dodici's channel for an UpstreamPool. */
export const upstreamChannels = Object.freeze({
  /**
   * `{ first, second, after }`: a request is about to get a second attempt, because the first is late. `first` and
   * `second` are the names of the two upstreams, `after` is how long the first has taken so far, in milliseconds.
   */
  hedge: channel('dodici:upstream:hedge'),
})

/** Dodici's channels for a request, over either protocol. Messages have `request`, as undici's messages do. */
export const callChannels = Object.freeze({
  /** `{ request }`: it has to wait for a connection, or for room on one. */
  queued: channel('dodici:request:queued'),
  /** `{ request, connection }`: an attempt was sent. `connection` is a `ConnectionInfo`. */
  attempt: channel('dodici:request:attempt'),
  /** `{ request, connection, statusCode }`: the final response's header section has arrived. */
  response: channel('dodici:request:response'),
  /** `{ request, connection, reason, error }`: another attempt will follow. `error` is null after a 421. */
  retry: channel('dodici:request:retry'),
  /** `{ request, connection, error }`: it has ended; `error` is null if the response is complete. */
  end: channel('dodici:request:end'),
})

/** `{ origin, reason }`: requests to an origin are served over HTTP/1.1 from now on. */
export const fallbackChannel = channel('dodici:fallback')

/**
 * Dodici's channels for sessions. Each message has `session`, one object for a session's whole life: `{ id, origin,
 * openedFor, protocol }`.
 */
export const sessionChannels = Object.freeze({
  /** `{ session }`: a connection is about to be opened. */
  open: channel('dodici:session:open'),
  /** `{ session, socket }`: the session takes calls. */
  ready: channel('dodici:session:ready'),
  /**
   * `{ session, origin, sessionId }`: the session serves another origin, too. `sessionId` is its number among that
   * origin's sessions.
   */
  coalesced: channel('dodici:session:coalesced'),
  /**
   * `{ session, goaway, reason }`: the session takes no more calls. `goaway` is `{ code, lastStreamId, debugData }`, or
   * null if this side began the shutdown. `reason` is an `EndReason`.
   */
  draining: channel('dodici:session:draining'),
  /** `{ session, cause, reason }`; `cause` is null for a session that was closed on purpose. */
  closed: channel('dodici:session:closed'),
  /** `{ session, settings }`: the peer's SETTINGS have arrived or changed. */
  settings: channel('dodici:session:settings'),
  /** `{ session }`: no sign of life has arrived in time, so the next call waits for the ACK of a PING. */
  late: channel('dodici:session:late'),
  /** `{ session, rtt }`: the ACK of a PING has arrived after `rtt` milliseconds. */
  ping: channel('dodici:session:ping'),
  /**
   * `{ session, streamId, sessionWindow }`: an upload has to wait for the peer to read. `sessionWindow` is what remains
   * of the connection window, in bytes. If it is 0, the connection window is used up; otherwise the stream window is
   * used up, or the socket accepts no more.
   */
  stall: channel('dodici:session:stall'),
})
