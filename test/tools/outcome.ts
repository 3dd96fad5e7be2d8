/** What a run of the tests says at its end: what was skipped, and why; and for a machine, what passed and what failed. */

import { writeFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import type { SerializedError, UserConsoleLog } from 'vitest'
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'

/** How a helper says which tests it leaves out (`lacks()`, for one): each file says it anew. */
const SKIPPED = /^SKIPPED: .*$/gm

const toFirstLine = (message: string): string => stripVTControlCharacters(message).split('\n', 1)[0] ?? ''

/** The reporter beside Vitest's own. */
export class OutcomeReporter implements Reporter {
  readonly #file: string | undefined
  readonly #reasons = new Set<string>()
  /** The caller has asked for some tests by their names: that the others are left out is no news. */
  #isFiltered = false

  /**
   * @param file gets a first line `passed failed skipped`, and then a line for each failure: a test, a file that can't be loaded, an error
   *   outside of any test. Undefined: none is written.
   */
  constructor(file?: string) {
    this.#file = file
  }

  onInit({ config }: Vitest): void {
    this.#isFiltered = config.testNamePattern !== undefined
  }

  onUserConsoleLog({ content }: UserConsoleLog): void {
    for (const [line] of content.matchAll(SKIPPED)) this.#reasons.add(line.slice('SKIPPED: '.length))
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const skipped = tests.filter((test) => test.result().state === 'skipped')
    const failed = tests.filter((test) => test.result().state === 'failed')
    if (skipped.length > 0 && !this.#isFiltered) this.#tellSkipped(skipped)
    if (this.#file === undefined) return
    const failures = [
      ...failed.map((test) => `${toTitle(test)}: ${toFirstLine(test.result().errors?.[0]?.message ?? '')}`),
      ...modules.flatMap((module) =>
        module.errors().map(({ message }) => `${module.relativeModuleId}: ${toFirstLine(message)}`),
      ),
      ...errors.map(({ message }) => `outside of any test: ${toFirstLine(message)}`),
    ]
    const totals = [tests.length - failed.length - skipped.length, failed.length, skipped.length]
    writeFileSync(this.#file, `${[totals.join(' '), ...failures].join('\n')}\n`)
  }

  #tellSkipped(tests: readonly TestCase[]): void {
    const files = new Map<string, number>()
    for (const test of tests) {
      const result = test.result()
      if (result.state === 'skipped' && result.note !== undefined) this.#reasons.add(result.note)
      files.set(test.module.relativeModuleId, (files.get(test.module.relativeModuleId) ?? 0) + 1)
    }
    const lines = [...files].map(([file, count]) => `  ${file}: ${count}`)
    const reasons = [...this.#reasons].map((reason) => `  ${reason}`)
    console.log(
      [`\nSkipped: ${tests.length} tests, which CI would not accept.`, ...reasons, ...lines, ''].join('\n'),
    )
  }
}

function toTitle(test: TestCase): string {
  return `${test.module.relativeModuleId} [${test.project.name}] › ${test.fullName}`
}
