/**
 * Where docs/upstreams.md has the tables of the simulation.
 *
 * @module
 */

/** The tables, each by the comment that stands before it. */
export const TABLES = { policies: 'npm run upstreams', hedging: 'npm run upstreams: hedging' } as const

/** One of them. */
export type TableName = keyof typeof TABLES

const END = '\n<!-- the end of the table -->'

/** The table that a page has. @throws Error if it has none */
export function findTable(page: string, name: TableName): string {
  const [begin, end] = find(page, name)
  return page.slice(begin, end)
}

/** @throws Error if the page has no such table */
export function replaceTable(page: string, name: TableName, table: string): string {
  const [begin, end] = find(page, name)
  return page.slice(0, begin) + table + page.slice(end)
}

function find(page: string, name: TableName): [begin: number, end: number] {
  const comment = `<!-- ${TABLES[name]} -->\n`
  const before = page.indexOf(comment)
  const end = page.indexOf(END, before)
  if (before === -1 || end === -1) throw new Error(`The page lacks ${comment} or ${END}`)
  return [before + comment.length, end]
}
