/**
 * Where docs/upstreams.md has the table of the simulation.
 *
 * @module
 */

const BEGIN = '<!-- npm run upstreams -->\n'
const END = '\n<!-- the end of the table -->'

/** The table that a page has. @throws Error if it has none */
export function findTable(page: string): string {
  const [begin, end] = find(page)
  return page.slice(begin, end)
}

/** @throws Error if the page has no table */
export function replaceTable(page: string, table: string): string {
  const [begin, end] = find(page)
  return page.slice(0, begin) + table + page.slice(end)
}

function find(page: string): [begin: number, end: number] {
  const [before, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (before === -1 || end === -1) throw new Error(`The page lacks ${BEGIN} or ${END}`)
  return [before + BEGIN.length, end]
}
