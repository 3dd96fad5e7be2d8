/**
 * The page of chaos runs: `node scripts/soak/report.mjs docs/chaos.json > docs/chaos.md`. Of several files, which runs side by side have
 * written, it is that of their sum, which `--json` prints.
 */

import { parseArgs } from 'node:util'
import { addStates, readState, toPage } from './chaos/record.mjs'

const USAGE = `Usage: node scripts/soak/report.mjs [--json] [--note TEXT]... FILE...

FILE is what \`npm run soak -- --chaos --state FILE\` has written.
  --json       prints the sum of the files as JSON, and not the page
  --note TEXT  a sentence for the page: what a reader has to know of the runs
`

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean' }, note: { type: 'string', multiple: true } },
  allowPositionals: true,
})
if (positionals.length === 0) {
  process.stderr.write(USAGE)
  process.exit(64)
}
const states = positionals.map(readState)
const state = addStates([...states, { ...readState(null), notes: values.note ?? [] }])
process.stdout.write(values.json === true ? `${JSON.stringify(state, null, 1)}\n` : toPage(state))
