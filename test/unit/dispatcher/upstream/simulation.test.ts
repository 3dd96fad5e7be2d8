import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { findTable } from '../../../../scripts/upstreams/page.ts'
import { SCENES } from '../../../../scripts/upstreams/scenes.ts'
import type { Comparison } from '../../../../scripts/upstreams/simulation.ts'
import { compare, toTable } from '../../../../scripts/upstreams/simulation.ts'

const page = readFileSync(new URL('../../../../docs/upstreams.md', import.meta.url), 'utf8')

describe('the simulation of UpstreamPool and others', () => {
  let comparisons: Comparison[] = []
  beforeAll(() => {
    comparisons = compare(1)
  })

  it('comes to the table of docs/upstreams.md', () => {
    expect(findTable(page)).toBe(toTable(comparisons))
  })

  it.each(SCENES.map(({ title }) => title))('%s: keeps extra requests within the budget', (title) => {
    const outcome = comparisons.find(({ scene }) => scene.title === title)?.outcomes.get('UpstreamPool')
    expect(outcome?.calls).toBeGreaterThan(1_000)
    expect(outcome?.extra).toBeLessThanOrEqual(0.2)
  })
})
