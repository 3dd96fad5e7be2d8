/**
 * Why a session was opened:
 *
 * - `cold`: there was none
 * - `full`: all others had no room
 * - `replacement`: the one before it was lost, or retired by the server, with requests left
 * - `crowded`: most places of another one were held by aborted requests, whose streams wait for their reset; it is retired
 */
export type OpenReason = 'cold' | 'full' | 'replacement' | 'crowded'

/** A snapshot of one session. */
export interface SessionStats {
  /** `verifying`: a PING has to come back before it takes requests again. `draining`: it finishes its streams, and takes no new ones. */
  state: 'connecting' | 'ready' | 'verifying' | 'draining'

  /** Why it was opened. */
  openedFor: OpenReason

  /** How many streams are open. */
  streams: number

  /** The server's SETTINGS_MAX_CONCURRENT_STREAMS. `null`: its SETTINGS haven't come. */
  peerLimit: number | null

  /** How many streams it may have open now, for every reason that there is. */
  limit: number

  /** The receive window that its streams are given, in bytes. */
  streamWindow: number

  /** The round trip of the last PING, in milliseconds. `null`: none has come back. */
  rtt: number | null

  /** Bytes from and to the socket, TLS's own apart. */
  bytesRead: number
  bytesWritten: number
}

/** A snapshot of what a `Client` is doing. */
export interface ClientStats {
  /** Whether it has a session that takes requests. */
  connected: boolean

  /** How many calls wait for a stream. */
  pending: number

  /** How many calls have a stream. */
  running: number

  /** All calls: `pending` and `running`. */
  size: number

  /** Every session that isn't closed, the oldest first. */
  sessions: SessionStats[]
}

/** A snapshot of what a `Pool` is doing. */
export interface PoolStats {
  /** How many sessions take requests. */
  connected: number

  /** How many of these have no stream. */
  free: number

  /** How many calls wait for a stream: undici's name for those that wait in a client. */
  pending: number

  /** The same as `pending`: there is one queue in front of all sessions. */
  queued: number

  /** How many calls have a stream. */
  running: number

  /** All calls: `pending` and `running`. */
  size: number

  /** Every session that isn't closed, the oldest first. */
  sessions: SessionStats[]
}

/** What an `Agent` is doing: the stats of each origin's dispatcher, by origin. */
export type AgentStats = Record<string, ClientStats | PoolStats>
