/**
 * The page of chaos runs: `node scripts/soak/report.mjs docs/chaos.json > docs/chaos.md`.
 */

import { toPage } from './chaos/page.mjs'
import { readState } from './chaos/record.mjs'

const [file] = process.argv.slice(2)
if (file === undefined) {
  process.stderr.write(
    'Usage: node scripts/soak/report.mjs FILE, which `npm run soak -- --chaos --state FILE` has written\n',
  )
  process.exit(64)
}
process.stdout.write(toPage(readState(file)))
