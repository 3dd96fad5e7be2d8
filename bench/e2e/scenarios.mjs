/**
 * What is measured, as scenarios.json has it: a new scenario is a new entry there and nothing else. What an entry doesn't say is common to all:
 * a GET of 1 KiB, 100 in flight on one connection, over h2c. 15,000 requests warm up: with fewer, the just-in-time compiler is still at
 * work, and its threads share the client's core. Each slot is used twice at the least. Servers are `node` where nghttpd can't respond:
 * it has neither CONNECT nor extended CONNECT, and listens on one port. A run that names no scenario measures two: all would take an hour.
 *
 * @typedef {object} Scenario
 * @property {string} name
 * @property {string[]} apis dispatcher APIs to measure; the reference has its own (see clients/index.mjs)
 * @property {string} method
 * @property {number} bodyBytes size of what is sent, which the server sends back; 0: nothing is sent
 * @property {number} responseBytes size of what comes back
 * @property {number} inFlight how many requests are kept in flight
 * @property {number} connections how many connections to each origin a client may, and must, use
 * @property {number} origins how many origins the requests go to, in turn
 * @property {boolean} tls TLS with ALPN, or h2c with prior knowledge
 * @property {number} latency emulated round trip in milliseconds; 0: none
 * @property {'steady' | 'rounds'} pattern steady: each response starts the next request; rounds: `inFlight` requests at
 *   once, and the next round once all of them have their responses
 * @property {number} warmup requests before the clock starts
 * @property {number} requests requests that are timed
 * @property {boolean} [varies] each request has a path of its own, by a query, and each response a field of its own; missing: all are the same
 * @property {boolean} [isStreamed] the body is a Readable, of unknown length; missing: a Buffer
 * @property {boolean} [largeWindows] the server takes 16 MiB on a stream and on the connection; missing: its defaults, which are 64 KiB
 * @property {'node' | null} server the only kind of server that can respond; null: any
 * @property {string[]} byDefault which of the APIs a run measures that names no scenario; none: it passes it over

 */
import { readFileSync } from 'node:fs'

/** @type {{ common: Omit<Scenario, 'name'>, scenarios: (Partial<Scenario> & { name: string })[] }} */
const data = JSON.parse(readFileSync(new URL('scenarios.json', import.meta.url), 'utf8'))

/** @type {readonly Scenario[]} */
export const scenarios = data.scenarios.map((scenario) => ({ ...data.common, ...scenario }))

/** All APIs that any of them has. */
export const apiNames = [...new Set(scenarios.flatMap(({ apis }) => apis))]

/** @param {string} name @returns {Scenario} */
export function scenarioNamed(name) {
  const scenario = scenarios.find((candidate) => candidate.name === name)
  if (scenario === undefined) throw new Error(`no such scenario: ${name}`)
  return scenario
}
