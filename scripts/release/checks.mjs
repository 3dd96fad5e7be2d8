/** What has to be true of a checkout that is released. Pure: the facts come from {@link readFacts} of release.mjs. */

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
