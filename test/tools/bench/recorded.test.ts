import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { loadModule } from '../../support/clients/plain-module.ts'
import { toEntry, toResult, toScenario } from './report-result.ts'

interface Chart {
  readonly name: string
  readonly groups: readonly { readonly bars: readonly unknown[] }[]
}

interface Charts {
  toReadmeCharts(result: unknown): Chart[]
  toPageCharts(result: unknown): Chart[]
}

interface Figures {
  toReadmeFigures(result: unknown): string
  withFigures(page: string, result: unknown): string
}

interface FigureModule {
  spreadOf(entry: unknown, key: string): { readonly median: number }
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

const { clients } = await loadModule<{ clients: Record<string, { label: string }> }>(
  'bench/e2e/clients/index.mjs',
)
const { scenarios: known } = await loadModule<{ scenarios: Counted[] }>('bench/e2e/scenarios.mjs')

const read = (path: string) => readFile(new URL(`../../../${path}`, import.meta.url), 'utf8')

describe('the figures of docs/performance.md', async () => {
  const { spreadOf } = await loadModule<FigureModule>('bench/report/figures.mjs')
  const { toReadmeFigures, withFigures } = await loadModule<Figures>('scripts/readme-figures.mjs')
  const result = JSON.parse(await read('bench/recorded/result.json'))

  it('are those of the recorded run', async () => {
    const page = await read('docs/performance.md')
    expect(withFigures(page, result)).toBe(page)
    expect(page).toContain(toReadmeFigures(result))
  })

  it('are those that the README has of a request over TLS', async () => {
    const { entries } = result.scenarios.find(({ name }: { name: string }) => name === 'get-1k-tls')
    const [node, wire, undici] = ['dodici', 'dodici-wire', 'undici'].map((client) => {
      const entry = entries.find(
        (one: { client: string; api: string }) => one.client === client && one.api === 'request',
      )
      const median = spreadOf(entry, 'cpuMicros').median
      return median < 10 ? median.toFixed(1) : median.toFixed(0)
    })
    expect(await read('README.md')).toContain(
      `Over TLS, a request costs ${node} µs of CPU by default and ${wire} µs with \`engine: 'wire'\`. undici 8 needs ${undici} µs over HTTP/2.`,
    )
  })

  it('have each of our engines beside undici, over HTTP/2 and over HTTP/1.1, and what bounds them', () => {
    const names = ['dodici', 'dodici-wire', 'undici', 'undici-http1']
    const entries = names.map((client, index) => toEntry(client, 'request', 10 * (index + 1)))
    const all = [...entries, { ...toEntry('floor', 'frames', 2), label: 'the floor' }]
    const lines = toReadmeFigures(
      toResult(toScenario('get-1k', all), toScenario('get-1k-tls', all, true)),
    ).split('\n')
    expect(lines.filter((line) => line.startsWith('| `'))).toEqual([
      '| `request` | dodici (wire) | 20.0 | 0.67 [0.67, 0.67] | 20.0 | 0.67 [0.67, 0.67] |',
      '| `request` | dodici | 10.0 | 0.33 [0.33, 0.33] | 10.0 | 0.33 [0.33, 0.33] |',
      '| `request` | undici 8 | 30.0 | - | 30.0 | - |',
      '| `request` | undici 8 (HTTP/1.1) | 40.0 | 1.33 [1.33, 1.33] | 40.0 | 1.33 [1.33, 1.33] |',
    ])
    expect(lines.at(-1)).toBe('For comparison: the floor 2.0 over h2c, 2.0 over TLS.')
    expect(lines).toContain('So few rounds show large differences only.')
    expect(lines).toContainEqual(expect.stringMatching(/^Not in that run: .*h2load \(C\)\.$/))
  })

  it('go between two marks, and nowhere else', () => {
    expect(() => withFigures('# Dodici', result)).toThrow('docs/performance.md lacks')
  })
})

describe('the charts of the README and of docs/performance.md', async () => {
  const { toPageCharts, toReadmeCharts } = await loadModule<Charts>('bench/report/charts.mjs')
  const { toSvg } = await loadModule<Svg>('bench/report/svg.mjs')
  const recorded = await read('bench/recorded/result.json')
  const charts = [...toReadmeCharts(JSON.parse(recorded)), ...toPageCharts(JSON.parse(recorded))]

  it('are three: README.md shows the first, docs/performance.md the others', async () => {
    const page = await read('docs/performance.md')
    expect(charts.map(({ name }) => name)).toEqual(['readme-cpu', 'all-cpu', 'all-throughput'])
    expect(await read('README.md')).toContain('](bench/recorded/readme-cpu.svg)')
    for (const { name } of charts.slice(1)) expect(page).toContain(`](../bench/recorded/${name}.svg)`)
  })

  it('of the README has eight bars at most', () => {
    const bars = charts[0]?.groups.flatMap(({ bars }) => bars) ?? []
    expect(bars.length).toBeGreaterThan(0)
    expect(bars.length).toBeLessThanOrEqual(8)
  })

  it.each(charts)('are drawn of what is recorded: $name', async (chart) => {
    expect(await read(`bench/recorded/${chart.name}.svg`)).toBe(toSvg(chart))
  })

  it('are of a run that measured what it says, of a revision without changes', async () => {
    const { command, revision, machine, rounds, scenarios }: Recorded = JSON.parse(recorded)
    expect(command).toMatch(/^npm run bench\b/)
    expect(revision.isDirty).toBe(false)
    expect(machine.node).toMatch(/^24\./)
    const measured = scenarios.flatMap(({ entries }) => entries)
    // The page names those that came after that run.
    const missing =
      /^Not in that run: (.*)\.$/m.exec(await read('docs/performance.md'))?.[1]?.split('; ') ?? []
    const shown = Object.entries(clients).filter(([, { label }]) => !missing.includes(label))
    expect(new Set(measured.map(({ client }) => client))).toEqual(new Set(shown.map(([client]) => client)))
    expect(measured.filter((entry) => entry.rounds.length !== rounds)).toEqual([])
    for (const { name, requests, warmup } of scenarios) {
      const scenario = known.find((one) => one.name === name)
      expect([requests, warmup]).toEqual([scenario?.requests, scenario?.warmup])
    }
  })
})
