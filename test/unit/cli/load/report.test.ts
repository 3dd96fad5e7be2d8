import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { toChart } from '../../../../src/cli/load/chart.ts'
import { toLinearScale, toLogScale } from '../../../../src/cli/load/chart-scale.ts'
import type { LoadSpec } from '../../../../src/cli/load/load-job.ts'
import type { LoadResult } from '../../../../src/cli/load/load-threads.ts'
import { toJsonReport } from '../../../../src/cli/load/report-json.ts'
import { toBytes, toMillis, toTextReport } from '../../../../src/cli/load/report-text.ts'
import { Tally } from '../../../../src/cli/load/tally.ts'
import { checkXml } from '../../../support/clients/xml.ts'

const url = new URL('http://localhost:12080/a?b=c&d=<e>')

const SPEC: LoadSpec = {
  origin: url.origin,
  paths: [url.pathname + url.search],
  address: null,
  method: 'GET',
  headers: [],
  body: null,
  trust: {},
  timeout: 10_000,
  sessions: 2,
  streams: 100,
  workers: 1,
  requests: null,
  duration: 10_000,
  warmUp: 0,
  rate: null,
}

/** 1,000 responses in 10 s: of 1 ms to 1 s since they were due, of 1 ms since they were sent. */
function toTally(isPaced: boolean): Tally {
  const tally = new Tally()
  for (let index = 1; index <= 1_000; index++) {
    tally.latency.record(index)
    if (isPaced) tally.service.record(1)
    tally.series.record(index * 10 - 1)
  }
  tally.statuses[200] = 900
  tally.statuses[503] = 100
  tally.bodyBytes = 5_000_000
  return tally
}

function toResult(changes: Partial<LoadResult> = {}): LoadResult {
  return {
    tally: toTally(false),
    elapsed: 10_000,
    lasted: 10_000,
    inTime: 1_000,
    unsent: 0,
    mostWaiting: 0,
    unfinished: 0,
    sentLate: 0,
    utilization: 0.5,
    bytes: { received: 6_000_000, sent: 20_000 },
    streams: 100,
    isInterrupted: false,
    lostWorkers: [],
    ...changes,
  }
}

describe('the report as text', () => {
  it('has the figures of a closed loop', () => {
    expect(toTextReport(url, SPEC, toResult())).toBe(`GET http://localhost:12080/a?b=c&d=%3Ce%3E
2 sessions of 100 streams, 10.00 s

  Requests/s     100
  Responses      1,000   200: 900   503: 100
  Errors         0
  Bodies         5.0 MB, 500.0 kB/s
  Received       6.0 MB, 600.0 kB/s, header sections and framing included
  Sent           20.0 kB, 2.0 kB/s

  Latency in ms        p50      p90      p99    p99.9      max     mean   stddev
                       501      902      990      998    1,000      501      289`)
  })

  it('has bytes a second by the whole time, as they came also after the last request', () => {
    const text = toTextReport(url, SPEC, toResult({ elapsed: 1_000, lasted: 10_000 }))
    expect(text).toContain('  Bodies         5.0 MB, 500.0 kB/s\n')
    expect(text).toContain('  Received       6.0 MB, 600.0 kB/s, ')
    expect(text).toContain('  Sent           20.0 kB, 2.0 kB/s\n')
  })

  it('of an open loop, has the latencies since due and since sent', () => {
    const text = toTextReport(url, { ...SPEC, rate: 100 }, toResult({ tally: toTally(true), mostWaiting: 1 }))
    expect(text).toContain('2 sessions of 100 streams, 100 requests/s, 10.00 s')
    expect(text).toMatch(/^ {2}since due +501 +902 +990 +998 +1,000 +501 +289$/m)
    expect(text).toMatch(/^ {2}since sent +1\.00 +1\.00 +1\.00 +1\.00 +1\.00 +1\.00 +0\.000$/m)
    expect(text).toContain('At most 1 request waited for a free stream at the same time.')
  })

  it('says what a reader has to know', () => {
    const tally = toTally(false)
    for (let count = 0; count < 3; count++) tally.recordError('UND_ERR_SOCKET')
    const changes = {
      tally,
      streams: 1,
      unsent: 5,
      unfinished: 7,
      isInterrupted: true,
      lostWorkers: ['it\u001b died'],
    }
    const text = toTextReport(url, SPEC, toResult(changes))
    expect(text).toContain('  Errors         3   UND_ERR_SOCKET: 3')
    expect(text).toContain('The server allows 1 stream per session.')
    expect(text).toContain('5 requests still waited at the end: never sent, and not in the latencies.')
    expect(text).toContain('Latencies cover responses only: failed requests have none.')
    expect(text).toContain("Interrupted: 7 requests didn't finish: only the bytes include them.")
    expect(text).toContain('A worker was lost, and its figures are missing: it\\x1b died')
  })

  it('without responses, says so', () => {
    const text = toTextReport(url, SPEC, toResult({ tally: new Tally(), elapsed: 0, inTime: 0 }))
    expect(text).toContain('  Requests/s     0\n')
    expect(text).toContain('No response arrived: there are no latencies.')
  })

  it('has three digits of a duration, and units of bytes', () => {
    expect([0.0123, 1.234, 12.34, 123.4, 1234.5].map(toMillis)).toEqual([
      '0.012',
      '1.23',
      '12.3',
      '123',
      '1,235',
    ])
    expect([0, 999, 1_000, 1_500_000, 2e9, 3e12, 4e15].map(toBytes)).toEqual([
      '0 B',
      '999 B',
      '1.0 kB',
      '1.5 MB',
      '2.0 GB',
      '3.0 TB',
      '4000.0 TB',
    ])
  })
})

describe('the report as JSON', () => {
  it.each([
    { what: 'a closed loop', rate: null, tally: toTally(false) },
    { what: 'an open loop', rate: 100, tally: toTally(true) },
    { what: 'no response', rate: null, tally: new Tally() },
  ])('has all fields of the schema in docs/cli.md, and no other: $what', async ({ rate, tally }) => {
    const page = await readFile(fileURLToPath(new URL('../../../../docs/cli.md', import.meta.url)), 'utf8')
    const [, section = ''] = page.split('### The report as JSON\n')
    const rows = [...(section.split('\n#')[0] ?? '').matchAll(/^\| (`.*?) \| ([^|]*) \|/gm)]
    const types = new Map(
      rows.flatMap(([, names = '', type = '']) =>
        [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, type.split(' or ')] as const),
      ),
    )
    const report: Record<string, unknown> = JSON.parse(
      toJsonReport(url, { ...SPEC, rate }, toResult({ tally })),
    )
    expect(Object.keys(report)).toEqual([...types.keys()])
    for (const [name, value] of Object.entries(report)) expect(types.get(name)).toContain(toType(value))
  })

  it('has the figures', () => {
    const report = JSON.parse(toJsonReport(url, { ...SPEC, rate: 100 }, toResult({ tally: toTally(true) })))
    expect(report).toMatchObject({
      schema: 1,
      seconds: 10,
      secondsToEnd: 10,
      requestsPerSecond: 100,
      statuses: { 200: 900, 503: 100 },
      bytes: { bodies: 5_000_000, received: 6_000_000, sent: 20_000 },
      latency: { min: 1, max: 1_000, mean: 500.5 },
      serviceTime: { min: 1, p50: 1, p90: 1, p99: 1, p999: 1, max: 1 },
      series: { seconds: 0.1, responses: Array.from({ length: 100 }, () => 10) },
    })
  })
})

function toType(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array of strings' : typeof value
}

describe('the chart', () => {
  it.each([
    { what: 'a closed loop', rate: null, result: toResult(), curves: 2 },
    { what: 'an open loop', rate: 100, result: toResult({ tally: toTally(true) }), curves: 3 },
    { what: 'no response', rate: null, result: toResult({ tally: new Tally() }), curves: 0 },
  ])('is an SVG without scripts: $what', ({ rate, result, curves }) => {
    const chart = toChart(url, { ...SPEC, rate }, result)
    expect(checkXml(chart)).toBe('svg')
    expect(chart).not.toMatch(/<script|href|NaN|Infinity/)
    expect(chart).toContain('prefers-color-scheme: dark')
    expect(chart.match(/<polyline/g) ?? []).toHaveLength(curves)
  })

  it('keeps all that it draws on its page', () => {
    const chart = toChart(url, { ...SPEC, rate: 100 }, toResult({ tally: toTally(true) }))
    const points = [...chart.matchAll(/points="([^"]*)"/g)].flatMap(([, list = '']) => list.split(' '))
    expect(points.length).toBeGreaterThan(500)
    for (const point of points) {
      const [x = Number.NaN, y = Number.NaN] = point.split(',').map(Number)
      expect(x >= 70 && x <= 780 && y >= 90 && y <= 620, point).toBe(true)
    }
  })

  it('of a single fast response, has no scale of no height', () => {
    const tally = new Tally()
    tally.latency.record(0)
    tally.series.record(0)
    tally.statuses[200] = 1
    expect(toChart(url, SPEC, toResult({ tally, elapsed: 0, inTime: 1 }))).not.toMatch(/NaN|Infinity/)
  })
})

describe('the scales of the chart', () => {
  it.each([
    { highest: 100, ticks: [0, 50, 100] },
    { highest: 41_234, ticks: [0, 20_000, 40_000, 60_000] },
    { highest: 0.6, ticks: [0, 0.2, 0.4, 0.6] },
    { highest: 0, ticks: [0, 1] },
  ])('from 0 to $highest: round values', ({ highest, ticks }) => {
    const scale = toLinearScale(highest, 0, 100, 4)
    expect(scale.ticks).toEqual(ticks)
    expect(scale.toPixel(scale.ticks.at(-1) ?? 0)).toBeCloseTo(100)
  })

  it.each([
    { lowest: 0.3, highest: 7, ticks: [0.2, 0.5, 1, 2, 5, 10] },
    { lowest: 1, highest: 1, ticks: [1, 2] },
    { lowest: 0.05, highest: 1_001, ticks: [0.1, 1, 10, 100, 1_000] },
  ])('by powers from $lowest to $highest: round values', ({ lowest, highest, ticks }) => {
    const scale = toLogScale(lowest, highest, 100, 0)
    expect(scale.ticks).toEqual(ticks)
    expect(scale.toPixel(lowest)).toBeLessThanOrEqual(100)
    expect(scale.toPixel(highest)).toBeGreaterThanOrEqual(0)
  })
})
