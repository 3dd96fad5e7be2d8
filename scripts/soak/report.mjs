/** The page of chaos runs: `node scripts/soak/report.mjs docs/chaos.json > docs/chaos.md`. */
import { readState, toPage } from './chaos/record.mjs'

process.stdout.write(toPage(readState(process.argv[2] ?? 'docs/chaos.json')))
