/**
 * Compares an UpstreamPool's choice, ejection and budget with other policies, in virtual time, and prints the table of
 * docs/upstreams.md. With `--write` puts the table there. With `--seed N` plays with other chances.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { loadModules } from './support.mjs'

const { values } = parseArgs({
  options: { write: { type: 'boolean' }, seed: { type: 'string', default: '1' } },
})
const { compare, toTable, replaceTable } = await loadModules(
  "export * from './upstreams/simulation.ts'; export * from './upstreams/page.ts'",
)
const table = toTable(compare(Number(values.seed)))
if (values.write) {
  const page = join(import.meta.dirname, '../docs/upstreams.md')
  writeFileSync(page, replaceTable(readFileSync(page, 'utf8'), table))
} else {
  console.log(table)
}
