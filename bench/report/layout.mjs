/** Where everything in a bar chart is, as numbers: no markup, no colours. */
import { fitText, textWidth, wrapText } from './text.mjs'

/**
 * @typedef {'ours' | 'wire' | 'reference' | 'other'} Tone
 * @typedef {'floor' | 'program'} LineTone
 *
 * @typedef {object} Bar
 * @property {string} label
 * @property {Tone} tone
 * @property {number} value
 * @property {{ low: number, high: number } | null} whisker
 * @property {number | null} tail how far a paler piece goes on behind the bar
 * @property {string} text the figure in words
 *
 * @typedef {object} Line what no bar stands for, since it is no client
 * @property {string} label
 * @property {LineTone} tone
 * @property {number} value
 * @property {string} text
 * @property {number | null} group through whose bars it goes, by its index; null: through all
 *
 * @typedef {object} Chart
 * @property {string} name of the file, without its ending
 * @property {string} title
 * @property {string} verdict what it says, in one sentence
 * @property {string} subtitle
 * @property {string} note
 * @property {readonly { heading: string, bars: readonly Bar[] }[]} groups
 * @property {readonly Line[]} lines
 * @property {number | null} reference where a line goes through all bars
 *
 * @typedef {'title' | 'verdict' | 'muted' | 'heading' | 'label' | 'value'} TextKind
 *
 * @typedef {object} Text
 * @property {TextKind} kind
 * @property {number} x
 * @property {number} y of the base line
 * @property {'start' | 'middle' | 'end'} anchor
 * @property {string} text
 *
 * @typedef {object} PlacedBar
 * @property {Tone} tone
 * @property {string} hint
 * @property {number} x
 * @property {number} y
 * @property {number} height
 * @property {number} width
 * @property {number} tailWidth
 * @property {{ x1: number, x2: number } | null} whisker
 *
 * @typedef {object} Layout
 * @property {number} width
 * @property {number} height
 * @property {Text[]} texts
 * @property {PlacedBar[]} bars
 * @property {{ x: number, y1: number, y2: number }[]} grid
 * @property {{ x: number, y1: number, y2: number } | null} reference
 * @property {PlacedLine[]} lines
 *
 * @typedef {{ tone: LineTone, x: number, y1: number, y2: number, swatch: { x1: number, x2: number, y: number } }} PlacedLine `swatch`: its
 *   sample in the legend
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

const ticksFormat = new Intl.NumberFormat('en', { maximumSignificantDigits: 6 })

/**
 * Round steps from 0 to at least `max`.
 *
 * @param {number} max @param {number} steps about how many; never more
 * @returns {number[]}
 */
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
    const distance = width / (ticks.length - 1)
    const widest = Math.max(...ticks.map((tick) => textWidth(ticksFormat.format(tick), FONTS.muted)))
    if (widest + GAP <= distance) return ticks
  }
  return toTicks(max, 1)
}

/** @param {TextKind} kind @param {string} text @param {number} top @returns {Text[]} its lines, from `top` on */
function toLines(kind, text, top) {
  const { line } = FONTS[kind]
  return wrapText(text, WIDTH - 2 * PADDING, FONTS[kind]).map((part, index) => {
    return { kind, x: PADDING, y: top + index * line + line - 6, anchor: 'start', text: part }
  })
}

/** @param {readonly Bar[]} bars @param {readonly number[]} others values that have to have room, too */
function toColumns(bars, others) {
  const labelWidth = Math.min(MAX_LABEL, Math.max(...bars.map(({ label }) => textWidth(label, FONTS.label))))
  const valueWidth = Math.min(MAX_VALUE, Math.max(...bars.map(({ text }) => textWidth(text, FONTS.value))))
  const left = PADDING + labelWidth + GAP
  const right = WIDTH - PADDING - valueWidth - GAP
  const ends = bars.flatMap(({ value, whisker, tail }) => [value, whisker?.high ?? 0, tail ?? 0])
  const ticks = toAxis(Math.max(...ends, ...others), right - left)
  const end = ticks.at(-1) ?? 1
  /** @param {number} value */
  const toWidth = (value) => (Math.max(0, value) / end) * (right - left)
  return { labelWidth, valueWidth, left, ticks, toWidth }
}

/**
 * @param {Bar} bar @param {number} top @param {ReturnType<typeof toColumns>} columns
 * @returns {{ placed: PlacedBar, texts: Text[] }}
 */
function placeBar(bar, top, { labelWidth, valueWidth, left, toWidth }) {
  const { tone, whisker, tail } = bar
  const y = top + (ROW - BAR) / 2
  const baseLine = y + BAR - 3.5
  return {
    placed: {
      tone,
      hint: `${bar.label}: ${bar.text}`,
      x: left,
      y,
      height: BAR,
      width: toWidth(bar.value),
      tailWidth: toWidth(tail ?? 0),
      whisker: whisker && { x1: left + toWidth(whisker.low), x2: left + toWidth(whisker.high) },
    },
    texts: [
      {
        kind: 'label',
        x: left - GAP,
        y: baseLine,
        anchor: 'end',
        text: fitText(bar.label, labelWidth, FONTS.label),
      },
      {
        kind: 'value',
        x: WIDTH - PADDING,
        y: baseLine,
        anchor: 'end',
        text: fitText(bar.text, valueWidth, FONTS.value),
      },
    ],
  }
}

/** @param {Chart} chart with at least one bar @returns {Layout} */
export function layOut({ title, verdict, subtitle, note, groups, lines, reference }) {
  const columns = toColumns(
    groups.flatMap(({ bars }) => bars),
    [reference ?? 0, ...lines.map(({ value }) => value)],
  )
  const { left, ticks, toWidth } = columns
  const texts = toLines('title', title, PADDING - 4)
  texts.push(...toLines('verdict', verdict, (texts.at(-1)?.y ?? PADDING) + 6))
  texts.push(...toLines('muted', subtitle, (texts.at(-1)?.y ?? PADDING) + 6))
  const top = (texts.at(-1)?.y ?? PADDING) + GAP
  /** @type {PlacedBar[]} */
  const bars = []
  /** @type {PlacedLine[]} */
  const placedLines = []
  /**
   * @param {Line} line @param {{ y1: number, y2: number }} reach of its group
   * @param {number} at where its row of the legend begins
   */
  const placeLine = ({ label, tone, value, text }, reach, at) => {
    const swatch = { x1: PADDING, x2: PADDING + SWATCH, y: at + LEGEND_ROW / 2 }
    placedLines.push({ tone, x: left + toWidth(value), ...reach, swatch })
    const words = fitText(`${label}: ${text}`, WIDTH - 2 * PADDING - SWATCH - GAP, FONTS.muted)
    texts.push({
      kind: 'muted',
      x: PADDING + SWATCH + GAP,
      y: at + LEGEND_ROW - 6,
      anchor: 'start',
      text: words,
    })
  }
  let y = top
  for (const [index, group] of groups.entries()) {
    if (group.heading !== '') {
      const text = fitText(group.heading, WIDTH - 2 * PADDING, FONTS.heading)
      texts.push({ kind: 'heading', x: PADDING, y: y + HEADING_ROW - 9, anchor: 'start', text })
      y += HEADING_ROW
    }
    const y1 = y
    for (const bar of group.bars) {
      const { placed, texts: ownTexts } = placeBar(bar, y, columns)
      bars.push(placed)
      texts.push(...ownTexts)
      y += ROW
    }
    const y2 = y
    for (const line of lines.filter(({ group: own }) => own === index)) {
      placeLine(line, { y1, y2 }, y)
      y += LEGEND_ROW
    }
  }
  const bottom = y + 4
  /** @param {number} value */
  const toLine = (value) => ({ x: left + toWidth(value), y1: bars[0]?.y ?? top, y2: bottom })
  const grid = ticks.map(toLine)
  for (const [index, { x }] of grid.entries()) {
    texts.push({
      kind: 'muted',
      x,
      y: bottom + 16,
      anchor: 'middle',
      text: ticksFormat.format(ticks[index] ?? 0),
    })
  }
  let end = bottom + 28
  for (const line of lines.filter(({ group }) => group === null)) {
    placeLine(line, { y1: bars[0]?.y ?? top, y2: bottom }, end)
    end += LEGEND_ROW
  }
  const notes = toLines('muted', note, end)
  texts.push(...notes)
  return {
    width: WIDTH,
    height: (notes.at(-1)?.y ?? bottom + 16) + PADDING - 6,
    texts,
    bars,
    grid,
    reference: reference === null ? null : toLine(reference),
    lines: placedLines,
  }
}
