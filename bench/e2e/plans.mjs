/** Who takes part in a scenario, and a word about each who can't; and runs of one process after the other. */
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../scripts/options.mjs'
import { outputOf } from '../../scripts/processes.mjs'
import { start } from './children.mjs'
import { clientNamed, clients, ownClients } from './clients/index.mjs'
import { maxStreams, nodeVersionOf } from './servers.mjs'

/**
 * @typedef {import('./scenarios.mjs').Scenario} Scenario
 * @typedef {{ client: string, label: string, api: string }} Row
 */

/** Whom `--dodici` is about. @type {readonly string[]} */
const ours = Object.values(ownClients)

/** @param {string} nodeVersion @param {[number, number]} lowest */
export function isOlder(nodeVersion, [lowestMajor, lowestMinor]) {
  const [major, minor] = nodeVersion.split('.').map(Number)
  return major < lowestMajor || (major === lowestMajor && minor < lowestMinor)
}

/**
 * The clients that run on a Node version, and are installed.
 *
 * @param {readonly string[]} wanted @param {string} nodeVersion @param {(line: string) => void} tell
 */
export async function toUsable(wanted, nodeVersion, tell) {
  const usable = []
  for (const name of wanted) {
    const { label, minNode, loadProgram } = clientNamed(name)
    if (isOlder(nodeVersion, minNode)) {
      tell(`Left out: ${label} needs Node ${minNode.join('.')}, and the clients run on ${nodeVersion}.`)
      continue
    }
    const reason = loadProgram === undefined ? null : (await loadProgram()).whyNot()
    if (reason === null) usable.push(name)
    else tell(`Left out: ${label}, ${reason}.`)
  }
  return usable
}

/**
 * The APIs that a scenario measures, client by client. The reference may have one for several of the scenario's.
 *
 * @param {Scenario} scenario @param {readonly string[]} clientNames
 * @param {{ nodeVersion: string, dodici: string | null }} setting `dodici`: the build of it to measure; null: this package
 * @param {(line: string) => void} tell
 * @returns {import('./measure.mjs').Plan[]}
 */
export function toPlans(scenario, clientNames, { nodeVersion, dodici }, tell) {
  return clientNames.flatMap((client) => {
    const { apiFor, canStream, label, whyNot } = clientNamed(client)
    const own = new Set(scenario.apis.map((api) => apiFor(api, scenario)).filter((api) => api !== null))
    return [...own].flatMap((api) => {
      const reason =
        scenario.isStreamed === true && !canStream
          ? 'which is measured with a Buffer for its body only'
          : whyNot(api, scenario, Number.parseInt(nodeVersion, 10))
      if (reason === null) return [{ client, label, api, entry: ours.includes(client) ? dodici : null }]
      tell(`Left out of ${scenario.name}: ${api} of ${label}, ${reason}.`)
      return []
    })
  })
}

/**
 * The rows of a table: each client with each of the APIs that it has for these. Those that can't take part are named on standard output.
 *
 * @param {import('../../scripts/options.mjs').Options} options `--clients` @param {string[]} fallback clients @param {string[]} apis
 * @param {Scenario} scenario @param {string} node
 * @returns {Promise<Row[]>}
 */
export async function toRows(options, fallback, apis, scenario, node) {
  const names = options.names('clients', Object.keys(clients)) ?? fallback
  const nodeVersion = nodeVersionOf(node)
  const programs = names.filter((client) => clientNamed(client).load === undefined)
  if (programs.length > 0) throw new UsageError(`--clients: ${programs.join(', ')} can't be looked into`)
  const usable = await toUsable(names, nodeVersion, console.log)
  return toPlans({ ...scenario, apis }, usable, { nodeVersion, dodici: null }, console.log)
}

/**
 * @param {Row} row @param {Scenario} scenario @param {import('./servers.mjs').Server} server
 * @returns {import('./job.mjs').ClientJob}
 */
export function toClientJob({ client, api }, scenario, { origins, caFile, path }) {
  const { method, bodyBytes, connections, responseBytes, inFlight } = scenario
  return {
    ...{
      client,
      api,
      origins,
      caFile,
      path,
      method,
      bodyBytes,
      connections,
      maxStreams,
      responseBytes,
      inFlight,
    },
    ...{ entry: null, isStreamed: false, authority: '' },
  }
}

/**
 * Runs a worker to its end.
 *
 * @param {{ node: string, script: string, job: object, timeout: number, flags?: string[] }} run `script`: in bench/; `timeout` in milliseconds
 * @returns {Promise<any>} what it wrote, as JSON
 */
export async function runWorker({ node, script, job, timeout, flags = [] }) {
  const file = fileURLToPath(new URL(`../${script}`, import.meta.url))
  return JSON.parse(await outputOf(start('client', node, [...flags, file, JSON.stringify(job)]), timeout))
}

/**
 * Rounds in which all take turns, there and back.
 *
 * @template T @param {number} rounds @param {readonly T[]} all @param {(one: T) => Promise<void>} play
 */
export async function playRounds(rounds, all, play, what = '') {
  for (let round = 0; round < rounds; round++) {
    process.stderr.write(`${what}round ${round + 1} of ${rounds}\n`)
    for (const one of round % 2 === 0 ? all : all.toReversed()) await play(one)
  }
}
