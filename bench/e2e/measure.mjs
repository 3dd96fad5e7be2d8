/**
 * Measures clients side by side: interleaved in rounds, each in a fresh process.
 */
import { fileURLToPath } from 'node:url'
import { outputOf, start } from './children.mjs'
import { clientNamed } from './clients/index.mjs'
import { maxStreams, startServer } from './servers.mjs'

/**
 * @typedef {import('./scenarios.mjs').Scenario} Scenario
 * @typedef {import('./servers.mjs').Server} Server
 * @typedef {import('./worker.mjs').Job} Job
 * @typedef {import('./worker.mjs').Measurement} Measurement
 *
 * @typedef {object} Plan who is measured: one row of a table
 * @property {string} client a key of clients/index.mjs
 * @property {string} label how the row is called
 * @property {string} api the client's own
 * @property {string | null} entry the file of a build to load in place of the client's package; null: that package
 *
 * @typedef {Plan & { version: string, warmup: number, requests: number, rounds: Measurement[] }} Entry `version`: the client's;
 *   `rounds[i]` of all entries belong together
 *
 * @typedef {object} Setting
 * @property {Scenario} scenario
 * @property {readonly Plan[]} plans
 * @property {number} rounds
 * @property {'nghttpd' | 'node'} server a scenario that needs another one gets that
 * @property {string} node the binary that runs the clients, and the server `node`
 * @property {number | undefined} [requests] timed in a measurement; undefined: the scenario's
 * @property {number | undefined} [warmup] requests before that; undefined: the scenario's
 * @property {(line: string) => void} [progress]
 */

/** Where tunnels shall lead to: a name that no server looks at. */
const tunnelAuthority = 'example.com:443'

const worker = fileURLToPath(new URL('worker.mjs', import.meta.url))

/**
 * How many requests a client gets where nobody says a number: a slow one fewer, but enough to use each slot twice.
 *
 * @param {number} count the scenario's
 * @param {number} pace
 * @param {Scenario} scenario
 * @returns {number}
 */
function paced(count, pace, { inFlight, pattern }) {
  const share = Math.max(Math.ceil(count * pace), Math.min(count, 2 * inFlight))
  // No round is cut short.
  return pattern === 'steady' ? share : Math.ceil(share / inFlight) * inFlight
}

/**
 * @param {Plan} plan
 * @param {Setting} setting
 * @returns {Entry}
 */
function toEntry(plan, { scenario, warmup, requests }) {
  const pace = clientNamed(plan.client).pace(plan.api)
  return {
    ...plan,
    version: '',
    warmup: warmup ?? paced(scenario.warmup, pace, scenario),
    requests: requests ?? paced(scenario.requests, pace, scenario),
    rounds: [],
  }
}

/**
 * @param {Entry} entry
 * @param {Scenario} scenario
 * @param {Server} server
 * @returns {Job}
 */
function toJob({ client, api, entry, warmup, requests }, scenario, { origins, caFile, path, file }) {
  const { method, bodyBytes, answerBytes, pattern, inFlight, connections } = scenario
  const { http1 } = clientNamed(client)
  return {
    ...{ client, api, entry, warmup, requests },
    ...{ origins, caFile, path, file },
    ...{ method, bodyBytes, answerBytes, pattern, inFlight },
    authority: tunnelAuthority,
    // A connection of HTTP/1.1 has one request in flight.
    connections: http1 ? null : connections,
    maxStreams,
  }
}

/**
 * @param {Job} job
 * @param {string} node
 * @returns {Promise<Measurement>}
 */
async function measureOnce(job, node) {
  const { http1, loadProgram } = clientNamed(job.client)
  const { file, args, read } =
    loadProgram === undefined
      ? { file: node, args: [worker, JSON.stringify(job)], read: JSON.parse }
      : await (await loadProgram()).toCommand(job)
  // Node's fetch has no option for it.
  const env = http1 && job.caFile !== null ? { NODE_EXTRA_CA_CERTS: job.caFile } : {}
  // A minute on top of a very slow millisecond a request: it ends a hang, and never a measurement.
  const limit = 60_000 + job.warmup + job.requests
  return read(await outputOf(start('client', file, args, env), limit))
}

/**
 * The server of a scenario, and one that speaks HTTP/1.1 where a client needs it.
 *
 * @param {Setting} setting
 * @returns {Promise<{ of(client: string): Server, stop(): Promise<void> }>}
 */
async function startServers({ scenario, plans, server, node }) {
  const http2 = await startServer(scenario, { kind: scenario.server ?? server, node })
  const needsHttp1 = plans.some(({ client }) => clientNamed(client).http1)
  const http1 = needsHttp1 ? await startServer(scenario, { kind: 'http1', node }) : null
  return {
    of: (client) => (http1 !== null && clientNamed(client).http1 ? http1 : http2),
    async stop() {
      await Promise.all([http2.stop(), http1?.stop()])
    },
  }
}

/**
 * @param {Setting} setting
 * @returns {Promise<Entry[]>} in the order of the plans
 */
export async function measureEntries(setting) {
  const { scenario, plans, rounds, node } = setting
  const progress = setting.progress ?? ((line) => process.stderr.write(`${line}\n`))
  const entries = plans.map((plan) => toEntry(plan, setting))
  const servers = await startServers(setting)
  try {
    for (let round = 0; round < rounds; round++) {
      // Another client goes first in every round, so that none always follows the same one or has the cold
      // machine.
      const first = round % entries.length
      for (const entry of [...entries.slice(first), ...entries.slice(0, first)]) {
        progress(`${scenario.name}: round ${round + 1} of ${rounds}, ${entry.label} ${entry.api}`)
        try {
          const job = toJob(entry, scenario, servers.of(entry.client))
          const measurement = await measureOnce(job, node)
          entry.version = measurement.version
          entry.rounds.push(measurement)
        } catch (error) {
          const what = error instanceof Error ? error.message : error
          throw new Error(`${scenario.name}, ${entry.label} ${entry.api}: ${what}`)
        }
      }
    }
  } finally {
    await servers.stop()
  }
  return entries
}
