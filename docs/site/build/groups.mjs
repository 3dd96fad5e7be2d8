/** Which page is in which group of the sidebar. Within a group the pages have the order of docs/README.md. */

/**
 * The groups, in the order of the sidebar: the paths of pages in the repository. A page of docs/README.md that is in no group, or in two, and
 * a path that isn't on docs/README.md, is an error of the build and of `test/docs/pages/site.test.ts`.
 *
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const GROUPS = {
  Start: [
    'docs/start.md',
    'docs/recipes.md',
    'examples/README.md',
    'docs/comparison.md',
    'docs/migrating.md',
    'docs/migrating-axios.md',
    'docs/migrating-got.md',
    'docs/migrating-http2.md',
    'docs/migrating-grpc.md',
    'docs/questions.md',
  ],
  Use: [
    'docs/api.md',
    'docs/clients.md',
    'docs/bodies.md',
    'docs/fetch.md',
    'docs/websocket.md',
    'docs/integrations.md',
    'docs/grpc.md',
    'docs/tls.md',
    'docs/proxies.md',
    'docs/testing.md',
    'docs/mocking.md',
  ],
  Reliability: [
    'docs/errors.md',
    'docs/timeouts.md',
    'docs/retries.md',
    'docs/connections.md',
    'docs/upstreams.md',
    'docs/security.md',
    'docs/threat-model.md',
    'SECURITY.md',
  ],
  Operate: [
    'docs/engines.md',
    'docs/priorities.md',
    'docs/production.md',
    'docs/failed-requests.md',
    'docs/observability.md',
    'docs/tracing.md',
    'docs/threads.md',
    'docs/runtimes.md',
  ],
  'Look up': ['docs/options.md', 'docs/cli.md', 'docs/differences.md'],
  Evidence: ['docs/performance.md', 'docs/conformance.md', 'docs/faults.md', 'docs/chaos.md'],
  Contribute: [
    'docs/architecture.md',
    'docs/internals/node-http2.md',
    'docs/internals/undici.md',
    'docs/internals/node-streams.md',
    'CONTRIBUTING.md',
  ],
}

/** The page that lists the others. */
export const LIST = 'docs/README.md'

/**
 * @param {string} list the text of docs/README.md
 * @returns {string[]} the paths of the pages that it links to, in its order
 */
export function findPages(list) {
  const links = [...list.matchAll(/\]\(([^)#:]+\.md)\)/g)].map(([, link = '']) => link)
  return [...new Set(links.map((link) => (link.startsWith('../') ? link.slice(3) : `docs/${link}`)))]
}

/**
 * @param {string} list the text of docs/README.md
 * @param {Readonly<Record<string, readonly string[]>>} groups
 * @returns {{ text: string, pages: string[] }[]} the groups, with their pages in the order of that list
 * @throws Error which names each page that is in no group, in several, or not on the list
 */
export function toGroups(list, groups = GROUPS) {
  const pages = findPages(list)
  const grouped = Object.values(groups).flat()
  const wrong = [
    ...pages.filter((page) => !grouped.includes(page)).map((page) => `${page} is in no group`),
    ...grouped.filter((page) => !pages.includes(page)).map((page) => `${page} isn't on ${LIST}`),
    ...grouped
      .filter((page, index) => grouped.indexOf(page) !== index)
      .map((page) => `${page} is in two groups`),
  ]
  if (wrong.length > 0) throw new Error(`docs/site/build/groups.mjs: ${wrong.join('; ')}`)
  return Object.entries(groups).map(([text, members]) => ({
    text,
    pages: pages.filter((page) => members.includes(page)),
  }))
}
