/** The way of a release: checks of the checkout, then tests, then the registry. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * @typedef {object} Facts of a checkout
 * @property {string} status of `git status --porcelain`: empty for a clean tree
 * @property {string} branch empty where no branch is checked out
 * @property {string} version of package.json
 * @property {readonly string[]} tags all that the checkout knows
 * @property {string} changelog the text of CHANGELOG.md
 */

/** The branch that releases are made of. */
const BRANCH = 'main'

/** @param {string} version @returns {string} */
export function toTag(version) {
  return `v${version}`
}

/** @param {Facts} facts @returns {string[]} what has to be mended first, a line each */
export function findProblems({ status, branch, version, tags, changelog }) {
  const problems = []
  if (status !== '') problems.push(`the tree isn't clean:\n${status}`)
  if (branch !== BRANCH) {
    problems.push(`releases are made of ${BRANCH}, and not of ${branch === '' ? 'no branch' : branch}`)
  }
  const tag = toTag(version)
  if (tags.includes(tag)) problems.push(`${tag} is tagged already: package.json needs a new version`)
  return [...problems, ...findChangelogProblems(changelog, version)]
}

/** @param {string} changelog @param {string} version @returns {string[]} */
function findChangelogProblems(changelog, version) {
  const problems = []
  const sections = toSections(changelog)
  const unreleased = sections.find(({ title }) => title === '[Unreleased]')
  if (unreleased === undefined) problems.push('CHANGELOG.md has no section [Unreleased]')
  else if (unreleased.text !== '') {
    problems.push(`CHANGELOG.md has entries in [Unreleased]: they belong to [${version}]`)
  }
  const [newest] = sections.filter((section) => section !== unreleased)
  const [, named, date] = /^\[(.+)\] - (\d{4}-\d{2}-\d{2})$/.exec(newest?.title ?? '') ?? []
  if (newest === undefined || named !== version || date === undefined) {
    problems.push(`the newest section of CHANGELOG.md has to be '## [${version}] - YYYY-MM-DD'`)
  } else if (newest.text === '') problems.push(`CHANGELOG.md has nothing in [${version}]`)
  for (const name of ['Unreleased', version]) {
    if (!changelog.includes(`\n[${name}]: https://`)) {
      problems.push(`CHANGELOG.md has no link for [${name}] at its end`)
    }
  }
  return problems
}

/**
 * The sections of a changelog, from the top.
 *
 * @param {string} changelog
 * @returns {{ title: string, text: string }[]} the text without the links at the end
 */
export function toSections(changelog) {
  const [, ...parts] = changelog.replaceAll(/^\[[^\]]+\]: .*$/gm, '').split(/^## /m)
  return parts.map((part) => {
    const [title = '', ...lines] = part.split('\n')
    return { title: title.trim(), text: lines.join('\n').trim() }
  })
}

/** Whether a CI gives this process an identity, which npm's provenance is signed by. @param {NodeJS.ProcessEnv} env */
export function hasIdentity(env) {
  if (env.GITHUB_ACTIONS === 'true') {
    return Boolean(env.ACTIONS_ID_TOKEN_REQUEST_URL && env.ACTIONS_ID_TOKEN_REQUEST_TOKEN)
  }
  return env.GITLAB_CI === 'true' && Boolean(env.SIGSTORE_ID_TOKEN)
}

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

/** @param {string} root @returns {Facts} */
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
