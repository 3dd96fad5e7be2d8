/**
 * The real servers of the chaos soak, and the POSTs that their origins have counted: none that may be sent once may have come twice. What
 * can't be started is left out, aloud; with CI=true that is a failure.
 */
import { FETCHES, GRPC_WEIGHTS, WEIGHTS } from '../calls.mjs'
import { askOrigin, KINDS, startOrigin } from '../servers.mjs'

/**
 * @typedef {typeof import('../../../src/index.ts')} Dodici
 * @typedef {'node' | 'wire'} Engine
 * @typedef {Awaited<ReturnType<typeof startServers>>} Servers
 * @typedef {{ posts: number, twice: string[] }} PostTally
 */

/** @param {(line: string) => void} onMissing one that is left out */
export async function startServers(onMissing) {
  const origin = await startOrigin()
  /** @type {(Required<Omit<import('../servers.mjs').Kind, 'recipe'>> & import('../servers.mjs').Started & { name: string })[]} */
  const servers = []
  for (const [name, { recipe, counts, weights, speaksGrpc = false }] of Object.entries(KINDS)) {
    try {
      const all = speaksGrpc ? GRPC_WEIGHTS : { ...WEIGHTS, ...FETCHES, ...weights }
      servers.push({ ...(await recipe(origin.port)), name, counts, weights: all, speaksGrpc })
    } catch (error) {
      onMissing(`${name}: ${error instanceof Error ? error.message : String(error)}`.replaceAll('\n', ' '))
    }
  }
  return {
    servers,
    /** @returns {Promise<PostTally>} */
    tallyOrigin: () => askOrigin(origin.port, '/tally'),
    stop: () => Promise.all([...servers, origin].map((server) => server.stop())),
  }
}

/** A POST that is sent twice to each server on purpose: a counter that doesn't see it sees nothing. @param {number} index */
const toCheck = (index) => `P-check-${String.fromCharCode(97 + index)}`

/**
 * @param {Dodici} dodici @param {Engine} engine @param {number} port
 * @param {(client: InstanceType<Dodici['Client']>) => Promise<void>} use
 */
async function withClient(dodici, engine, port, use) {
  const client = new dodici.Client(`http://127.0.0.1:${port}`, { engine })
  await use(client)
  await client.close()
}

/** Sends what the counters have to find. @param {Dodici} dodici @param {Engine} engine @param {Servers} servers */
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
 * @param {Dodici} dodici @param {Engine} engine @param {Servers} servers @param {import('../watch.mjs').Watch} watch
 */
export async function tallyPosts(dodici, engine, { servers, tallyOrigin }, watch) {
  const behind = servers.filter(({ counts }) => counts === 'its origin')
  /** @type {[string, PostTally][]} */
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
