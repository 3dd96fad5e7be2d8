/**
 * What text takes in a chart, for which there is no browser to ask: a little more than it takes in DejaVu Sans, the
 * widest of the fonts that the charts ask for.
 */

/** In ems. What isn't named here is as wide as the widest letter of its kind. */
const WIDTHS = [
  { characters: "iljI.,:;|!'` ", width: 0.35 },
  { characters: 'frt()[]{}/\\-"·', width: 0.47 },
  { characters: 'abcdeghknopqsuvxyzJEFLSTZ0123456789–_?$µ*', width: 0.66 },
  { characters: 'ABCDGHKNOPQRUVXY+=<>÷×&#~…', width: 0.84 },
].flatMap(({ characters, width }) => [...characters].map((character) => ({ character, width })))
const widthOf = new Map(WIDTHS.map(({ character, width }) => [character, width]))
/** Letters of other scripts, and symbols; the latter come from unknown fonts. */
const WIDEST = 1.1
const SYMBOL = 1.5

const BOLD = 1.13

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * The characters as a reader sees them: an accent or a part of a flag is none by itself.
 *
 * @param {string} text
 * @returns {string[]}
 */
const toCharacters = (text) => [...graphemes.segment(text)].map(({ segment }) => segment)

/** @param {string} character */
function ems(character) {
  const width = widthOf.get(character)
  if (width !== undefined) return width
  if (/^\p{ASCII}$/u.test(character)) return 1
  return /\p{Emoji_Presentation}|[\u{10000}-\u{10ffff}]/u.test(character)
    ? SYMBOL * Math.max(1, [...character].length / 2)
    : WIDEST * [...character].length
}

/**
 * @typedef {object} Font
 * @property {number} size
 * @property {boolean} [isBold]
 *
 * @param {string} text
 * @param {Font} font
 * @returns {number} at most so wide
 */
export function textWidth(text, { size, isBold = false }) {
  const width = toCharacters(text).reduce((sum, character) => sum + ems(character), 0)
  return width * size * (isBold ? BOLD : 1)
}

/**
 * Text that fits, with its middle left out where it must: what names differ in is at their ends.
 *
 * @param {string} text @param {number} width @param {Font} font
 * @returns {string}
 */
export function fitText(text, width, font) {
  if (textWidth(text, font) <= width) return text
  const characters = toCharacters(text)
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
