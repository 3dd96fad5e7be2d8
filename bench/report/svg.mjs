/** A bar chart as SVG that stands by itself: shown by `<img>` it has no style, font or script but its own. */
import { escapeMarkup, FONT_FAMILY, inBoth } from './markup.mjs'
import { fitText, textWidth, wrapText } from './text.mjs'

/**
 * @typedef {'ours' | 'wire' | 'reference' | 'other'} Tone
 * @typedef {'title' | 'verdict' | 'muted' | 'heading' | 'label' | 'value'} TextKind
 *
 * @typedef {object} Bar
 * @property {string} label
 * @property {Tone} tone
 * @property {number} value
 * @property {{ low: number, high: number } | null} whisker
 * @property {string} text the figure in words
 *
 * @typedef {object} Line what no bar stands for, since it is no client
 * @property {string} label
 * @property {'floor' | 'program'} tone
 * @property {number} value
 * @property {string} text
 * @property {number | null} group through whose bars it goes, by its index; null: through all
 *
 * @typedef {object} Chart with at least one bar
 * @property {string} name of the file, without its ending
 * @property {string} title
 * @property {string} verdict what it says, in one sentence; empty: nothing
 * @property {string} subtitle
 * @property {string} note
 * @property {readonly { heading: string, bars: readonly Bar[] }[]} groups
 * @property {readonly Line[]} lines
 * @property {number | null} reference where a line goes through all bars
 */

/** As wide as a README's column: there, 12 pixels are 12 pixels. */
export const WIDTH = 700
const PADDING = 24
const GAP = 14
const MAX_LABEL = 290
const MAX_VALUE = 170
const ROW = 26
const BAR = 16
const HEADING_ROW = 32
const LEGEND_ROW = 20
const SWATCH = 26

/** @type {Readonly<Record<TextKind, import('./text.mjs').Font & { line: number }>>} */
export const FONTS = {
  title: { size: 17, isBold: true, line: 24 },
  verdict: { size: 14, line: 20 },
  muted: { size: 12, line: 18 },
  heading: { size: 13, isBold: true, line: 20 },
  label: { size: 13, line: 20 },
  value: { size: 12, line: 18 },
}

const fonts = Object.entries(FONTS).map(
  ([kind, { size, isBold }]) =>
    `.chart-${kind} { font-size: ${size}px;${isBold === true ? ' font-weight: 700;' : ''} }`,
)

// The panel is part of the picture: a page may be dark while the system that this is asked from says light.
const style = `
.chart text { font-family: ${FONT_FAMILY}; paint-order: stroke; stroke-width: 3px; stroke-linejoin: round; }
${fonts.join('\n')}
.chart-value { font-variant-numeric: tabular-nums; }
.chart-grid { stroke-width: 1; }
.chart-mark { stroke-width: 1.5; stroke-dasharray: 5 4; }
.chart-floor, .chart-program { stroke-width: 2; }
.chart-program { stroke-dasharray: 2 3; }
.chart-whisker { fill: none; stroke-width: 1.5; }
.chart-halo { fill: none; stroke-width: 4; }
${inBoth(
  (colour) => `.chart-panel { fill: ${colour.panel}; stroke: ${colour.line}; }
.chart text { fill: ${colour.ink}; stroke: ${colour.panel}; }
.chart text.chart-muted { fill: ${colour.muted}; }
.chart-grid { stroke: ${colour.line}; }
.chart-mark { stroke: ${colour.reference}; }
.chart-whisker { stroke: ${colour.ink}; }
.chart-halo { stroke: ${colour.panel}; }
.chart-floor { stroke: ${colour.floor}; }
.chart-program { stroke: ${colour.ink}; }
.chart-ours { fill: ${colour.ours}; }
.chart-wire { fill: ${colour.wire}; }
.chart-reference { fill: ${colour.reference}; }
.chart-other { fill: ${colour.other}; }`,
)}
`

const ticksFormat = new Intl.NumberFormat('en', { maximumSignificantDigits: 6 })
const round = (/** @type {number} */ value) => Number(value.toFixed(2))

/** Round steps from 0 to at least `max`. @param {number} max @param {number} steps about how many; never more */
export function toTicks(max, steps) {
  if (!(max > 0)) return [0, 1]
  const least = max / steps
  const power = 10 ** Math.floor(Math.log10(least))
  const factor = [1, 2, 2.5, 5, 10].find((candidate) => candidate * power >= least * (1 - 1e-9)) ?? 10
  // Multiplied and not added up: 0.1 + 0.2 isn't 0.3.
  const count = Math.ceil(max / (factor * power) - 1e-9)
  return Array.from({ length: count + 1 }, (_, index) => Number((index * factor * power).toPrecision(12)))
}

/** As many ticks as have room for their figures side by side. @param {number} max @param {number} width */
function toAxis(max, width) {
  for (let steps = 6; steps > 1; steps--) {
    const ticks = toTicks(max, steps)
    const widest = Math.max(...ticks.map((tick) => textWidth(ticksFormat.format(tick), FONTS.muted)))
    if (widest + GAP <= width / (ticks.length - 1)) return ticks
  }
  return toTicks(max, 1)
}

/** @param {string} kind @param {number} x1 @param {number} x2 @param {number} y1 @param {number} y2 */
const toLine = (kind, x1, x2, y1, y2) =>
  `<line class="chart-${kind}" x1="${round(x1)}" x2="${round(x2)}" y1="${round(y1)}" y2="${round(y2)}"/>`

/** @param {TextKind} kind @param {number} x @param {number} y of the base line @param {string} text @param {string} [anchor] */
const toText = (kind, x, y, text, anchor = 'start') =>
  `<text class="chart-${kind}" x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escapeMarkup(text)}</text>`

/** @param {Bar} bar @param {number} x @param {number} y @param {(value: number) => number} toWidth */
function toBar({ label, text, tone, value, whisker }, x, y, toWidth) {
  const parts = [
    `<rect class="chart-${tone}" x="${round(x)}" y="${round(y)}" width="${round(toWidth(value))}" height="${BAR}" rx="2"/>`,
  ]
  if (whisker !== null) {
    const middle = round(y + BAR / 2)
    const [x1, x2] = [round(x + toWidth(whisker.low)), round(x + toWidth(whisker.high))]
    const path = `M${x1} ${middle - 4}v8M${x2} ${middle - 4}v8M${x1} ${middle}H${x2}`
    parts.push(`<path class="chart-halo" d="${path}"/><path class="chart-whisker" d="${path}"/>`)
  }
  return `<g><title>${escapeMarkup(`${label}: ${text}`)}</title>${parts.join('')}</g>`
}

/** @param {Chart} chart the whole of it in words, for those who can't see it */
function describe({ verdict, subtitle, note, groups, lines }) {
  const figures = groups.map(({ heading, bars }) => {
    const list = bars.map(({ label, text }) => `${label} ${text}`).join('; ')
    return heading === '' ? list : `${heading}: ${list}`
  })
  const bounds = lines.map(({ label, text, group }) => {
    const heading = group === null ? '' : `${groups[group].heading}: `
    return `${heading}${label} ${text}`
  })
  return [verdict.replace(/\.$/, ''), subtitle, ...figures, ...bounds, note].filter(Boolean).join('. ')
}

/** @param {Chart} chart @returns {string} */
export function toSvg(chart) {
  const { name, title, verdict, subtitle, note, groups, lines, reference } = chart
  /** @type {string[]} */
  const texts = []
  /** @type {string[]} */
  const bars = []
  /** @type {string[]} */
  const bounds = []
  let y = PADDING - 4
  /** Its lines, from `y` on. @param {TextKind} kind @param {string} text @param {number} gap */
  const write = (kind, text, gap) => {
    const { line } = FONTS[kind]
    const parts = wrapText(text, WIDTH - 2 * PADDING, FONTS[kind])
    for (const [index, part] of parts.entries())
      texts.push(toText(kind, PADDING, y + index * line + line - 6, part))
    if (parts.length > 0) y += parts.length * line - 6
    y += gap
  }
  write('title', title, 6)
  write('verdict', verdict, 6)
  write('muted', subtitle, GAP)

  const all = groups.flatMap((group) => group.bars)
  const labelWidth = Math.min(MAX_LABEL, Math.max(...all.map(({ label }) => textWidth(label, FONTS.label))))
  const valueWidth = Math.min(MAX_VALUE, Math.max(...all.map(({ text }) => textWidth(text, FONTS.value))))
  const left = PADDING + labelWidth + GAP
  const width = WIDTH - PADDING - valueWidth - GAP - left
  const ends = all.flatMap(({ value, whisker }) => [value, whisker?.high ?? 0])
  const ticks = toAxis(Math.max(...ends, reference ?? 0, ...lines.map(({ value }) => value)), width)
  const toWidth = (/** @type {number} */ value) => (Math.max(0, value) / ticks[ticks.length - 1]) * width

  /** Through its group from `y1` to `y2`, and in the legend at `y`. @param {Line} line @param {number} y1 @param {number} y2 */
  const placeLine = ({ label, tone, value, text }, y1, y2) => {
    const x = left + toWidth(value)
    const middle = y + LEGEND_ROW / 2
    bounds.push(toLine(tone, x, x, y1, y2), toLine(tone, PADDING, PADDING + SWATCH, middle, middle))
    const words = fitText(`${label}: ${text}`, WIDTH - 2 * PADDING - SWATCH - GAP, FONTS.muted)
    texts.push(toText('muted', PADDING + SWATCH + GAP, y + LEGEND_ROW - 6, words))
    y += LEGEND_ROW
  }
  const top = y + (groups[0].heading === '' ? 0 : HEADING_ROW) + (ROW - BAR) / 2
  for (const [index, group] of groups.entries()) {
    if (group.heading !== '') {
      const text = fitText(group.heading, WIDTH - 2 * PADDING, FONTS.heading)
      texts.push(toText('heading', PADDING, y + HEADING_ROW - 9, text))
      y += HEADING_ROW
    }
    const y1 = y
    for (const bar of group.bars) {
      const barTop = y + (ROW - BAR) / 2
      const base = barTop + BAR - 3.5
      bars.push(toBar(bar, left, barTop, toWidth))
      texts.push(toText('label', left - GAP, base, fitText(bar.label, labelWidth, FONTS.label), 'end'))
      texts.push(toText('value', WIDTH - PADDING, base, fitText(bar.text, valueWidth, FONTS.value), 'end'))
      y += ROW
    }
    const y2 = y
    for (const line of lines.filter(({ group: own }) => own === index)) placeLine(line, y1, y2)
  }
  const bottom = y + 4
  const toMark = (/** @type {string} */ kind, /** @type {number} */ value) =>
    toLine(kind, left + toWidth(value), left + toWidth(value), top, bottom)
  for (const tick of ticks)
    texts.push(toText('muted', left + toWidth(tick), bottom + 16, ticksFormat.format(tick), 'middle'))
  y = bottom + 28
  for (const line of lines.filter(({ group }) => group === null)) placeLine(line, top, bottom)
  write('muted', note, PADDING - 6)
  const [titleId, descId] = [`${name}-title`, `${name}-desc`].map(escapeMarkup)
  return `<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="${WIDTH}" height="${round(y)}" viewBox="0 0 ${WIDTH} ${round(y)}" role="img" aria-labelledby="${titleId}" aria-describedby="${descId}">
<title id="${titleId}">${escapeMarkup(title)}</title>
<desc id="${descId}">${escapeMarkup(describe(chart))}</desc>
<style>${style}</style>
<rect class="chart-panel" x="0.5" y="0.5" width="${WIDTH - 1}" height="${round(y - 1)}" rx="8"/>
${ticks.map((tick) => toMark('grid', tick)).join('\n')}
${bars.join('\n')}
${reference === null ? '' : toMark('mark', reference)}
${bounds.join('\n')}
${texts.join('\n')}
</svg>
`
}
