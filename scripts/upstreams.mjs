/**
 * Compares an UpstreamPool's choice, ejection and budget with other policies, in virtual time, and one with hedging with one
 * without. Prints the tables of docs/upstreams.md; with `--write` puts them there. With `--seed N` plays with other chances.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { loadModules } from './support.mjs'

const { values } = parseArgs({
  options: { write: { type: 'boolean' }, seed: { type: 'string', default: '1' } },
})
const { compareAll, toTable, replaceTable } = await loadModules(
  "export * from './upstreams/simulation.ts'; export * from './upstreams/page.ts'",
)
const seed = Number(values.seed)
const { policies, hedging } = compareAll(seed)
const tables = { policies: toTable(policies), hedging: toTable(hedging) }
const path = join(import.meta.dirname, '../docs/upstreams.md')
let page = readFileSync(path, 'utf8')
for (const [name, table] of Object.entries(tables)) {
  if (values.write) page = replaceTable(page, name, table)
  else console.log(`${table}\n`)
}
if (values.write) writeFileSync(path, page)
