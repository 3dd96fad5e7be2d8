/**
 * What is measured, as data: a new scenario is a new entry here and nothing else.
 *
 * @typedef {object} Scenario
 * @property {string} name
 * @property {string[]} apis dispatcher APIs to measure; the reference has one of its own, called `stream`
 * @property {string} method
 * @property {number} answerBytes size of the answer's body
 * @property {number} inFlight how many requests are kept in flight
 * @property {number} connections how many connections a client may, and must, use
 * @property {boolean} tls TLS with ALPN, or h2c with prior knowledge
 * @property {number} warmup requests before the clock starts
 * @property {number} requests requests that are timed
 * @property {boolean} byDefault part of a run that names no scenario
 */

/** @type {Scenario} */
const get1k = {
  name: 'get-1k',
  apis: ['dispatch', 'request'],
  method: 'GET',
  answerBytes: 1024,
  inFlight: 100,
  connections: 1,
  tls: false,
  // With less, the just-in-time compiler is still at work, and its threads share the client's core.
  warmup: 15_000,
  requests: 10_000,
  byDefault: true,
}

/** @type {readonly Scenario[]} */
export const scenarios = [
  get1k,
  { ...get1k, name: 'get-1k-tls', tls: true },
  { ...get1k, name: 'get-1k-serial', inFlight: 1, warmup: 10_000, requests: 4000, byDefault: false },
  {
    ...get1k,
    name: 'get-64k',
    answerBytes: 65_536,
    inFlight: 20,
    warmup: 8000,
    requests: 4000,
    byDefault: false,
  },
]
