/**
 * Latencies as HdrHistogram's percentile text (`.hgrm`): its plotters draw such files from several runs in one chart.
 *
 * @module
 */

import type { Histogram } from './histogram.ts'

/** Steps between a percentile and the one half as far from 100 %. HdrHistogram's default. */
const TICKS_PER_HALF_DISTANCE = 5

/** HdrHistogram's numbers for two significant digits: how many linear steps, and how many powers of two above them. */
const SUB_BUCKETS = 256
const BUCKETS = 44

/** Above the columns, with the same widths. */
const HEAD = '       Value     Percentile TotalCount 1/(1-Percentile)'

/** In milliseconds, with a row for each percentile on the way to 100 %. */
export function toPercentileText(histogram: Histogram): string {
  const { max = 0, mean = 0, stddev = 0 } = histogram.toSummary() ?? {}
  const total = histogram.total
  return [
    `${HEAD}\n`,
    ...toRows(histogram),
    `#[Mean    = ${toMs(mean)}, StdDeviation   = ${toMs(stddev)}]`,
    `#[Max     = ${toMs(max)}, Total count    = ${`${total}`.padStart(12)}]`,
    `#[Buckets = ${`${BUCKETS}`.padStart(12)}, SubBuckets     = ${`${SUB_BUCKETS}`.padStart(12)}]\n`,
  ].join('\n')
}

function toRows(histogram: Histogram): string[] {
  const { total } = histogram
  const rows: string[] = []
  let seen = 0
  // The least percentage for the next row. In percent, added up as HdrHistogram does, because fractions are rounded.
  let level = 0
  for (const [ms, count] of histogram.entries()) {
    seen += count
    while (level < 100 && (100 * seen) / total >= level) {
      rows.push(toRow(ms, level, seen))
      // All were seen: the last row is the one for 100 %.
      level = seen === total ? 100 : toNext(level)
    }
  }
  const longest = histogram.toSummary()?.max
  if (longest !== undefined) rows.push(toRow(longest, 100, total))
  return rows
}

/** The next percentage on the way to 100: as many ticks again for each half of the distance. */
function toNext(level: number): number {
  const halfDistance = 2 ** (Math.floor(Math.log2(100 / (100 - level))) + 1)
  return level + 100 / (TICKS_PER_HALF_DISTANCE * halfDistance)
}

/** At 100 %, the last column has no number. */
function toRow(ms: number, percentage: number, seen: number): string {
  const row = `${toMs(ms)} ${(percentage / 100).toFixed(12)} ${`${seen}`.padStart(10)}`
  return percentage === 100 ? row : `${row} ${(1 / (1 - percentage / 100)).toFixed(2).padStart(14)}`
}

function toMs(ms: number): string {
  return ms.toFixed(3).padStart(12)
}
