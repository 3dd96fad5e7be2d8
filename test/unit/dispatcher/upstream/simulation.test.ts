import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { findTable } from '../../../../scripts/upstreams/page.ts'
import { HEDGING_SCENES, SCENES } from '../../../../scripts/upstreams/scenes.ts'
import type { Comparison, Outcome } from '../../../../scripts/upstreams/simulation.ts'
import { compare, compareHedging, toTable } from '../../../../scripts/upstreams/simulation.ts'

const page = readFileSync(new URL('../../../../docs/upstreams.md', import.meta.url), 'utf8')

function find(comparisons: readonly Comparison[], title: string): [Outcome, Outcome, ...Outcome[]] {
  const outcomes = comparisons.find(({ scene }) => scene.title === title)?.outcomes.values() ?? []
  const [first, second, ...others] = outcomes
  if (first === undefined || second === undefined) throw new Error(`The scene ${title} was played`)
  return [first, second, ...others]
}

describe('the simulation of UpstreamPool and others', () => {
  let comparisons: Comparison[] = []
  beforeAll(() => {
    comparisons = compare(1)
  })

  it('comes to the table of docs/upstreams.md', () => {
    expect(findTable(page, 'policies')).toBe(toTable(comparisons))
  })

  it.each(SCENES.map(({ title }) => title))('%s: keeps extra requests within the budget', (title) => {
    const [{ calls, extra }] = find(comparisons, title)
    expect(calls).toBeGreaterThan(1_000)
    expect(extra).toBeLessThanOrEqual(0.2)
  })

  it.each(
    SCENES.map(({ title }) => title),
  )('%s: UpstreamPool is the best, or within 5 %% of the best', (title) => {
    const [ours, ...others] = find(comparisons, title)
    for (const other of others) {
      expect(ours.success).toBeGreaterThanOrEqual(0.95 * other.success)
      expect(ours.p99).toBeLessThanOrEqual(1.05 * other.p99)
      expect(ours.imbalance).toBeLessThanOrEqual(1.05 * other.imbalance)
      expect(ours.extra).toBeLessThanOrEqual(0.05 + other.extra)
    }
  })
})

describe('the simulation of hedging', () => {
  let comparisons: Comparison[] = []
  beforeAll(() => {
    comparisons = compareHedging(1)
  })

  it('comes to the table of docs/upstreams.md', () => {
    expect(findTable(page, 'hedging')).toBe(toTable(comparisons))
  })

  it.each(
    HEDGING_SCENES.map(({ title }) => title),
  )('%s: makes extra requests, within the budget', (title) => {
    const [without, { extra, success }] = find(comparisons, title)
    expect(extra).toBeGreaterThan(without.extra)
    expect(extra).toBeLessThanOrEqual(0.2)
    expect(success).toBeGreaterThanOrEqual(without.success - 0.001)
  })

  it.each([
    '8, a long tail',
    '8, a long tail, busy (80 %)',
  ])('%s: makes the slowest calls far faster', (title) => {
    const [without, hedging] = find(comparisons, title)
    expect(hedging.p99).toBeLessThan(0.75 * without.p99)
  })

  it.each([
    '8 alike',
    '8, one 10 times slower',
    '8, one silent for 10 s',
  ])('%s: makes none slower', (title) => {
    const [without, hedging] = find(comparisons, title)
    expect(hedging.p99).toBeLessThan(1.05 * without.p99)
  })
})
