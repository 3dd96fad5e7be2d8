import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { partOf } from '../../scripts/page.mjs'
import type { Scene } from '../../scripts/upstreams/scenes.ts'
import { HEDGING_SCENES, SCENES } from '../../scripts/upstreams/scenes.ts'
import type { Comparison, Outcome } from '../../scripts/upstreams/simulation.ts'
import {
  compare,
  compareHedging,
  MARKS,
  toTable as toMarkdownTable,
} from '../../scripts/upstreams/simulation.ts'

const page = readFileSync(new URL('../../docs/upstreams.md', import.meta.url), 'utf8')

/**
 * Compares each scene once: with the first test that asks for it, so that none takes the time of all.
 *
 * @param scenes by their titles
 */
function play(scenes: readonly Scene[], toComparison: (scene: Scene, seed: number) => Comparison) {
  const played = new Map<Scene, Comparison>()
  function get(scene: Scene): Comparison {
    const comparison = played.get(scene) ?? toComparison(scene, 1)
    played.set(scene, comparison)
    return comparison
  }
  return {
    toTable: () => toMarkdownTable(scenes.map(get)),
    /** What the first policy made of the scene with that title, and what the others did. */
    find(title: string): [Outcome, Outcome, ...Outcome[]] {
      const scene = scenes.find((one) => one.title === title)
      if (scene === undefined) throw new Error(`There is no scene ${title}`)
      const [first, second, ...others] = get(scene).outcomes.values()
      if (first === undefined || second === undefined) throw new Error('Two policies were compared')
      return [first, second, ...others]
    },
  }
}

describe('the simulation of UpstreamPool and others', () => {
  const { find, toTable } = play(SCENES, compare)

  it.each(SCENES.map(({ title }) => title))('%s: keeps extra requests within the budget', (title) => {
    const [{ calls, extra }] = find(title)
    expect(calls).toBeGreaterThan(1_000)
    expect(extra).toBeLessThanOrEqual(0.2)
  })

  it.each(
    SCENES.map(({ title }) => title),
  )('%s: UpstreamPool is the best, or within 5 %% of the best', (title) => {
    const [ours, ...others] = find(title)
    for (const other of others) {
      expect(ours.success).toBeGreaterThanOrEqual(0.95 * other.success)
      expect(ours.p99).toBeLessThanOrEqual(1.05 * other.p99)
      expect(ours.imbalance).toBeLessThanOrEqual(1.05 * other.imbalance)
      expect(ours.extra).toBeLessThanOrEqual(0.05 + other.extra)
    }
  })

  it('comes to the table of docs/upstreams.md', () => {
    expect(partOf(page, ...MARKS.policies)).toBe(toTable())
  })
})

describe('the simulation of hedging', () => {
  const { find, toTable } = play(HEDGING_SCENES, compareHedging)

  it.each(
    HEDGING_SCENES.map(({ title }) => title),
  )('%s: makes extra requests, within the budget', (title) => {
    const [without, { extra, success }] = find(title)
    expect(extra).toBeGreaterThan(without.extra)
    expect(extra).toBeLessThanOrEqual(0.2)
    expect(success).toBeGreaterThanOrEqual(without.success - 0.001)
  })

  it.each([
    '8, a long tail',
    '8, a long tail, busy (80 %)',
  ])('%s: makes the slowest calls far faster', (title) => {
    const [without, hedging] = find(title)
    expect(hedging.p99).toBeLessThan(0.75 * without.p99)
  })

  it.each([
    '8 alike',
    '8, one 10 times slower',
    '8, one silent for 10 s',
  ])('%s: makes none slower', (title) => {
    const [without, hedging] = find(title)
    expect(hedging.p99).toBeLessThan(1.05 * without.p99)
  })

  it('comes to the table of docs/upstreams.md', () => {
    expect(partOf(page, ...MARKS.hedging)).toBe(toTable())
  })
})
