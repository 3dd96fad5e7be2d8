import { existsSync } from 'node:fs'
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
  toBodyFigures(result: unknown): string
  withFigures(page: string, result: unknown, bodies: unknown): string
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

/** They can be recorded by themselves. */
const hasBodies = existsSync(new URL('../../../bench/recorded/bodies.json', import.meta.url))

describe('the figures of docs/performance.md', async () => {
  const { spreadOf } = await loadModule<FigureModule>('bench/report/figures.mjs')
  const { toBodyFigures, toReadmeFigures, withFigures } = await loadModule<Figures>(
    'scripts/readme-figures.mjs',
  )
  const result = JSON.parse(await read('bench/recorded/result.json'))
  const bodies = hasBodies ? JSON.parse(await read('bench/recorded/bodies.json')) : null

  it('are those of the recorded runs', async () => {
    const page = await read('docs/performance.md')
    expect(withFigures(page, result, bodies)).toBe(page)
    expect(page).toContain(toReadmeFigures(result))
    if (hasBodies) expect(page).toContain(toBodyFigures(bodies))
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
    expect(lines).toContainEqual(expect.stringMatching(/^Not in that run: .*h2load \(C\)\.$/))
  })

  it('have the CPU time a MiB of body, in bold where another client is cheaper', () => {
    const toBodies = (...micros: number[]) =>
      ['dodici-wire', 'dodici', 'node-http2', 'undici', 'undici-http1'].map((client, index) =>
        toEntry(client, 'dispatch', micros[index] ?? 0),
      )
    const small = { ...toScenario('get-64k', toBodies(100, 205, 200, 300, 250)), responseBytes: 65_536 }
    const large = {
      ...toScenario('post-1m-tls', toBodies(2080, 1900, 2000, 4000, 3000), true),
      responseBytes: 2 ** 20,
    }
    const lines = toBodyFigures(toResult(small, { ...large, method: 'POST' })).split('\n')
    expect(lines.slice(-2)).toEqual([
      '| GET 64 KiB, h2c | 1.60 | 3.28 | 3.20 | 4.80 | 4.00 | - |',
      '| POST 1 MiB, TLS | 2.08 | 1.90 | 2.00 | 4.00 | 3.00 | - |',
    ])
    const dear = { ...small, entries: toBodies(211, 500, 200, 300, 250) }
    expect(toBodyFigures(toResult(dear)).split('\n').at(-1)).toBe(
      '| GET 64 KiB, h2c | **3.38** | **8.00** | 3.20 | 4.80 | 4.00 | - |',
    )
    expect(lines).toContain('Not in that run: Go net/http.')
  })

  it('go between two marks, and nowhere else', () => {
    expect(() => withFigures('# Dodici', result, null)).toThrow('The page lacks')
  })

  it('of bodies replace what the page has of them', async () => {
    const page = await read('docs/performance.md')
    const next = withFigures(page, result, toResult(toScenario('get-64k', [])))
    const [before, after] = [page, next].map((text) => text.split(/<!-- (?:bodies:|end of bodies).*-->/))
    expect([before?.length, after?.[0], after?.[2]]).toEqual([3, before?.[0], before?.[2]])
    expect(after?.[1]).toContain('Not in that run: dodici (wire); dodici; node:http2')
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

  it.each([
    'result.json',
    ...(hasBodies ? ['bodies.json'] : []),
  ])('are of a run that measured what it says: %s', async (name) => {
    const { command, revision, machine, rounds, scenarios }: Recorded = JSON.parse(
      await read(`bench/recorded/${name}`),
    )
    expect(command).toMatch(/^npm run bench\b/)
    // A revision without changes.
    expect(revision.isDirty).toBe(false)
    expect(machine.node).toMatch(/^24\./)
    expect(scenarios.flatMap(({ entries }) => entries).filter((one) => one.rounds.length !== rounds)).toEqual(
      [],
    )
  })

  it('are of all clients but those that the page names', async () => {
    const { scenarios }: Recorded = JSON.parse(recorded)
    const measured = scenarios.flatMap(({ entries }) => entries)
    // The page names those that came after that run.
    const missing =
      /^Not in that run: (.*)\.$/m.exec(await read('docs/performance.md'))?.[1]?.split('; ') ?? []
    const shown = Object.entries(clients).filter(([, { label }]) => !missing.includes(label))
    expect(new Set(measured.map(({ client }) => client))).toEqual(new Set(shown.map(([client]) => client)))
    for (const { name, requests, warmup } of scenarios) {
      const scenario = known.find((one) => one.name === name)
      expect([requests, warmup]).toEqual([scenario?.requests, scenario?.warmup])
    }
  })
})
