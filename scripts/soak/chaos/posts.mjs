/** The POSTs that the origins have counted: none that may be sent once may have come twice. */

/**
 * @typedef {import('./servers.mjs').RealServer} RealServer
 *
 * @typedef {Awaited<ReturnType<typeof import('./servers.mjs').startServers>>} Servers
 */

/** A POST that is sent twice to each server on purpose: a counter that doesn't see it sees nothing. @param {number} index */
const toCheck = (index) => `P-check-${String.fromCharCode(97 + index)}`

/**
 * @param {typeof import('../../../src/index.ts')} dodici @param {'node' | 'wire'} engine @param {number} port
 * @param {(client: InstanceType<typeof import('../../../src/index.ts').Client>) => Promise<void>} use
 */
async function withClient(dodici, engine, port, use) {
  const client = new dodici.Client(`http://127.0.0.1:${port}`, { engine })
  await use(client)
  await client.close()
}

/**
 * Sends what the counters have to find.
 *
 * @param {typeof import('../../../src/index.ts')} dodici @param {'node' | 'wire'} engine @param {Servers} servers
 */
export async function checkCounters(dodici, engine, { servers }) {
  for (const [index, { name, port, counts }] of servers.entries()) {
    if (counts === 'nothing') continue
    await withClient(dodici, engine, port, async (client) => {
      for (const body of [toCheck(index), toCheck(index)]) {
        const response = await client.request({ path: '/soak', method: 'POST', body })
        const text = await response.body.text()
        if (text !== body)
          throw new Error(`${name} has responded to a POST with ${response.statusCode} ${text.slice(0, 100)}`)
      }
    })
  }
}

/**
 * What all origins have counted.
 *
 * @param {typeof import('../../../src/index.ts')} dodici @param {'node' | 'wire'} engine @param {Servers} servers
 * @param {import('../watch.mjs').Watch} watch
 */
export async function tallyPosts(dodici, engine, { servers, tallyOrigin }, watch) {
  const behind = servers.filter(({ counts }) => counts === 'its origin')
  /** @type {[string, import('./servers.mjs').PostTally][]} */
  const tallies = []
  if (behind.length > 0) tallies.push([behind.map(({ name }) => name).join(', '), await tallyOrigin()])
  for (const { name, port, counts } of servers) {
    if (counts !== 'itself') continue
    await withClient(dodici, engine, port, async (client) => {
      const { body } = await client.request({ path: '/tally', method: 'GET' })
      tallies.push([name, /** @type {any} */ (await body.json())])
    })
  }
  const twice = tallies.flatMap(([name, tally]) => tally.twice.map((tag) => ({ name, tag })))
  for (const [index, { name, counts }] of servers.entries()) {
    const isFound = twice.some(({ tag }) => tag === toCheck(index))
    if (counts !== 'nothing' && !isFound)
      watch.violate(`a POST that was sent twice to ${name} was not counted`)
  }
  const wrong = twice.filter(({ tag }) => !servers.some((_, index) => tag === toCheck(index)))
  for (const { name, tag } of wrong) watch.violate(`the POST ${tag} was taken more than once, by ${name}`)
  return { posts: Object.fromEntries(tallies.map(([name, { posts }]) => [name, posts])), twice: wrong.length }
}
