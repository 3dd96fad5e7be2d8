/**
 * Runs test files on a line of Node, and says how each test ended.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

/**
 * @typedef {{ file: string, titles: string[], hasPassed: boolean }} Played
 * @typedef {{ name: string, assertionResults: { ancestorTitles: string[], title: string, status: string }[] }} Result of a file
 */

const root = join(import.meta.dirname, '../..')

/** @param {string} major @returns {string} the binary of that line */
export function toBinary(major) {
  const { stdout, status } = spawnSync(join(root, 'scripts/install-node.sh'), [major], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`Node ${major} could not be installed`)
  return stdout.trim()
}

/**
 * @param {string} binary of Node
 * @param {'node' | 'wire'} project of the tests: the engine that is the default there
 * @param {readonly string[]} files
 * @returns {Played[]} one for each test
 */
export function play(binary, project, files) {
  const folder = mkdtempSync(join(tmpdir(), 'dodici-conformance-'))
  const report = join(folder, 'report.json')
  try {
    const args = [
      'run',
      '--project',
      project,
      '--reporter=json',
      `--outputFile=${report}`,
      '--passWithNoTests',
      ...files,
    ]
    // Tests that start `node` get the same line.
    const env = { ...process.env, CI: 'true', PATH: `${dirname(binary)}:${process.env.PATH}` }
    const vitest = join(root, 'node_modules/vitest/vitest.mjs')
    const { status } = spawnSync(binary, [vitest, ...args], {
      cwd: root,
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    /** @type {{ testResults: Result[] }} */
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
    const played = testResults.flatMap(toPlayed)
    // A file that doesn't load, an unhandled error, a crash: no count of tests would show it.
    if (status !== 0 && played.every(({ hasPassed }) => hasPassed)) {
      throw new Error(`The tests of project ${project} ended with ${status}, though no test failed`)
    }
    return played
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** @param {Result} result @returns {Played[]} */
function toPlayed({ name, assertionResults }) {
  const file = relative(root, name)
  return assertionResults.map(({ ancestorTitles, title, status }) => ({
    file,
    titles: [...ancestorTitles, title],
    hasPassed: status === 'passed',
  }))
}
