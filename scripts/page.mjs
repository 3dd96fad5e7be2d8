/** What the pages have in common that the tools write. */

/** @param {readonly (string | number)[]} cells */
const toLine = (cells) => `| ${cells.join(' | ')} |`

/**
 * A table in Markdown.
 *
 * @param {readonly (readonly (string | number)[])[]} rows the first is the head @param {string} align of all columns but the first
 */
export const toTable = ([head = [], ...rows], align = '---') =>
  [head, head.map((_cell, index) => (index === 0 ? '---' : align)), ...rows].map(toLine).join('\n')

/**
 * A record as a file: one line for each entry of its last part, or parts, so that a diff shows what has changed.
 *
 * @param {object} head @param {Record<string, readonly string[]>} parts lines of each, as JSON @param {'[]' | '{}'} brackets around each
 */
export function toFile(head, parts, [open, close]) {
  const sections = Object.entries(parts).map(
    ([name, lines]) => `  "${name}": ${open}\n${lines.map((line) => `    ${line}`).join(',\n')}\n  ${close}`,
  )
  return `${JSON.stringify(head, null, 2).replace(/\n}$/, '')},\n${sections.join(',\n')}\n}\n`
}

/** Where a page has what stands between two marks. @param {string} page @param {string} begin @param {string} end */
function findPart(page, begin, end) {
  const mark = page.indexOf(begin)
  const after = page.indexOf(end, mark)
  if (mark === -1 || after === -1) throw new Error(`The page lacks '${begin}' with '${end}' behind it`)
  return [mark + begin.length, after]
}

/** What a page has between two marks. @param {string} page @param {string} begin @param {string} end */
export const partOf = (page, begin, end) => page.slice(...findPart(page, begin, end))

/** The page with another text there. @param {string} page @param {string} begin @param {string} end @param {string} text */
export function withPart(page, begin, end, text) {
  const [from, to] = findPart(page, begin, end)
  return page.slice(0, from) + text + page.slice(to)
}
