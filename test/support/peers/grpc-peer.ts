/** A scripted peer that counts PINGs as a server of gRPC does. */

import type { ConnectionScript, FaultConnection } from '../../../src/testing/fault-connection.ts'
import { Flag, Type } from '../../../src/testing/frames.ts'
import type { FakeClock } from '../clocks/fake-clock.ts'
import { ENHANCE_YOUR_CALM } from './error-codes.ts'

const MAX_STRIKES = 2
/** Milliseconds. */
const MIN_TIME = 300_000
const MIN_TIME_WITHOUT_STREAM = 7_200_000
/** Where a frame's header has its type. */
const TYPE_OFFSET = 3

/** What `handlePing()` of grpc-go's http2_server.go does, with its default policy. */
class PingCounter {
  readonly #clock: FakeClock
  #lastPingAt = Number.NEGATIVE_INFINITY
  #strikes = 0
  /** HEADERS or DATA was sent since the last PING. */
  #hasSent = false

  constructor(clock: FakeClock) {
    this.#clock = clock
  }

  /** Notes what the connection writes from here on. */
  watch(connection: FaultConnection): void {
    const write = connection.write.bind(connection)
    connection.write = (...pieces) => {
      const isNews = (piece: Buffer): boolean =>
        piece[TYPE_OFFSET] === Type.HEADERS || piece[TYPE_OFFSET] === Type.DATA
      if (pieces.some(isNews)) this.#hasSent = true
      write(...pieces)
    }
  }

  onPing(connection: FaultConnection): void {
    const now = this.#clock.now()
    const minTime = connection.open > 0 ? MIN_TIME : MIN_TIME_WITHOUT_STREAM
    if (this.#hasSent) this.#strikes = 0
    else if (now < this.#lastPingAt + minTime) this.#strikes++
    this.#hasSent = false
    this.#lastPingAt = now
    if (this.#strikes <= MAX_STRIKES) return
    connection.goAway({
      lastStreamId: connection.streams.at(-1)?.id ?? 0,
      code: ENHANCE_YOUR_CALM,
      debugData: 'too_many_pings',
    })
    connection.end()
  }
}

/** Makes a script's connections count PINGs, by this clock. */
export function countsPings(clock: FakeClock, script: ConnectionScript): ConnectionScript {
  const counters = new Map<FaultConnection, PingCounter>()
  return {
    ...script,
    onConnection(connection) {
      const counter = new PingCounter(clock)
      counters.set(connection, counter)
      counter.watch(connection)
      script.onConnection?.(connection)
    },
    onFrame(frame, connection) {
      const isPing = frame.type === Type.PING && (frame.flags & Flag.ACK) === 0
      if (isPing) counters.get(connection)?.onPing(connection)
      script.onFrame?.(frame, connection)
    },
  }
}
