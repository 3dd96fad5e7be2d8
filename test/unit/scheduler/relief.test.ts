import { describe, expect, it } from 'vitest'
import { Relief } from '../../../src/scheduler/relief.ts'
import type { Session } from '../../../src/session/session.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'

const INTERVAL = 2_000
const MAX_RETIRED = 8

/** What a relief reads of a session. */
function makeSession(isCrowded: boolean): Session {
  return { isCrowded, isSettled: true } as unknown as Session
}

function setUp() {
  const clock = new FakeClock()
  const relief = new Relief(clock, () => {})
  /** Retires one session, and returns it. */
  const retire = (): Session => {
    const crowded = makeSession(true)
    const successor = makeSession(false)
    expect(relief.find([crowded])).toBe(crowded)
    relief.begin(crowded, successor)
    expect(relief.onRoom(successor)).toBe(crowded)
    return crowded
  }
  return { clock, relief, retire }
}

describe('Relief', () => {
  it('finds no session that isn’t crowded', () => {
    const { relief } = setUp()
    expect(relief.find([makeSession(false)])).toBe(null)
  })

  it('relieves one session in two seconds', () => {
    const { clock, relief, retire } = setUp()
    retire()
    clock.advance(INTERVAL - 1)
    expect(relief.find([makeSession(true)])).toBe(null)
    clock.advance(1)
    retire()
  })

  it(`leaves no more than ${MAX_RETIRED} retired sessions open`, () => {
    const { clock, relief, retire } = setUp()
    const retired: Session[] = []
    for (let i = 0; i < MAX_RETIRED; i++) {
      retired.push(retire())
      clock.advance(INTERVAL)
    }
    expect(relief.find([makeSession(true)])).toBe(null)
    relief.onClosed(retired[3] as Session)
    retire()
  })

  it('begins anew when the successor is gone before its SETTINGS', () => {
    const { clock, relief } = setUp()
    const crowded = makeSession(true)
    const successor = makeSession(false)
    relief.begin(crowded, successor)
    clock.advance(INTERVAL)
    expect(relief.find([crowded])).toBe(null)
    relief.onExcluded(successor)
    expect(relief.find([crowded])).toBe(crowded)
  })
})
