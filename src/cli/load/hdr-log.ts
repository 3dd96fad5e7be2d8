/**
 * Latencies as an HdrHistogram log: format 1.3, its histogram V2-encoded and compressed. `HistogramLogProcessor` and
 * other tools read such logs, and merge those from several machines.
 *
 * @module
 */

import { deflateSync } from 'node:zlib'
import type { Histogram } from './histogram.ts'

/** The encoding's cookies: V2, and V2 compressed; each with a word size of 1 byte, which V2 always has. */
const V2 = 0x1c849303 | 0x10
const V2_COMPRESSED = 0x1c849304 | 0x10

/** Significant decimal digits: 256 linear steps, and 128 for each power of two, as in {@link Histogram}. */
const DIGITS = 2
const HALF_MAGNITUDE = 7
const HALF = 2 ** HALF_MAGNITUDE

/** The size of the encoding's header, in bytes. */
const HEADER = 40

/** Tools interpret values as nanoseconds. */
const NANOS_PER_MS = 1_000_000

/** In nanoseconds: about 26 days. */
const HIGHEST = 2 ** 51 - 1

/**
 * One interval with all latencies.
 *
 * @param beganAt milliseconds since the epoch
 * @param lasted in milliseconds
 */
export function toHdrLog(histogram: Histogram, beganAt: number, lasted: number): string {
  const max = histogram.toSummary()?.max ?? 0
  const line = ['0.000', (lasted / 1_000).toFixed(3), max.toFixed(6), toEncoded(histogram)].join(',')
  return [
    '#[Histogram log format version 1.3]',
    `#[StartTime: ${(beganAt / 1_000).toFixed(3)} (seconds since epoch), ${new Date(beganAt).toISOString()}]`,
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    `${line}\n`,
  ].join('\n')
}

/** In base64. */
function toEncoded(histogram: Histogram): string {
  const counts = toCounts(histogram)
  const header = Buffer.alloc(HEADER)
  header.writeInt32BE(V2, 0)
  header.writeInt32BE(counts.length, 4)
  // The normalizing offset, at 8, is 0.
  header.writeInt32BE(DIGITS, 12)
  header.writeBigInt64BE(1n, 16)
  header.writeBigInt64BE(BigInt(HIGHEST), 24)
  header.writeDoubleBE(1, 32)
  const compressed = deflateSync(Buffer.concat([header, counts]))
  const prefix = Buffer.alloc(8)
  prefix.writeInt32BE(V2_COMPRESSED, 0)
  prefix.writeInt32BE(compressed.length, 4)
  return Buffer.concat([prefix, compressed]).toString('base64')
}

/** The counts by index up to the last one, as ZigZag LEB128; a run of zeros is written as its negated length. */
function toCounts(histogram: Histogram): Buffer {
  const byIndex = new Map<number, number>()
  for (const [ms, count] of histogram.entries()) {
    const index = toIndex(Math.min(HIGHEST, Math.max(1, Math.round(ms * NANOS_PER_MS))))
    byIndex.set(index, (byIndex.get(index) ?? 0) + count)
  }
  const bytes: number[] = []
  let next = 0
  for (const [index, count] of [...byIndex].sort(([a], [b]) => a - b)) {
    if (index > next) pushZigZag(bytes, next - index)
    pushZigZag(bytes, count)
    next = index + 1
  }
  return Buffer.from(bytes)
}

/**
 * The index of a value's counter.
 *
 * @param value in nanoseconds: a whole number from 1 on
 */
function toIndex(value: number): number {
  // The power of two above the linear range.
  const bucket = Math.max(0, Math.floor(Math.log2(value)) - HALF_MAGNITUDE)
  const step = Math.floor(value / 2 ** bucket)
  return (bucket + 1) * HALF + step - HALF
}

/** @param value a safe integer */
function pushZigZag(bytes: number[], value: number): void {
  let left = value < 0 ? -value * 2 - 1 : value * 2
  while (left >= 0x80) {
    bytes.push((left % 0x80) | 0x80)
    left = Math.floor(left / 0x80)
  }
  bytes.push(left)
}
