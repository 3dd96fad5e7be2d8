import { describe, expect, it } from 'vitest'
import type { CallResult } from '../../../../src/dispatcher/upstream/ejection.ts'
import { Ejection } from '../../../../src/dispatcher/upstream/ejection.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'

const RULES = { maxFailures: 3, ejectionTime: 1_000, maxEjectionTime: 5_000 }
/** The limit of the first probe. */
const PATIENCE = 1_500

class Scene {
  readonly clock = new FakeClock()
  readonly ejection = new Ejection(RULES)

  get kind(): string {
    return this.ejection.health.kind
  }

  /** A call begins. @returns how it ends */
  begin(): (result: CallResult) => void {
    const probe = this.ejection.begin(this.clock.now(), PATIENCE)
    const { ejections } = this.ejection
    return (result) => this.ejection.record(result, probe, ejections, this.clock.now())
  }

  play(...results: CallResult[]): this {
    for (const result of results) this.begin()(result)
    return this
  }

  eject(): this {
    return this.play('failure', 'failure', 'failure')
  }

  /** @returns after how many milliseconds it may be probed */
  toDue(): number {
    const { health } = this.ejection
    if (health.kind === 'healthy') throw new Error('It is healthy')
    return health.until - this.clock.now()
  }

  /** @returns whether a call may probe it now */
  isDue(): boolean {
    return this.ejection.isDue(this.clock.now())
  }
}

describe('Ejection', () => {
  describe('of a healthy upstream', () => {
    it('comes after so many failures in a row', () => {
      const scene = new Scene().play('failure', 'failure')
      expect(scene.kind).toBe('healthy')
      expect(scene.play('failure').kind).toBe('ejected')
      expect(scene.ejection.ejections).toBe(1)
      expect(scene.toDue()).toBe(1_000)
    })

    it('does not come when a success is between the failures', () => {
      expect(new Scene().play('failure', 'failure', 'success', 'failure', 'failure').kind).toBe('healthy')
    })

    it('counts no call that tells nothing', () => {
      expect(new Scene().play('failure', 'none', 'failure', 'none', 'none').kind).toBe('healthy')
      expect(new Scene().play('failure', 'none', 'failure', 'none', 'failure').kind).toBe('ejected')
    })

    it('may come for another reason, once', () => {
      const scene = new Scene()
      scene.ejection.eject(scene.clock.now())
      scene.ejection.eject(scene.clock.now())
      expect([scene.kind, scene.ejection.ejections, scene.toDue()]).toEqual(['ejected', 1, 1_000])
    })
  })

  describe('when its time is over', () => {
    it('lets one call probe, and no second one meanwhile', () => {
      const scene = new Scene().eject()
      scene.clock.advance(999)
      expect(scene.isDue()).toBe(false)
      scene.clock.advance(1)
      expect(scene.isDue()).toBe(true)
      scene.begin()
      expect(scene.kind).toBe('probing')
      expect(scene.isDue()).toBe(false)
      expect(scene.ejection.begin(scene.clock.now(), PATIENCE)).toBe(0)
    })

    it('ends by a probe that succeeds', () => {
      const scene = new Scene().eject()
      scene.clock.advance(1_000)
      expect(scene.play('success').kind).toBe('healthy')
    })

    it('doubles by each probe that fails, up to its maximum', () => {
      const scene = new Scene().eject()
      const times: number[] = []
      for (let i = 0; i < 5; i++) {
        times.push(scene.toDue())
        scene.clock.advance(scene.toDue())
        scene.play('failure')
      }
      expect(times).toEqual([1_000, 2_000, 4_000, 5_000, 5_000])
      expect(scene.ejection.ejections).toBe(6)
    })

    it('lets the next call probe when the caller has aborted the probe', () => {
      const scene = new Scene().eject()
      scene.clock.advance(1_000)
      const end = scene.begin()
      scene.clock.advance(300)
      end('none')
      expect([scene.kind, scene.toDue(), scene.ejection.ejections]).toEqual(['ejected', 0, 1])
      expect(scene.play('failure').toDue()).toBe(2_000)
    })

    it('is overdue when no call has probed for as long as an ejection takes', () => {
      const scene = new Scene().eject()
      scene.clock.advance(1_999)
      expect(scene.ejection.isOverdue(scene.clock.now())).toBe(false)
      scene.clock.advance(1)
      expect(scene.ejection.isOverdue(scene.clock.now())).toBe(true)
    })
  })

  describe('when a probe is late', () => {
    function toLate() {
      const scene = new Scene().eject()
      scene.clock.advance(1_000)
      const end = scene.begin()
      scene.clock.advance(PATIENCE - 1)
      expect(scene.isDue()).toBe(false)
      scene.clock.advance(1)
      return { scene, end }
    }

    it('lets another call probe, with twice the time', () => {
      const { scene } = toLate()
      expect(scene.isDue()).toBe(true)
      scene.begin()
      expect([scene.kind, scene.toDue(), scene.isDue()]).toEqual(['probing', 2 * PATIENCE, false])
    })

    it('ends by a success of either', () => {
      const first = toLate()
      first.scene.begin()
      first.end('success')
      expect(first.scene.kind).toBe('healthy')
      const second = toLate()
      second.scene.begin()('success')
      expect(second.scene.kind).toBe('healthy')
    })

    it('takes no notice of a failure of the late one, once another call probes', () => {
      const { scene, end } = toLate()
      const endSecond = scene.begin()
      end('failure')
      expect(scene.kind).toBe('probing')
      endSecond('failure')
      expect([scene.kind, scene.toDue()]).toEqual(['ejected', 4_000])
    })

    it('takes its failure, as long as no other call probes', () => {
      const { scene, end } = toLate()
      end('failure')
      expect([scene.kind, scene.toDue()]).toEqual(['ejected', 2_000])
    })
  })

  describe('when it has been ejected before', () => {
    function toHealed(): Scene {
      const scene = new Scene().eject()
      scene.clock.advance(1_000)
      scene.play('failure')
      scene.clock.advance(2_000)
      return scene.play('success')
    }

    it('is longer soon after', () => {
      expect(toHealed().eject().toDue()).toBe(4_000)
    })

    it.each([
      [9_999, 4_000],
      [10_000, 2_000],
      [20_000, 1_000],
      [1_000_000, 1_000],
    ])('after %d healthy milliseconds takes %d', (healthy, expected) => {
      const scene = toHealed()
      scene.clock.advance(healthy)
      expect(scene.play('success').eject().toDue()).toBe(expected)
    })
  })

  describe('when calls end that began before it', () => {
    it.each(['success', 'failure'] as const)('by %s, stays as it is', (result) => {
      const scene = new Scene()
      const ends = [scene.begin(), scene.begin()]
      scene.eject()
      ends[0]?.(result)
      expect([scene.kind, scene.toDue()]).toEqual(['ejected', 1_000])
      scene.clock.advance(1_000)
      scene.begin()
      ends[1]?.(result)
      expect(scene.kind).toBe('probing')
    })
  })

  describe('when too many upstreams are ejected, so that it gets calls all the same', () => {
    it('ends by a success', () => {
      expect(new Scene().eject().play('success').kind).toBe('healthy')
    })

    it('is made no longer by failures', () => {
      const scene = new Scene().eject().play('failure', 'failure')
      expect([scene.kind, scene.toDue()]).toEqual(['ejected', 1_000])
    })

    it('is made no longer by failures beside a probe', () => {
      const scene = new Scene().eject()
      scene.clock.advance(1_000)
      const end = scene.begin()
      scene.play('failure')
      expect(scene.kind).toBe('probing')
      end('success')
      expect(scene.kind).toBe('healthy')
    })
  })
})
