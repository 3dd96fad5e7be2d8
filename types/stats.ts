import type { EngineName } from './engine.ts'

/**
 * Why a session was opened:
 *
 * - `cold`: there was none
 * - `full`: no other session had room
 * - `replacement`: the previous session was lost, or retired by the server, while requests were left
 * - `crowded`: aborted requests, whose streams wait for their reset, held most places of another session, which is
 *   retired
 * - `age`, `requests`: another session has reached {@link ClientOptions.maxSessionAge}, or comes near
 *   {@link ClientOptions.maxSessionRequests}, and is retired
 */
export type OpenReason = 'cold' | 'full' | 'replacement' | 'crowded' | 'age' | 'requests'

/**
 * Why a session takes no more requests. The first reason counts:
 *
 * - `age`: {@link ClientOptions.maxSessionAge}
 * - `requests`: {@link ClientOptions.maxSessionRequests}, or the connection has no stream ids left (RFC 9113 §5.1.1)
 * - `idle`: {@link ClientOptions.keepAliveTimeout}
 * - `crowded`: see {@link OpenReason}
 * - `goaway`: the server has sent GOAWAY
 * - `shut`: it can send no more request bodies: the server returns no flow-control credit for the bodies of ended
 *   streams, and the connection's send window is used up (RFC 9113 §6.9)
 * - `misdirected`: the server has responded with 421, because it doesn't serve the origin on this connection; or its
 *   ORIGIN frame doesn't list the origin ({@link AgentOptions.coalesce})
 * - `lost`: the connection was lost or ended because of an error
 * - `unconnected`: no connection was made, or it speaks HTTP/1.1
 * - `closed`: its dispatcher was closed or destroyed
 */
export type EndReason =
  | 'age'
  | 'requests'
  | 'idle'
  | 'crowded'
  | 'goaway'
  | 'shut'
  | 'misdirected'
  | 'lost'
  | 'unconnected'
  | 'closed'

/** How many sessions have closed, by reason. */
export type SessionEnds = Record<EndReason, number>

/** A snapshot of one session. */
export interface SessionStats {
  /**
   * The HTTP/2 implementation that runs it. Until it is connected, the client's engine: over a Duplex from a connect
   * function, `'wire'` may take its place ({@link ClientOptions.engine}).
   */
  engine: EngineName

  /**
   * `verifying`: the peer must acknowledge a PING before the session takes requests again. `draining`: the session
   * finishes its streams and takes no new ones.
   */
  state: 'connecting' | 'ready' | 'verifying' | 'draining'

  /** Why the session was opened. */
  openedFor: OpenReason

  /** Why it takes no more requests. `null`: it still takes requests, or will. */
  endedFor: EndReason | null

  /**
   * The origins that it serves, in the order in which they joined. The first was the origin that it was opened for,
   * which may have left since. More than one only with {@link AgentOptions.coalesce}: then `requests` and `streams`
   * count only the origin these stats are for.
   */
  origins: string[]

  /** How many requests it has had, retries included: each has a stream. */
  requests: number

  /** How many streams are open. */
  streams: number

  /** The server's SETTINGS_MAX_CONCURRENT_STREAMS. `null`: its SETTINGS haven't arrived. */
  peerLimit: number | null

  /** How many streams it may have open now: the lowest of all limits. */
  limit: number

  /** The receive window of new streams, in bytes. */
  streamWindow: number

  /** The round-trip time of the last PING, in milliseconds. `null`: no PING has been acknowledged. */
  rtt: number | null

  /** Bytes from the socket, without TLS overhead. */
  bytesRead: number

  /** Bytes to the socket, without TLS overhead. */
  bytesWritten: number
}

/** What is currently going on over HTTP/1.1. */
export interface Http1Stats {
  /** How many connections there are, including idle ones. They are part of `connected`. */
  connections: number

  /** How many calls are being served. They are part of `running`. */
  running: number
}

/** A snapshot of a `Client`. */
export interface ClientStats {
  /** Whether it has a session that takes requests, or an HTTP/1.1 connection of the default fallback. */
  connected: boolean

  /** How many calls wait for a stream. */
  pending: number

  /** How many calls have a stream. */
  running: number

  /** All calls: `pending` and `running`. */
  size: number

  /** All sessions that aren't closed, oldest first. */
  sessions: SessionStats[]

  /** What the default fallback does over HTTP/1.1. Your own `fallback` isn't counted: 0. */
  http1: Http1Stats

  /** How many sessions have closed so far, by reason. */
  ended: SessionEnds
}

/** A snapshot of a `Pool`. */
export interface PoolStats {
  /** How many sessions take requests, and how many HTTP/1.1 connections the default fallback has. */
  connected: number

  /** How many of the sessions have no stream, and how many HTTP/1.1 connections serve no call. */
  free: number

  /** How many calls wait for a stream: undici's name for calls that wait in a client. */
  pending: number

  /** The same as `pending`: all sessions share one queue. */
  queued: number

  /** How many calls have a stream. */
  running: number

  /** All calls: `pending` and `running`. */
  size: number

  /** All sessions that aren't closed, oldest first. */
  sessions: SessionStats[]

  /** What the default fallback does over HTTP/1.1. Your own `fallback` isn't counted: 0. */
  http1: Http1Stats

  /** How many sessions have closed so far, by reason. */
  ended: SessionEnds
}

/**
 * A snapshot of an `Agent`: the stats of each origin's dispatcher, by origin. They are a Pool's, unless your `factory`
 * has created a Client.
 */
export type AgentStats = Record<string, ClientStats | PoolStats>
