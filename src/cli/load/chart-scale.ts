/**
 * A chart's scales: which value is where, and which values have a label.
 *
 * @module
 */

/** One axis. */
export interface Scale {
  /** A value's position, in pixels. */
  toPixel(value: number): number
  /** Values with a line and a label, in ascending order. */
  readonly ticks: readonly number[]
}

/** The values in a decade that have a label if there is room. */
const STEPS = [1, 2, 5] as const

/** Up to so many decades, all {@link STEPS} have a label; above that, only powers of ten. */
const FEW_DECADES = 3

/** From 0 to a round number that is at least the highest value. */
export function toLinearScale(highest: number, from: number, to: number, count: number): Scale {
  const step = toRoundUp(highest > 0 ? highest / count : 1)
  const steps = Math.max(1, Math.ceil(highest / step - 1e-9))
  const most = step * steps
  return {
    toPixel: (value) => from + ((to - from) * value) / most,
    ticks: Array.from({ length: steps + 1 }, (_, index) => toExact(index * step)),
  }
}

/** From a round number below the lowest value to one above the highest, both of which are above 0. */
export function toLogScale(lowest: number, highest: number, from: number, to: number): Scale {
  const ticks = toLogTicks(lowest, highest)
  const first = Math.log10(ticks[0] ?? lowest)
  const last = Math.log10(ticks.at(-1) ?? highest)
  const isWide = last - first > FEW_DECADES
  return {
    toPixel: (value) => from + ((to - from) * (Math.log10(value) - first)) / (last - first),
    ticks: isWide ? ticks.filter((tick) => Number.isInteger(toExact(Math.log10(tick)))) : ticks,
  }
}

function toLogTicks(lowest: number, highest: number): number[] {
  const ticks: number[] = []
  const most = Math.ceil(Math.log10(highest))
  for (let exponent = Math.floor(Math.log10(lowest)); exponent <= most; exponent++) {
    for (const step of STEPS) ticks.push(toExact(step * 10 ** exponent))
  }
  const first = ticks.findLastIndex((tick) => tick <= lowest)
  const last = ticks.findIndex((tick) => tick >= highest)
  // At least two.
  return ticks.slice(first, Math.max(first + 1, last) + 1)
}

/** 1, 2 or 5 times a power of ten. */
function toRoundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [...STEPS, 10].find((factor) => factor * power >= value - power * 1e-9) ?? 10
  return step * power
}

/** Without the error from adding fractions. */
function toExact(value: number): number {
  return Number(value.toPrecision(12))
}
