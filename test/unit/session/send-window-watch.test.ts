import { describe, expect, it } from 'vitest'
import { Deadlines } from '../../../src/core/clock.ts'
import { PingLedger } from '../../../src/protocol/ping-ledger.ts'
import { SendWindowWatch } from '../../../src/session/send-window-watch.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'

/** How long the peer may take to return credit, and how long stuck calls may wait after its ACK. */
const PATIENCE = 1_000
const STUCK_LIMIT = 4_000

function setUp() {
  const clock = new FakeClock()
  const told: string[] = []
  const scene = { hasStuckUploads: false, isShut: true, looks: 0 }
  let onAck = (): void => {}
  const connection = {
    get isShut() {
      scene.looks++
      return scene.isShut
    },
    pings: new PingLedger(),
    ping(onPong: () => void) {
      told.push('ping')
      onAck = onPong
      return true
    },
  }
  const owner = {
    get hasStuckUploads() {
      return scene.hasStuckUploads
    },
    isPingShy: false,
    onSendWindowOpen: () => told.push('open'),
    onSendWindowShut: () => told.push('shut'),
    onUploadsStuck: () => {
      told.push('stuck')
      scene.hasStuckUploads = false
    },
  }
  const deadlines = new Deadlines(clock)
  const watch = new SendWindowWatch(owner, connection, deadlines)
  const advance = (milliseconds: number): void => {
    for (let i = 0; i < milliseconds; i += 10) clock.advance(10)
  }
  return { clock, told, scene, watch, advance, acknowledge: () => onAck() }
}

describe('SendWindowWatch', () => {
  it('looks once a second when the stuck calls have failed', () => {
    const { told, scene, watch, advance, acknowledge } = setUp()
    scene.hasStuckUploads = true
    watch.look()
    advance(PATIENCE + 200)
    acknowledge()
    advance(STUCK_LIMIT + 200)
    expect(told).toEqual(['shut', 'ping', 'stuck'])
    scene.looks = 0
    advance(60_000)
    expect(scene.looks).toBeLessThanOrEqual(61)
    scene.hasStuckUploads = true
    advance(1_100)
    expect(told).toEqual(['shut', 'ping', 'stuck', 'stuck'])
    scene.isShut = false
    advance(1_100)
    expect(told.at(-1)).toBe('open')
    scene.looks = 0
    advance(10_000)
    expect(scene.looks).toBe(0)
  })

  it('tells nothing while no call is stuck', () => {
    const { told, scene, watch, advance } = setUp()
    watch.look()
    advance(PATIENCE + 100)
    expect(told).toEqual(['shut'])
    scene.looks = 0
    advance(60_000)
    expect(told).toEqual(['shut'])
    expect(scene.looks).toBeLessThanOrEqual(61)
  })
})
