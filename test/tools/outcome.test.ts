/** What a run of the tests says at its end, and which failures are played again, by small runs of its own. */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'dodici-outcome-'))
afterAll(() => rmSync(folder, { recursive: true }))

const CONFIG = `
import { OutcomeReporter } from ${JSON.stringify(join(root, 'test/tools/outcome.ts'))}
export default { test: { globals: true, include: ['*.case.mjs'], reporters: [new OutcomeReporter('outcome')] } }
`
const TESTS = {
  'one.case.mjs': `
    console.warn('SKIPPED: the tests that need a server. It is not installed.')
    describe('a group', () => {
      it('passes', () => {})
      it('fails', () => { throw new Error('no\\nsuch thing') })
      it.skip('is left out', () => {})
      it('leaves itself out', (context) => context.skip('there is no IPv6'))
    })`,
  'two.case.mjs': `throw new Error('is broken')`,
  'three.case.mjs': `it('loses an error', () => { setTimeout(() => { throw new Error('too late') }); return new Promise((resolve) => setTimeout(resolve, 50)) })`,
}

describe('a run of the tests', () => {
  let output = ''
  beforeAll(() => {
    writeFileSync(join(folder, 'vitest.config.ts'), CONFIG)
    for (const [name, text] of Object.entries(TESTS)) writeFileSync(join(folder, name), text)
    const { CI, TEST_REPORT, ...env } = process.env
    const vitest = join(root, 'node_modules/vitest/vitest.mjs')
    output = spawnSync(process.execPath, [vitest, 'run'], { cwd: folder, env, encoding: 'utf8' }).stdout
  })

  it('says once, at the end, what was skipped and why', () => {
    expect(output.slice(output.indexOf('Skipped:')).trim().split('\n')).toEqual([
      'Skipped: 2 tests, which CI would not accept.',
      '  the tests that need a server. It is not installed.',
      '  there is no IPv6',
      '  one.case.mjs: 2',
    ])
  })

  it('writes its totals and a line for each failure, also of those outside of tests', () => {
    const [totals, ...failures] = readFileSync(join(folder, 'outcome'), 'utf8').trim().split('\n')
    expect(totals).toBe('2 1 2')
    expect(failures.sort()).toEqual([
      'one.case.mjs [] › a group > fails: no',
      'outside of any test: too late',
      'two.case.mjs: is broken',
    ])
  })
})

describe('a file that failed, played again', () => {
  const script = join(root, 'scripts/play-again.sh')
  const runs = join(folder, 'runs')

  /** @param body of the test, which sees how often it has run before as `runs` */
  function playAgain(body: string, failures: readonly string[]): { code: number | null; runs: number } {
    writeFileSync(runs, '')
    writeFileSync(
      join(folder, 'again.case.mjs'),
      `import { appendFileSync, readFileSync } from 'node:fs'
      const file = ${JSON.stringify(runs)}
      const runs = readFileSync(file, 'utf8').length
      appendFileSync(file, '.')
      it('is rare', () => { ${body} })`,
    )
    const report = join(folder, 'report')
    writeFileSync(report, `${[`7 ${failures.length} 0`, ...failures].join('\n')}\n`)
    const { status } = spawnSync(script, [report], { cwd: folder, encoding: 'utf8' })
    return { code: status, runs: readFileSync(runs, 'utf8').length }
  }
  const RARE = 'again.case.mjs [] › is rare: expected 1 to be 2'
  const others = [1, 2, 3].map((index) => `other-${index}.case.mjs [] › fails: no`)

  it.each([
    ['that passes three times passes', '', [RARE], { code: 0, runs: 3 }],
    ['with two failures is played like one', '', [RARE, RARE], { code: 0, runs: 3 }],
    ['that fails again fails', `expect(runs).not.toBe(1)`, [RARE], { code: 1, runs: 2 }],
    ['is not played beside three others', '', [...others, RARE], { code: 1, runs: 0 }],
    [
      'is not played beside an error outside of tests',
      '',
      [RARE, 'outside of any test: too late'],
      { code: 1, runs: 0 },
    ],
    ['that could not be loaded is not played', '', ['again.case.mjs: is broken'], { code: 1, runs: 0 }],
    ['without a failure, after a crash, is not played', '', [], { code: 1, runs: 0 }],
  ])('%s', (_title, body, failures, outcome) => {
    expect(playAgain(body, failures)).toEqual(outcome)
  })
})
