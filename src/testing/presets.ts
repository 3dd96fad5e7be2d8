/**
 * What real servers do, as far as a client can tell.
 *
 * @module
 */

import type { FaultConnection } from './fault-connection.ts'
import type { Preset } from './fault-server.ts'
import { MAX_STREAM_ID } from './frames.ts'

/** How many requests a connection takes. */
export interface RetiringOptions {
  /** The number of the request at which the connection is retired, from 1. */
  readonly requests?: number
}

/**
 * nginx, whose `keepalive_requests` are used up (1,000 by default): at the last request's header section it sends
 * GOAWAY, ignores what lies above, responds, and closes the connection.
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
 * Apache's graceful restart, at this request of a connection: a GOAWAY that names the highest stream id, which only
 * announces the end (RFC 9113 §6.8). Once all requests have their responses come a second one, which names the last,
 * and the end.
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

/** Milliseconds. What grpc-go wants between PINGs while no stream is open. */
const MIN_TIME_WITHOUT_STREAM = 7_200_000
/** What it bears. */
const MAX_STRIKES = 2

/**
 * grpc-go without a policy of its own: a PING is a strike if it comes within five minutes of the last one (within two
 * hours while no stream is open), and no HEADERS or DATA were sent in between. At the third strike the server ends the
 * connection, with all that it has, by ENHANCE_YOUR_CALM. `minTime`, in milliseconds, takes the place of the five
 * minutes.
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
 * A server of Node's `http2`: a body of unknown length that uses up a window by its very last octet ends by
 * RST_STREAM(NO_ERROR), and not by END_STREAM.
 */
function nodeThatEndsByReset(): Preset {
  return (server) =>
    server.onConnection('*', (connection) => {
      connection.endsByReset = true
    })
}

/**
 * AWS's Application Load Balancer, which retires a connection after 10,000 requests or when its time is up: GOAWAY,
 * and FIN right behind the last response. What lies above is ignored. With `cutsLast` the last response has no end:
 * as was reported in golang/go#18639.
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

/** What real servers do. Each is a bundle of rules, for {@link FaultServer.use}. */
export const presets = {
  nginxThatRetires,
  apacheThatRestarts,
  grpcGoThatCountsPings,
  nodeThatEndsByReset,
  albThatDrains,
} as const
