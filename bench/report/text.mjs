/**
 * What text takes in a chart, for which there is no browser to ask: a little more than it takes in DejaVu Sans, the
 * widest of the fonts that the charts ask for.
 */

/** In ems, of the characters that are narrower than an em. */
const WIDTHS = new Map(
  [
    { characters: "iljI.,:;|!'` ", width: 0.35 },
    { characters: 'frt()[]{}/\\-"·', width: 0.47 },
    { characters: 'abcdeghknopqsuvxyzJEFLSTZ0123456789–_?$µ*', width: 0.66 },
    { characters: 'ABCDGHKNOPQRUVXY+=<>÷×&#~…', width: 0.84 },
  ].flatMap(({ characters, width }) => [...characters].map((character) => [character, width])),
)
/** Of letters of other scripts, and symbols. */
const WIDEST = 1.1
const BOLD = 1.13

/**
 * @typedef {{ size: number, isBold?: boolean }} Font
 *
 * @param {string} text @param {Font} font
 * @returns {number} at most so wide
 */
export function textWidth(text, { size, isBold = false }) {
  const widths = [...text].map((character) => WIDTHS.get(character) ?? (character < '\x7f' ? 1 : WIDEST))
  return widths.reduce((sum, width) => sum + width, 0) * size * (isBold ? BOLD : 1)
}

/**
 * Text that fits, with its middle left out where it must: what names differ in is at their ends.
 *
 * @param {string} text @param {number} width @param {Font} font
 * @returns {string}
 */
export function fitText(text, width, font) {
  if (textWidth(text, font) <= width) return text
  const characters = [...text]
  for (let kept = characters.length - 1; kept > 0; kept--) {
    const head = characters.slice(0, Math.ceil(kept / 2))
    const tail = characters.slice(characters.length - Math.floor(kept / 2))
    const shorter = `${head.join('').trimEnd()}…${tail.join('').trimStart()}`
    if (textWidth(shorter, font) <= width) return shorter
  }
  return '…'
}

/** @param {string} text @param {number} width @param {Font} font @returns {string[]} its lines */
export function wrapText(text, width, font) {
  /** @type {string[]} */
  const lines = []
  let line = ''
  for (const word of text.split(/\s+/).filter((part) => part !== '')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (textWidth(longer, font) <= width) {
      line = longer
    } else {
      if (line !== '') lines.push(line)
      line = fitText(word, width, font)
    }
  }
  if (line !== '') lines.push(line)
  return lines
}
