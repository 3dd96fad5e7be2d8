// Usage: node scripts/test-totals.mjs REPORT.json
//
// Prints "passed failed skipped" of one run of the tests, from vitest's JSON report. It counts the tests themselves
// and not the report's totals, which leave a test that skips itself while running out of some of their sums.
import { readFileSync } from 'node:fs'

/** @type {{ testResults: { assertionResults: { status: string }[] }[] }} */
const report = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const totals = { passed: 0, failed: 0, skipped: 0 }

for (const file of report.testResults) {
  for (const { status } of file.assertionResults) {
    // 'pending', 'skipped', 'todo' and 'disabled' all mean that nothing was checked.
    if (status === 'passed' || status === 'failed') totals[status]++
    else totals.skipped++
  }
}

console.log(totals.passed, totals.failed, totals.skipped)
