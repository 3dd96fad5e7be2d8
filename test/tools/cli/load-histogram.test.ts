/** What `--hdr` writes, as HdrHistogram's own port to JavaScript reads it. */

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, HistogramLogReader } from 'hdr-histogram-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { toHdrLog } from '../../../src/cli/load/hdr-log.ts'
import { Histogram } from '../../../src/cli/load/histogram.ts'
import { toPercentileText } from '../../../src/cli/load/percentile-text.ts'
import { createFaultServer } from '../../../src/testing/index.ts'
import { runHere } from '../../support/clients/cli-here.ts'

const NANOS_PER_MS = 1e6
const BEGAN = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

/** Durations in milliseconds, each so many times. */
type Durations = readonly (readonly [ms: number, times: number])[]

function toHistogram(durations: Durations): Histogram {
  const histogram = new Histogram()
  for (const [ms, times] of durations) for (let time = 0; time < times; time++) histogram.record(ms)
  return histogram
}

function toUniform(from: number, count: number): Durations {
  return Array.from({ length: count }, (_, index) => [from + index * 0.1, 1])
}

/** The one interval of a log. */
function readLog(text: string) {
  const histogram = new HistogramLogReader(text).nextIntervalHistogram()
  if (histogram === null) throw new Error('the log has no interval')
  return histogram
}

const CASES: readonly (readonly [what: string, durations: Durations])[] = [
  ['one duration', [[1.5, 1]]],
  ['the same one, often', [[0.25, 100_000]]],
  [
    'the shortest and the longest',
    [
      [0.001, 1],
      [1, 1],
      [86_400_000, 1],
    ],
  ],
  ['a uniform distribution', toUniform(0.1, 1_000)],
  [
    'two far apart',
    [
      [0.08, 900],
      [900, 90],
      [60_000, 10],
    ],
  ],
]

describe('the log', () => {
  it.each(CASES)('%s: has each latency, to the precision of two digits', (_what, durations) => {
    const histogram = toHistogram(durations)
    const read = readLog(toHdrLog(histogram, BEGAN, 10_000))
    expect(read.totalCount).toBe(histogram.total)
    for (const share of [0, 0.1, 0.5, 0.9, 0.99, 0.999, 1]) {
      const expected = histogram.percentile(share) * NANOS_PER_MS
      const error = Math.abs(read.getValueAtPercentile(share * 100) - expected)
      expect(error).toBeLessThanOrEqual(Math.max(1, expected * 0.016))
    }
  })

  it('nothing was recorded: has an interval without a count', () => {
    expect(readLog(toHdrLog(new Histogram(), BEGAN, 10_000)).totalCount).toBe(0)
  })

  it('says when the load began, how long it was, and what took longest', () => {
    const text = toHdrLog(
      toHistogram([
        [1.5, 1],
        [12.25, 1],
      ]),
      BEGAN,
      10_250,
    )
    const reader = new HistogramLogReader(text)
    const interval = reader.nextIntervalHistogram()
    expect(reader.startTimeSec).toBe(BEGAN / 1_000)
    expect(interval?.startTimeStampMsec).toBe(BEGAN)
    expect(interval?.endTimeStampMsec).toBe(BEGAN + 10_250)
    expect(text.split('\n')[3]).toMatch(/^0\.000,10\.250,12\.250000,[A-Za-z0-9+/]+=*$/)
    expect(reader.nextIntervalHistogram()).toBeNull()
  })

  it('of two machines: both are merged', () => {
    const merged = readLog(toHdrLog(toHistogram([[1, 900]]), BEGAN, 10_000))
    merged.add(readLog(toHdrLog(toHistogram([[100, 100]]), BEGAN + 5, 10_000)))
    expect(merged.totalCount).toBe(1_000)
    expect(merged.getValueAtPercentile(90) / NANOS_PER_MS).toBeCloseTo(1, 1)
    expect(merged.getValueAtPercentile(91) / NANOS_PER_MS / 100).toBeCloseTo(1, 1)
  })
})

/** The rows of a text of percentiles, and the numbers of what stands below. */
function readRows(text: string) {
  const lines = text.split('\n')
  const rows = lines.filter((line) => /^ *\d/.test(line)).map((line) => line.trim().split(/ +/).map(Number))
  const foot = [...(text.match(/^#.*$/gm) ?? [])].flatMap((line) => line.match(/[\d.]+/g) ?? []).map(Number)
  return { head: lines.slice(0, 2), rows, foot }
}

describe('the text of percentiles', () => {
  it.each(CASES)('%s: has the rows that HdrHistogram writes', (_what, durations) => {
    const peer = build({
      lowestDiscernibleValue: 1,
      highestTrackableValue: 2 ** 51 - 1,
      numberOfSignificantValueDigits: 2,
    })
    for (const [ms, times] of durations) peer.recordValueWithCount(Math.round(ms * NANOS_PER_MS), times)
    const own = readRows(toPercentileText(toHistogram(durations)))
    const theirs = readRows(peer.outputPercentileDistribution(5, NANOS_PER_MS))
    expect(own.head).toEqual(theirs.head)
    expect(own.rows.at(-1)?.slice(1)).toEqual(theirs.rows.at(-1)?.slice(1))
    // Their last bucket holds other durations than the last one here: it may end the rows earlier.
    const rows = theirs.rows.filter(([, , count]) => count !== theirs.rows.at(-1)?.[2])
    for (const [index, [ms = 0, share, count = 0, inverse]] of rows.entries()) {
      const [ownMs = 0, ownShare, ownCount = 0, ownInverse] = own.rows[index] ?? []
      expect([ownShare, ownInverse]).toEqual([share, inverse])
      // They have two digits behind the point.
      expect(Math.abs(ownMs - ms)).toBeLessThanOrEqual(Math.max(0.01, ms * 0.016))
      expect(Math.abs(ownCount / count - 1)).toBeLessThan(0.016)
    }
    for (const [index, number] of own.foot.entries())
      expect(Math.abs(number - (theirs.foot[index] ?? 0))).toBeLessThanOrEqual(Math.max(0.01, number * 0.016))
  })

  it('nothing was recorded: has no row', () => {
    expect(readRows(toPercentileText(new Histogram())).rows).toEqual([])
  })
})

describe('dodici load --hdr', () => {
  it('FILE is a log, FILE.hgrm a text of percentiles', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dodici-hdr-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const server = await createFaultServer({ h2c: true })
    onTestFinished(() => server.close())
    for (const name of ['load.hlog', 'load.hgrm']) {
      const args = ['load', '--json', '-n', '200', '--hdr', join(folder, name), server.origin]
      const { latency } = JSON.parse((await runHere(args)).stdout)
      const text = await readFile(join(folder, name), 'utf8')
      const max =
        name === 'load.hgrm' ? readRows(text).rows.at(-1)?.[0] : readLog(text).maxValue / NANOS_PER_MS
      expect((max ?? 0) / latency.max).toBeCloseTo(1, 1)
    }
  })
})
