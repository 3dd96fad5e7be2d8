import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { loadModule } from '../support/plain-module.ts'

interface Charts {
  toReadmeCharts(result: unknown): { readonly name: string }[]
}

interface Svg {
  toSvg(chart: unknown): string
}

interface Counted {
  readonly name: string
  readonly requests: number
  readonly warmup: number
}

interface Recorded {
  readonly command: string
  readonly revision: { readonly isDirty: boolean }
  readonly machine: { readonly node: string }
  readonly rounds: number
  readonly scenarios: (Counted & { entries: { client: string; rounds: unknown[] }[] })[]
}

const { clients } = await loadModule<{ clients: object }>('bench/e2e/clients/index.mjs')
const { scenarios: known } = await loadModule<{ scenarios: Counted[] }>('bench/e2e/scenarios.mjs')

const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')

describe('the charts of the README', async () => {
  const { toReadmeCharts } = await loadModule<Charts>('bench/report/charts.mjs')
  const { toSvg } = await loadModule<Svg>('bench/report/svg.mjs')
  const recorded = await read('bench/recorded/result.json')
  const charts = toReadmeCharts(JSON.parse(recorded))

  it('are two, and the README shows both', async () => {
    const readme = await read('README.md')
    expect(charts.map(({ name }) => name)).toEqual(['readme-cpu', 'readme-throughput'])
    for (const { name } of charts) expect(readme).toContain(`](bench/recorded/${name}.svg)`)
  })

  it.each(charts)('are drawn of what is recorded: $name', async (chart) => {
    expect(await read(`bench/recorded/${chart.name}.svg`)).toBe(toSvg(chart))
  })

  it('are of a run that measured what it says, of a revision without changes', () => {
    const { command, revision, machine, rounds, scenarios }: Recorded = JSON.parse(recorded)
    expect(command).toMatch(/^npm run bench\b/)
    expect(revision.isDirty).toBe(false)
    expect(machine.node).toMatch(/^24\./)
    expect(rounds).toBeGreaterThanOrEqual(5)
    const measured = scenarios.flatMap(({ entries }) => entries)
    // Those that came after that run.
    const missing = ['dodici-wire', 'floor', 'undici-http1', 'undici-http1-pipelined']
    const shown = Object.keys(clients).filter((client) => !missing.includes(client))
    expect(new Set(measured.map(({ client }) => client))).toEqual(new Set(shown))
    expect(measured.filter((entry) => entry.rounds.length !== rounds)).toEqual([])
    for (const { name, requests, warmup } of scenarios) {
      const scenario = known.find((one) => one.name === name)
      expect([requests, warmup]).toEqual([scenario?.requests, scenario?.warmup])
    }
  })
})
