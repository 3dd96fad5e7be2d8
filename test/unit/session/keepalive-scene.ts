/** A keepalive with a session that records its calls, and a clock that the test moves. */

import { Deadlines } from '../../../src/core/clock.ts'
import { toSessionOptions } from '../../../src/options/session-options.ts'
import { PingLedger } from '../../../src/protocol/ping-ledger.ts'
import type { KeepaliveTarget, PingedConnection } from '../../../src/session/keepalive.ts'
import { Keepalive } from '../../../src/session/keepalive.ts'
import { OriginMemory } from '../../../src/session/origin-memory.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'

export const IDLE = 100_000
export const INTERVAL = 10_000
export const TIMEOUT = 4_000
/** Whether something was read is looked for four times in an interval, and a deadline may be met 50 ms late. */
export const SLACK = INTERVAL / 4 + 50
export const HOUR = 3_600_000

/** A session and its connection, which record the calls of their keepalive. */
export class FakeSession implements KeepaliveTarget, PingedConnection {
  readonly pings = new PingLedger()
  bytesRead: number | null = 0
  liveStreams = 0
  /** A call waits for room on it. */
  isAwaited = false
  canPing = true
  /** The system has dropped its connection. */
  isDisconnected = false
  /** Its connection is lost without an error. */
  isLost = false
  /** What a session does when it closes. */
  onLost: () => void = () => {}
  /** Whether PINGs went out or not. */
  asked = 0
  /** How often it was asked to look for what no event tells. */
  looks = 0
  readonly events: string[] = []
  readonly errors: Error[] = []
  /** The ACK callbacks of PINGs that were sent and got no ACK yet. */
  readonly #acks: (() => void)[] = []

  get isNeeded(): boolean {
    return this.liveStreams > 0 || this.isAwaited
  }

  ping(onAck: () => void): boolean {
    // A clock that rings repeatedly at one moment would never return to the test.
    if (++this.asked > 1_000) throw new Error('It is asked for PINGs without a pause')
    if (!this.canPing) return false
    this.events.push('ping')
    this.#acks.push(onAck)
    return true
  }

  /** The response to the oldest PING. */
  ack(): void {
    const onAck = this.#acks.shift()
    if (onAck === undefined) throw new Error('There is no PING to respond')
    onAck()
  }

  look(): void {
    this.looks++
  }

  onPong(rtt: number): void {
    this.events.push(`pong ${rtt}`)
  }

  onTrustChange(): void {
    this.events.push('trust')
  }

  onIdleTimeout(): void {
    this.events.push('idle')
  }

  destroyIfLost(): boolean {
    if (!this.isLost) return false
    this.events.push('lost')
    this.onLost()
    return true
  }

  onError(error: Error): void {
    this.events.push('dead')
    this.errors.push(error)
  }
}

export interface SceneOptions {
  readonly keepAliveTimeout?: number
  readonly pingInterval?: number | null
  readonly pingTimeout?: number
}

export function setUp(given: SceneOptions = {}) {
  const clock = new FakeClock()
  const deadlines = new Deadlines(clock)
  const memory = new OriginMemory(clock)
  const session = new FakeSession()
  const { pings } = session
  const defaults = { keepAliveTimeout: IDLE, pingInterval: INTERVAL, pingTimeout: TIMEOUT }
  const options = toSessionOptions({ ...defaults, ...given })
  const keepalive = new Keepalive(session, session, options, deadlines, memory)
  const open = (): void => {
    if (session.liveStreams++ === 0) keepalive.onBusy()
  }
  const close = (): void => {
    if (--session.liveStreams === 0) keepalive.onIdle()
  }
  return { clock, deadlines, memory, session, pings, keepalive, open, close }
}

/** Idle for so long that the next call requires a PING. */
export function setUpStale(given: SceneOptions = {}) {
  const scene = setUp(given)
  scene.clock.advance(INTERVAL)
  if (scene.keepalive.isTrusted) throw new Error('It is trusted for longer than an interval')
  return scene
}
