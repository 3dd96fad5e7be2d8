/**
 * What the benchmarks have in common that look at one process after the other: which clients and APIs there are, and one run of a worker.
 */

import { outputOf, start } from './e2e/children.mjs'
import { clientNamed } from './e2e/clients/index.mjs'
import { nodeVersionOf } from './e2e/machine.mjs'
import { UsageError } from './e2e/options.mjs'
import { toPlans, toUsable } from './e2e/plans.mjs'
import { maxStreams } from './e2e/servers.mjs'

/**
 * @typedef {import('./e2e/scenarios.mjs').Scenario} Scenario
 * @typedef {import('./e2e/open-job.mjs').ClientJob} ClientJob
 * @typedef {{ client: string, label: string, api: string }} Row
 */

/**
 * The rows of a table: each client with each of the APIs that it has for these. Those that can't take part are named on standard output.
 *
 * @param {readonly string[]} clients
 * @param {string[]} apis
 * @param {Scenario} scenario
 * @param {string} node
 * @returns {Promise<Row[]>}
 */
export async function toRows(clients, apis, scenario, node) {
  const nodeVersion = nodeVersionOf(node)
  const programs = clients.filter((client) => clientNamed(client).load === undefined)
  if (programs.length > 0) throw new UsageError(`--clients: ${programs.join(', ')} can't be looked into`)
  const usable = await toUsable(clients, nodeVersion, console.log)
  return toPlans({ ...scenario, apis }, usable, { nodeVersion, dodici: null }, console.log)
}

/**
 * @param {Pick<Row, 'client' | 'api'>} row
 * @param {Scenario} scenario
 * @param {import('./e2e/servers.mjs').Server} server
 * @returns {ClientJob}
 */
export function toClientJob({ client, api }, { method, bodyBytes, connections }, { origins, caFile, path }) {
  return {
    ...{ client, api, origins, caFile, path, method, bodyBytes, connections, maxStreams },
    entry: null,
    isStreamed: false,
    authority: '',
  }
}

/**
 * Runs a worker to its end.
 *
 * @param {{ node: string, script: string, job: object, timeout: number, flags?: string[] }} run `timeout` in milliseconds
 * @returns {Promise<unknown>} what it wrote, as JSON
 */
export async function runWorker({ node, script, job, timeout, flags = [] }) {
  return JSON.parse(await outputOf(start('client', node, [...flags, script, JSON.stringify(job)]), timeout))
}
