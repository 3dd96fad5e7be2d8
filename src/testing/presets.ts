/**
 * The behaviour of real servers, as a client sees it.
 *
 * @module
 */

import type { FaultConnection } from './fault-connection.ts'
import type { Preset } from './fault-server.ts'
import { MAX_STREAM_ID } from './frames.ts'

/** How many requests a connection serves. */
export interface RetiringOptions {
  /**
   * The number of the request, from 1, at which the server retires the connection.
   *
   * @default 1_000 for nginx, 10_000 for ALB, 1 for Apache
   */
  readonly requests?: number
}

/**
 * nginx when `keepalive_requests` is reached (1,000 by default): at the header section of the last request it sends
 * GOAWAY. It ignores later streams, responds, and closes the connection.
 */
function nginxThatRetires({ requests = 1_000 }: RetiringOptions = {}): Preset {
  return (server) =>
    server.onConnection('*', {
      onRequest: (_stream, connection) => {
        if (connection.streams.length === requests) connection.goAway({ closes: 'when drained' })
      },
    })
}

/**
 * Apache's graceful restart, at this request of a connection: it sends a GOAWAY with the highest stream id, which only
 * announces the end (RFC 9113 §6.8). After all responses it sends a second one, with the last stream id, and closes the
 * connection.
 */
function apacheThatRestarts({ requests = 1 }: RetiringOptions = {}): Preset {
  return (server) =>
    server.onConnection('*', {
      onRequest: async (_stream, connection) => {
        if (connection.streams.length !== requests) return
        connection.goAway({ lastStreamId: MAX_STREAM_ID })
        while (connection.open > 0) if (!(await connection.delay(1))) return
        connection.goAway({ closes: 'at once' })
      },
    })
}

/** How many milliseconds grpc-go expects between PINGs while no stream is open. */
const MIN_TIME_WITHOUT_STREAM = 7_200_000
/** How many strikes it tolerates. */
const MAX_STRIKES = 2

/**
 * grpc-go with its default policy: a PING is a strike if it arrives within five minutes of the previous one (within
 * two hours while no stream is open), and the server sent no HEADERS or DATA in between. At the third strike the
 * server ends the connection and all its streams with ENHANCE_YOUR_CALM. `minTime`, in milliseconds, replaces the
 * five minutes.
 */
function grpcGoThatCountsPings({ minTime = 300_000 }: { readonly minTime?: number } = {}): Preset {
  return (server) => {
    const counts = new WeakMap<FaultConnection, { strikes: number; at: number; sent: number }>()
    server.onConnection('*', {
      onFrame: ({ name, flags, at }, connection) => {
        if (name !== 'PING' || (flags & 1) !== 0) return
        const last = counts.get(connection) ?? { strikes: 0, at: Number.NEGATIVE_INFINITY, sent: 0 }
        const sent = connection.messagesWritten
        const isEarly = at - last.at < (connection.open > 0 ? minTime : MIN_TIME_WITHOUT_STREAM)
        const strikes = sent > last.sent ? 0 : last.strikes + (isEarly ? 1 : 0)
        counts.set(connection, { strikes, at, sent })
        if (strikes <= MAX_STRIKES) return
        connection.goAway({ code: 'ENHANCE_YOUR_CALM', debugData: 'too_many_pings', closes: 'at once' })
      },
    })
  }
}

/**
 * Node's own `http2` server: a body of unknown length whose last byte exhausts a window ends with
 * RST_STREAM(NO_ERROR), not with END_STREAM.
 */
function nodeThatEndsByReset(): Preset {
  return (server) =>
    server.onConnection('*', (connection) => {
      connection.endsByReset = true
    })
}

/**
 * AWS's Application Load Balancer, which retires a connection after 10,000 requests or at a certain age: it sends
 * GOAWAY, ignores later streams, and sends FIN right after the last response. With `cutsLast` the last response is cut
 * off, as reported in golang/go#18639.
 */
function albThatDrains({
  requests = 10_000,
  cutsLast = false,
}: RetiringOptions & { readonly cutsLast?: boolean } = {}): Preset {
  return (server) => {
    server.onConnection('*', {
      onRequest: (_stream, connection) => {
        if (connection.streams.length !== requests) return
        connection.goAway({ closes: cutsLast ? 'never' : 'when drained' })
      },
      onComplete: (stream, connection) => {
        if (!cutsLast || stream !== connection.streams[requests - 1]) return
        stream.head(200)
        void stream.data('cut')
        connection.end()
      },
    })
  }
}

/** The behaviour of real servers: sets of rules for {@link FaultServer.use}. */
export const presets = {
  /** Retires a connection with GOAWAY after 1,000 requests, as nginx does. */
  nginxThatRetires,
  /** Restarts gracefully, with two GOAWAY frames, as Apache does. */
  apacheThatRestarts,
  /** Ends a connection after three PINGs that are too close together, as grpc-go does. */
  grpcGoThatCountsPings,
  /** Ends some bodies with RST_STREAM(NO_ERROR) instead of END_STREAM, as Node's own server does. */
  nodeThatEndsByReset,
  /** Retires a connection after 10,000 requests, as AWS's Application Load Balancer does. */
  albThatDrains,
} as const
