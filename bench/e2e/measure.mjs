/**
 * Measures clients side by side, each in a process of its own. All of a round live at once, and take turns, so that a moment in which
 * the machine is slow falls on all of them.
 */
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { linesOf, outputOf, stop } from '../../scripts/processes.mjs'
import { flagsOf, start } from './children.mjs'
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
 *
 * @typedef {object} Contestant
 * @property {number} turns how many it takes
 * @property {(index: number) => Promise<void>} turn
 * @property {() => Promise<Measurement>} end what all of its turns came to
 * @property {() => Promise<void>} stop
 */

/** Turns of a measurement: more would be so short that what a pause costs, cold caches above all, would show. */
const TURNS = 10
/** So many times what is in flight is the least for a turn: at its end, fewer and fewer are. */
const LEAST = 5

const worker = fileURLToPath(new URL('worker.mjs', import.meta.url))

/** @param {Pick<Job, 'requests' | 'inFlight' | 'pattern'>} job @returns {number[]} how many requests each turn has */
export function toTurns({ requests, inFlight, pattern }) {
  const turns = Math.max(1, Math.min(TURNS, Math.floor(requests / (LEAST * inFlight))))
  // No round is cut short.
  const unit = pattern === 'rounds' ? inFlight : 1
  const units = Math.ceil(requests / unit)
  let left = requests
  return Array.from({ length: turns }, (_, turn) => {
    const share = Math.floor((units * (turn + 1)) / turns) - Math.floor((units * turn) / turns)
    const size = Math.min(left, share * unit)
    left -= size
    return size
  })
}

/** A minute on top of a very slow millisecond a request: it ends a hang, and never a measurement. @param {Job} job */
const toLimit = (job) => 60_000 + job.warmup + job.requests

/** @param {Job} job @param {string} node @param {Record<string, string>} env @returns {Promise<Contestant>} warmed up */
async function startWorker(job, node, env) {
  const child = start('client', node, [...flagsOf(job.client), worker, JSON.stringify(job)], env)
  const lines = linesOf(child)
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  // What is written to one that has ended is lost; that it has ended shows in what it doesn't say.
  child.stdin?.on('error', () => {})
  const closed = once(child, 'close')
  const limit = toLimit(job)
  const hear = async () => {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      child.kill('SIGKILL')
    }, limit)
    const { done, value } = await lines.next()
    clearTimeout(timer)
    if (done !== true) return value
    const [code, signal] = await closed
    const how = isLate
      ? `not finished after ${limit / 1000} s`
      : `ended with ${signal ?? `exit code ${code}`}`
    throw new Error(`${how}\n${errors}`)
  }
  const ask = (/** @type {string | number} */ line) => {
    child.stdin?.write(`${line}\n`)
    return hear()
  }
  const sizes = toTurns(job)
  await hear()
  return {
    turns: sizes.length,
    async turn(index) {
      if (index < sizes.length) await ask(sizes[index])
    },
    end: async () => JSON.parse(await ask('end')),
    stop: () => stop(child),
  }
}

/** Another program can't be interrupted: it has one turn. @param {Job} job @param {import('./clients/index.mjs').Program} program @returns {Promise<Contestant>} */
async function startProgram(job, program) {
  const { file, args, read } = await program.toCommand(job)
  /** @type {Measurement | null} */
  let measurement = null
  return {
    turns: 1,
    async turn(index) {
      if (index === 0) measurement = read(await outputOf(start('client', file, args), toLimit(job)))
    },
    async end() {
      if (measurement === null) throw new Error('it had no turn')
      return measurement
    },
    stop: async () => {},
  }
}

/** @param {Job} job @param {string} node the binary that runs a client in JavaScript @returns {Promise<Contestant>} */
async function startContestant(job, node) {
  const { http1, loadProgram } = clientNamed(job.client)
  if (loadProgram !== undefined) return startProgram(job, await loadProgram())
  // Node's fetch has no option for it.
  return startWorker(job, node, http1 && job.caFile !== null ? { NODE_EXTRA_CA_CERTS: job.caFile } : {})
}

/**
 * How many requests a client gets where no number is given: a slow one fewer, but enough to use each slot twice.
 *
 * @param {number} count the scenario's @param {number} pace @param {Scenario} scenario
 */
function paced(count, pace, { inFlight, pattern }) {
  const share = Math.max(Math.ceil(count * pace), Math.min(count, 2 * inFlight))
  // No round is cut short.
  return pattern === 'steady' ? share : Math.ceil(share / inFlight) * inFlight
}

/** @param {Plan} plan @param {Setting} setting @returns {Entry} */
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

/** What a process needs to know to open one client, and to send its requests. @param {Entry} entry @param {Scenario} scenario @param {Server} server */
export function toJob({ client, api, entry, warmup, requests }, scenario, { origins, caFile, path, file }) {
  const { method, bodyBytes, responseBytes, pattern, inFlight, connections } = scenario
  const { varies = false, isStreamed = false } = scenario
  return {
    ...{ client, api, entry, warmup, requests, origins, caFile, path, file },
    ...{ method, bodyBytes, responseBytes, pattern, inFlight, varies, isStreamed },
    // Where tunnels shall lead to: a name that no server looks at.
    authority: 'example.com:443',
    // To each origin; null: as many as the client likes. A connection of HTTP/1.1 has one request in flight.
    connections: clientNamed(client).http1 ? null : connections,
    maxStreams,
  }
}

/**
 * @param {readonly Entry[]} order @param {Setting} setting @param {(client: string) => Server} serverOf
 * @param {(entry: Entry) => void} tell called before one is started
 */
async function playRound(order, { scenario, node }, serverOf, tell) {
  /** @type {{ entry: Entry, contestant: Contestant }[]} */
  const running = []
  /** Whose fault it is. */
  let current = order[0]
  try {
    for (const entry of order) {
      current = entry
      tell(entry)
      const contestant = await startContestant(toJob(entry, scenario, serverOf(entry.client)), node)
      running.push({ entry, contestant })
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
    const end = serverOf(current.client).toEnd()
    const why = end === null ? what : `the server ended with ${end}\n${what}`
    throw new Error(`${scenario.name}, ${current.label} ${current.api}: ${why}`)
  } finally {
    await Promise.all(running.map(({ contestant }) => contestant.stop()))
  }
}

/**
 * Another client goes first in every round, with all that is measured of it, so that none always follows the same one.
 *
 * @param {readonly Entry[]} entries @param {number} round
 */
function toOrder(entries, round) {
  const labels = [...new Set(entries.map(({ label }) => label))]
  const first = entries.findIndex(({ label }) => label === labels[round % labels.length])
  return [...entries.slice(first), ...entries.slice(0, first)]
}

/** @param {Setting} setting @returns {Promise<Entry[]>} in the order of the plans */
export async function measureEntries(setting) {
  const { scenario, plans, rounds, server, node } = setting
  const progress = setting.progress ?? ((line) => process.stderr.write(`${line}\n`))
  const entries = plans.map((plan) => toEntry(plan, setting))
  const isHttp1 = (/** @type {string} */ client) => clientNamed(client).http1
  const http2 = await startServer(scenario, { kind: scenario.server ?? server, node })
  const needsHttp1 = plans.some(({ client }) => isHttp1(client))
  const http1 = needsHttp1 ? await startServer(scenario, { kind: 'http1', node }) : http2
  try {
    for (let round = 0; round < rounds; round++) {
      const order = toOrder(entries, round)
      await playRound(
        order,
        setting,
        (client) => (isHttp1(client) ? http1 : http2),
        ({ label, api }) => progress(`${scenario.name}: round ${round + 1} of ${rounds}, ${label} ${api}`),
      )
    }
  } finally {
    await Promise.all([http2.stop(), http1.stop()])
  }
  return entries
}
