/**
 * Compares an UpstreamPool's choice, ejection and budget with other policies, in virtual time, and one with hedging with one
 * without. Prints the tables of docs/upstreams.md; with `--write` puts them there. With `--seed N` plays with other chances.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { withPart } from './page.mjs'
import { loadModules } from './support.mjs'

const { values } = parseArgs({
  options: { write: { type: 'boolean' }, seed: { type: 'string', default: '1' } },
})
/** @type {typeof import('./upstreams/simulation.ts')} */
const { compareAll, toTable, MARKS } = await loadModules("export * from './upstreams/simulation.ts'")
const path = join(import.meta.dirname, '../docs/upstreams.md')
const compared = compareAll(Number(values.seed))
let page = readFileSync(path, 'utf8')
for (const name of /** @type {const} */ (['policies', 'hedging'])) {
  const table = toTable(compared[name])
  if (values.write) page = withPart(page, ...MARKS[name], table)
  else console.log(`${table}\n`)
}
if (values.write) writeFileSync(path, page)
