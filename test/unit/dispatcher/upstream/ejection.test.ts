import { describe, expect, it } from 'vitest'
import type { CallResult } from '../../../../src/dispatcher/upstream/ejection.ts'
import { Ejection } from '../../../../src/dispatcher/upstream/ejection.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const RULES = { maxFailures: 3, ejectionTime: 1_000, maxEjectionTime: 5_000 }

class Scene {
  readonly clock = new FakeClock()
  readonly ejection = new Ejection(RULES)

  get kind(): string {
    return this.ejection.health.kind
  }

  /** A call begins. @returns how it ends */
  begin(): (result: CallResult) => void {
    const isProbe = this.ejection.begin(this.clock.now())
    const { ejections } = this.ejection
    return (result) => this.ejection.record(result, isProbe, ejections, this.clock.now())
  }

  play(...results: CallResult[]): this {
    for (const result of results) this.begin()(result)
    return this
  }

  /** @returns after how many milliseconds it may be probed */
  toDue(): number {
    const { health } = this.ejection
    if (health.kind !== 'ejected') throw new Error(`It is ${health.kind}`)
    return health.until - this.clock.now()
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
  })

  describe('when its time is over', () => {
    it('lets one call probe, and no second one meanwhile', () => {
      const scene = new Scene().play('failure', 'failure', 'failure')
      scene.clock.advance(999)
      expect(scene.ejection.isDue(scene.clock.now())).toBe(false)
      scene.clock.advance(1)
      expect(scene.ejection.isDue(scene.clock.now())).toBe(true)
      scene.begin()
      expect(scene.kind).toBe('probing')
      expect(scene.ejection.isDue(scene.clock.now())).toBe(false)
      expect(scene.ejection.begin(scene.clock.now())).toBe(false)
    })

    it('ends by a probe that succeeds', () => {
      const scene = new Scene().play('failure', 'failure', 'failure')
      scene.clock.advance(1_000)
      expect(scene.play('success').ejection.health).toEqual({ kind: 'healthy', failures: 0 })
    })

    it('doubles by each probe that fails, up to its maximum', () => {
      const scene = new Scene().play('failure', 'failure', 'failure')
      const times: number[] = []
      for (let i = 0; i < 5; i++) {
        times.push(scene.toDue())
        scene.clock.advance(scene.toDue())
        scene.play('failure')
      }
      expect(times).toEqual([1_000, 2_000, 4_000, 5_000, 5_000])
      expect(scene.ejection.ejections).toBe(6)
    })

    it('begins with its first duration again after a success', () => {
      const scene = new Scene().play('failure', 'failure', 'failure')
      scene.clock.advance(1_000)
      scene.play('failure')
      scene.clock.advance(2_000)
      scene.play('success', 'failure', 'failure', 'failure')
      expect(scene.toDue()).toBe(1_000)
    })

    it('lets the next call probe when the caller has aborted the probe', () => {
      const scene = new Scene().play('failure', 'failure', 'failure')
      scene.clock.advance(1_000)
      const end = scene.begin()
      scene.clock.advance(300)
      end('none')
      expect([scene.kind, scene.toDue(), scene.ejection.ejections]).toEqual(['ejected', 0, 1])
      expect(scene.play('failure').toDue()).toBe(2_000)
    })
  })

  describe('when calls end that began before it', () => {
    it.each(['success', 'failure'] as const)('by %s, stays as it is', (result) => {
      const scene = new Scene()
      const ends = [scene.begin(), scene.begin()]
      scene.play('failure', 'failure', 'failure')
      ends[0]?.(result)
      expect([scene.kind, scene.toDue()]).toEqual(['ejected', 1_000])
      scene.clock.advance(1_000)
      scene.begin()
      ends[1]?.(result)
      expect(scene.kind).toBe('probing')
    })
  })

  describe('when all upstreams are ejected, so that it gets calls all the same', () => {
    it('ends by a success', () => {
      expect(new Scene().play('failure', 'failure', 'failure', 'success').kind).toBe('healthy')
    })

    it('is made no longer by failures', () => {
      const scene = new Scene().play('failure', 'failure', 'failure', 'failure', 'failure')
      expect([scene.kind, scene.toDue()]).toEqual(['ejected', 1_000])
    })

    it('is made no longer by failures beside a probe', () => {
      const scene = new Scene().play('failure', 'failure', 'failure')
      scene.clock.advance(1_000)
      const end = scene.begin()
      scene.play('failure')
      expect(scene.kind).toBe('probing')
      end('success')
      expect(scene.kind).toBe('healthy')
    })
  })
})
