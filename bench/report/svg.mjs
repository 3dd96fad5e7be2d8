/** A chart as SVG that stands by itself: shown by `<img>` it has no style, font or script but its own. */
import { FONTS, layOut } from './layout.mjs'
import { escapeMarkup, FONT_FAMILY, inBoth } from './markup.mjs'

/** @typedef {import('./layout.mjs').Chart} Chart */

/** @param {number} value */
const round = (value) => Number(value.toFixed(2))

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
.chart-tail { opacity: 0.35; }
${inBoth(
  ({
    panel,
    ink,
    muted,
    line,
    ours,
    wire,
    reference,
    other,
    floor,
  }) => `.chart-panel { fill: ${panel}; stroke: ${line}; }
.chart text { fill: ${ink}; stroke: ${panel}; }
.chart text.chart-muted { fill: ${muted}; }
.chart-grid { stroke: ${line}; }
.chart-mark { stroke: ${reference}; }
.chart-whisker { stroke: ${ink}; }
.chart-halo { stroke: ${panel}; }
.chart-floor { stroke: ${floor}; }
.chart-program { stroke: ${ink}; }
.chart-ours { fill: ${ours}; }
.chart-wire { fill: ${wire}; }
.chart-reference { fill: ${reference}; }
.chart-other { fill: ${other}; }`,
)}
`

/** @param {{ x: number, y1: number, y2: number }} line @param {string} kind */
const toLine = ({ x, y1, y2 }, kind) =>
  `<line class="chart-${kind}" x1="${round(x)}" x2="${round(x)}" y1="${round(y1)}" y2="${round(y2)}"/>`

/** @param {import('./layout.mjs').PlacedLine} line with its sample in the legend */
function toBound({ tone, swatch, ...line }) {
  const { x1, x2, y } = swatch
  return `${toLine(line, tone)}
<line class="chart-${tone}" x1="${round(x1)}" x2="${round(x2)}" y1="${round(y)}" y2="${round(y)}"/>`
}

/** @param {import('./layout.mjs').Text} text */
const toText = ({ kind, x, y, anchor, text }) =>
  `<text class="chart-${kind}" x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escapeMarkup(text)}</text>`

/** @param {import('./layout.mjs').PlacedBar} bar */
function toBar({ tone, hint, x, y, height, width, tailWidth, whisker }) {
  /** @param {number} length @param {string} kind */
  const rect = (length, kind) =>
    `<rect class="${kind}" x="${round(x)}" y="${round(y)}" width="${round(length)}" height="${height}" rx="2"/>`
  const parts = [rect(width, `chart-${tone}`)]
  if (tailWidth > width) parts.unshift(rect(tailWidth, `chart-${tone} chart-tail`))
  if (whisker !== null) {
    const middle = round(y + height / 2)
    const [x1, x2] = [round(whisker.x1), round(whisker.x2)]
    const path = `M${x1} ${middle - 4}v8M${x2} ${middle - 4}v8M${x1} ${middle}H${x2}`
    parts.push(`<path class="chart-halo" d="${path}"/><path class="chart-whisker" d="${path}"/>`)
  }
  return `<g><title>${escapeMarkup(hint)}</title>${parts.join('')}</g>`
}

/** @param {Chart} chart the whole of it in words, for those who can't see it */
function describe({ verdict, subtitle, note, groups, lines }) {
  const figures = groups.map(({ heading, bars }) => {
    const list = bars.map(({ label, text }) => `${label} ${text}`).join('; ')
    return heading === '' ? list : `${heading}: ${list}`
  })
  const bounds = lines.map(({ label, text, group }) => {
    const heading = group === null ? '' : `${groups[group]?.heading ?? ''}: `
    return `${heading}${label} ${text}`
  })
  return [verdict.replace(/\.$/, ''), subtitle, ...figures, ...bounds, note].join('. ')
}

/** @param {Chart} chart @returns {string} */
export function toSvg(chart) {
  const { width, height, texts, bars, grid, reference, lines } = layOut(chart)
  const [titleId, descId] = [`${chart.name}-title`, `${chart.name}-desc`].map(escapeMarkup)
  return `<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="${width}" height="${round(height)}" viewBox="0 0 ${width} ${round(height)}" role="img" aria-labelledby="${titleId}" aria-describedby="${descId}">
<title id="${titleId}">${escapeMarkup(chart.title)}</title>
<desc id="${descId}">${escapeMarkup(describe(chart))}</desc>
<style>${style}</style>
<rect class="chart-panel" x="0.5" y="0.5" width="${width - 1}" height="${round(height - 1)}" rx="8"/>
${grid.map((line) => toLine(line, 'grid')).join('\n')}
${bars.map(toBar).join('\n')}
${reference === null ? '' : toLine(reference, 'mark')}
${lines.map(toBound).join('\n')}
${texts.map(toText).join('\n')}
</svg>
`
}
