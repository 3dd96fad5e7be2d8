/** The way of a release: checks, then tests, then the registry. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProblems, hasIdentity, toTag } from './checks.mjs'

/** What has to pass, in this order. */
const STEPS = [
  ['npm', 'run', 'lint'],
  ['npm', 'run', 'typecheck'],
  ['npm', 'run', 'test:all'],
  ['npm', 'run', 'check:package'],
]

const PUBLISH = ['npm', 'publish', '--provenance', '--access', 'public']

/**
 * @typedef {object} Release
 * @property {string} root the checkout
 * @property {readonly string[]} args `--dry-run`: publishes nothing
 * @property {NodeJS.ProcessEnv} env
 * @property {(command: readonly string[]) => boolean} run runs a command in the checkout. Whether it succeeded
 * @property {(line: string) => void} print
 */

/**
 * Publishes the version of a checkout, if everything about it is right and a CI gives this process an identity. Otherwise it
 * says what would happen.
 *
 * @param {Release} release
 * @returns {number} the exit code
 */
export function release({ root, args, env, run, print }) {
  const unknown = args.filter((arg) => arg !== '--dry-run')
  if (unknown.length > 0) {
    print(`There is no argument ${unknown.join(' ')}: there is --dry-run`)
    return 2
  }
  const facts = readFacts(root)
  const problems = findProblems(facts)
  if (problems.length > 0) {
    print(`${facts.version} can't be released:\n${problems.map((problem) => `- ${problem}`).join('\n')}`)
    return 1
  }
  const failed = STEPS.find((step) => !run(step))
  if (failed !== undefined) {
    print(`${facts.version} can't be released: ${failed.join(' ')} has failed`)
    return 1
  }
  const isDry = args.includes('--dry-run')
  if (isDry || !hasIdentity(env)) {
    const why = isDry
      ? '--dry-run was given'
      : "no CI's identity (OIDC) is here, without which there is no provenance"
    print(`Nothing was published: ${why}.\nIt would be: ${PUBLISH.join(' ')}`)
    return 0
  }
  if (!run(PUBLISH)) {
    print(`${facts.version} was not published: npm publish has failed`)
    return 1
  }
  print(`${facts.version} was published. What is left: git tag ${toTag(facts.version)}, and push the tag`)
  return 0
}

/** @param {string} root @returns {import('./checks.mjs').Facts} */
export function readFacts(root) {
  /** @param {...string} args */
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return {
    status: git('status', '--porcelain'),
    branch: git('branch', '--show-current'),
    version,
    tags: git('tag', '--list').split('\n'),
    changelog: readFileSync(join(root, 'CHANGELOG.md'), 'utf8'),
  }
}
