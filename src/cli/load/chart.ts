/**
 * A load's chart: an SVG without scripts, for light and dark screens.
 *
 * @module
 */

import type { Scale } from './chart-scale.ts'
import { toLinearScale, toLogScale } from './chart-scale.ts'
import type { Histogram } from './histogram.ts'
import type { LoadSpec } from './load-job.ts'
import type { LoadResult } from './load-threads.ts'
import { toCount, toResponseRate } from './report-text.ts'

const WIDTH = 800
const HEIGHT = 660
const LEFT = 76
const RIGHT = WIDTH - 28

/** The two plots' edges. */
const LATENCY = { top: 104, bottom: 348 } as const
const RATE = { top: 444, bottom: 604 } as const

/** How many points a curve has. */
const POINTS = 240
/** Log10 of 1 / (1 - share): 6 is 99.9999 %. */
const MAX_NINES = 6
/** A last interval shorter than this fraction of the others says little. */
const MIN_INTERVAL = 0.5

const STYLE = `
  .page { fill: #ffffff } text { fill: #1f2328; font: 13px system-ui, sans-serif }
  .title { font-size: 17px; font-weight: 600 } .head { font-weight: 600 } .muted { fill: #59636e }
  .grid { stroke: #d8dee4; stroke-width: 1 } .curve { fill: none; stroke-width: 2; stroke-linejoin: round }
  .first { stroke: #0969da } .second { stroke: #bc4c00; stroke-dasharray: 6 4 } .area { fill: #0969da; opacity: 0.16 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } text { fill: #f0f6fc } .muted { fill: #9198a1 } .grid { stroke: #3d444d }
    .first { stroke: #4493f8 } .second { stroke: #f0883e } .area { fill: #4493f8 }
  }`

/** A latency curve. */
interface Curve {
  readonly label: string
  readonly style: 'first' | 'second'
  readonly latencies: Histogram
}

/** @returns the SVG, with a line break at its end */
export function toChart(url: URL, spec: LoadSpec, result: LoadResult): string {
  const { tally } = result
  const isPaced = spec.rate !== null
  const curves: Curve[] = [
    { label: isPaced ? 'since it was due' : 'since it was sent', style: 'first', latencies: tally.latency },
  ]
  if (isPaced) curves.push({ label: 'since it was sent', style: 'second', latencies: tally.service })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img"`,
    `  width="${WIDTH}" height="${HEIGHT}">`,
    `<title>${toXml(`Latencies of ${url.href}`)}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" width="${WIDTH}" height="${HEIGHT}"/>`,
    toText(LEFT, 34, toShortened(`${spec.method} ${url.href}`), 'title'),
    toText(LEFT, 56, toSubtitle(spec, result), 'muted'),
    ...(tally.responses === 0 ? [toText(LEFT, 100, 'No response arrived.')] : toPlots(curves, result)),
    '</svg>\n',
  ].join('\n')
}

function toSubtitle({ sessions, workers, rate }: LoadSpec, result: LoadResult): string {
  const { streams, elapsed, tally } = result
  return [
    `${toCount(tally.responses)} responses in ${(elapsed / 1_000).toFixed(1)} s`,
    `${toCount(Math.round(toResponseRate(result)))}/s`,
    `${sessions} × ${streams} at a time`,
    ...(workers > 1 ? [`${workers} workers`] : []),
    ...(rate === null ? [] : [`rate ${toCount(rate)}/s`]),
    `${toCount(tally.failures)} errors`,
  ].join(' · ')
}

function toPlots(curves: readonly Curve[], result: LoadResult): string[] {
  return [
    toText(LEFT, LATENCY.top - 18, 'Latency by percentile, ms', 'head'),
    ...toLegend(curves),
    ...toLatencyPlot(curves),
    toText(LEFT, RATE.top - 18, 'Responses a second, over time', 'head'),
    ...toRatePlot(result),
  ]
}

/** On the right, above the plot; a single curve's title says it. */
function toLegend(curves: readonly Curve[]): string[] {
  if (curves.length === 1) return []
  return curves.flatMap(({ label, style }, index) => {
    const x = RIGHT - (curves.length - index) * 165
    const y = LATENCY.top - 22
    return [
      `<line class="curve ${style}" x1="${x}" y1="${y}" x2="${x + 28}" y2="${y}"/>`,
      toText(x + 36, y + 4, label),
    ]
  })
}

function toLatencyPlot(curves: readonly Curve[]): string[] {
  const all = curves.map(({ latencies }) => latencies)
  const lowest = Math.min(...all.map((latencies) => latencies.percentile(0)))
  const highest = Math.max(...all.map((latencies) => latencies.percentile(1)))
  // A clock may return the same time twice.
  const y = toLogScale(Math.max(lowest, 0.001), Math.max(highest, 0.002), LATENCY.bottom, LATENCY.top)
  const total = Math.max(...all.map((latencies) => latencies.total))
  const nines = Math.min(MAX_NINES, Math.max(1, Math.log10(total)))
  const toX = (nine: number): number => LEFT + ((RIGHT - LEFT) * nine) / nines
  const marks = [0, Math.log10(2), ...Array.from({ length: Math.floor(nines) }, (_, index) => index + 1)]
  return [
    ...toRows(y, toCount),
    ...marks.flatMap((nine) => toColumn(toX(nine), LATENCY, `${toPercent(1 - 10 ** -nine)} %`)),
    ...curves.map(({ latencies, style }) => {
      const points = Array.from({ length: POINTS + 1 }, (_, index) => {
        const nine = (nines * index) / POINTS
        const value = latencies.percentile(index === POINTS ? 1 : 1 - 10 ** -nine)
        return `${toFixed(toX(nine))},${toFixed(y.toPixel(Math.max(value, 0.001)))}`
      })
      return `<polyline class="curve ${style}" points="${points.join(' ')}"/>`
    }),
  ]
}

function toRatePlot({ tally, elapsed }: LoadResult): string[] {
  const steps = toSteps(tally.series.toData(), elapsed)
  const end = Math.max(elapsed, steps.at(-1)?.to ?? 0)
  const x = toLinearScale(end / 1_000, LEFT, RIGHT, 10)
  const toX = (time: number): number => LEFT + ((RIGHT - LEFT) * time) / end
  const y = toLinearScale(Math.max(...steps.map(({ rate }) => rate)), RATE.bottom, RATE.top, 4)
  const points = steps.flatMap(({ from, to, rate }) => {
    const height = toFixed(y.toPixel(rate))
    return [`${toFixed(toX(from))},${height}`, `${toFixed(toX(to))},${height}`]
  })
  const last = toFixed(toX(steps.at(-1)?.to ?? 0))
  const seconds = x.ticks.filter((tick) => tick * 1_000 <= end)
  return [
    ...toRows(y, toCount),
    ...seconds.flatMap((tick) => toColumn(toX(tick * 1_000), RATE, `${tick} s`)),
    `<polygon class="area" points="${LEFT},${RATE.bottom} ${points.join(' ')} ${last},${RATE.bottom}"/>`,
    `<polyline class="curve first" points="${points.join(' ')}"/>`,
  ]
}

/** Responses per second in an interval. Times are in milliseconds. */
interface Step {
  readonly from: number
  readonly to: number
  readonly rate: number
}

/** The intervals in which requests were sent. The last one has its actual length. */
function toSteps(
  series: { readonly width: number; readonly counts: readonly number[] },
  elapsed: number,
): Step[] {
  const { width, counts } = series
  const steps = counts.map((count, index) => {
    const from = index * width
    const to = index === 0 ? Math.min(width, Math.max(elapsed, 1)) : Math.min(from + width, elapsed)
    return { from, to, rate: (count / (to - from)) * 1_000 }
  })
  return steps.filter(({ from, to }, index) => index === 0 || to - from >= width * MIN_INTERVAL)
}

/** The lines and labels for the ticks along a plot's height. */
function toRows(y: Scale, toLabel: (value: number) => string): string[] {
  return y.ticks.flatMap((tick) => {
    const at = toFixed(y.toPixel(tick))
    return [
      `<line class="grid" x1="${LEFT}" y1="${at}" x2="${RIGHT}" y2="${at}"/>`,
      toText(LEFT - 10, Number(at) + 4, toLabel(tick), 'muted', 'end'),
    ]
  })
}

function toColumn(
  x: number,
  plot: { readonly top: number; readonly bottom: number },
  label: string,
): string[] {
  const at = toFixed(x)
  return [
    `<line class="grid" x1="${at}" y1="${plot.top}" x2="${at}" y2="${plot.bottom}"/>`,
    toText(Number(at), plot.bottom + 20, label, 'muted', 'middle'),
  ]
}

function toText(x: number, y: number, text: string, style = '', anchor = 'start'): string {
  const styled = style === '' ? '' : ` class="${style}"`
  return `<text x="${x}" y="${y}"${styled} text-anchor="${anchor}">${toXml(text)}</text>`
}

/** As much as fits in a title. */
function toShortened(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`
}

/** 0.999 is `99.9`. */
function toPercent(share: number): string {
  return String(Number((share * 100).toPrecision(10)))
}

function toFixed(pixel: number): string {
  return String(Math.round(pixel * 10) / 10)
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Without characters that have a meaning in XML, and control characters that it doesn't allow. */
function toXml(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
  const allowed = text.replace(/[\u0000-\u001f\u007f]/g, '')
  return allowed.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character)
}
