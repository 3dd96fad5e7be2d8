/**
 * Measures clients side by side: interleaved in rounds and turns, each in a fresh process.
 */
import { clientNamed } from './clients/index.mjs'
import { maxStreams, startServer } from './servers.mjs'
import { startContestant } from './turns.mjs'

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
 * @typedef {Plan & { version: string, warmup: number, requests: number, rounds: Measurement[] }} Entry `version`: the
 *   client's; `rounds[i]` of all entries belong together
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

/**
 * How many requests a client gets where no number is given: a slow one fewer, but enough to use each slot twice.
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
  const { method, bodyBytes, responseBytes, pattern, inFlight, connections } = scenario
  const { varies = false, isStreamed = false } = scenario
  const { http1 } = clientNamed(client)
  return {
    ...{ client, api, entry, warmup, requests },
    ...{ origins, caFile, path, file },
    ...{ method, bodyBytes, responseBytes, pattern, inFlight, varies, isStreamed },
    authority: tunnelAuthority,
    // A connection of HTTP/1.1 has one request in flight.
    connections: http1 ? null : connections,
    maxStreams,
  }
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
 * @param {readonly Entry[]} order
 * @param {Setting} setting
 * @param {{ of(client: string): Server }} servers
 * @param {(entry: Entry) => void} tell called before one is started
 */
async function playRound(order, { scenario, node }, servers, tell) {
  /** @type {{ entry: Entry, contestant: import('./turns.mjs').Contestant }[]} */
  const running = []
  /** @type {Entry | undefined} whose fault it is */
  let current
  try {
    for (const entry of order) {
      current = entry
      tell(entry)
      running.push({
        entry,
        contestant: await startContestant(toJob(entry, scenario, servers.of(entry.client)), node),
      })
    }
    const turns = Math.max(...running.map(({ contestant }) => contestant.turns))
    for (let turn = 0; turn < turns; turn++) {
      // There and back: what grows or fades over a round does so for all alike.
      for (const { entry, contestant } of turn % 2 === 0 ? running : running.toReversed()) {
        current = entry
        await contestant.turn(turn)
      }
    }
    for (const { entry, contestant } of running) {
      current = entry
      const measurement = await contestant.end()
      entry.version = measurement.version
      entry.rounds.push(measurement)
    }
  } catch (error) {
    const what = error instanceof Error ? error.message : error
    const end = current === undefined ? null : servers.of(current.client).toEnd()
    const why = end === null ? what : `the server ended with ${end}\n${what}`
    throw new Error(`${scenario.name}, ${current?.label} ${current?.api}: ${why}`)
  } finally {
    await Promise.all(running.map(({ contestant }) => contestant.stop()))
  }
}

/**
 * Another client goes first in every round, with all that is measured of it, so that none always follows the same one.
 *
 * @param {readonly Entry[]} entries
 * @param {number} round
 */
function toOrder(entries, round) {
  const labels = [...new Set(entries.map(({ label }) => label))]
  const first = entries.findIndex(({ label }) => label === labels[round % labels.length])
  return [...entries.slice(first), ...entries.slice(0, first)]
}

/**
 * @param {Setting} setting
 * @returns {Promise<Entry[]>} in the order of the plans
 */
export async function measureEntries(setting) {
  const { scenario, plans, rounds } = setting
  const progress = setting.progress ?? ((line) => process.stderr.write(`${line}\n`))
  const entries = plans.map((plan) => toEntry(plan, setting))
  const servers = await startServers(setting)
  try {
    for (let round = 0; round < rounds; round++) {
      await playRound(toOrder(entries, round), setting, servers, (entry) =>
        progress(`${scenario.name}: round ${round + 1} of ${rounds}, ${entry.label} ${entry.api}`),
      )
    }
  } finally {
    await servers.stop()
  }
  return entries
}
