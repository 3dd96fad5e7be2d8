/**
 * What is measured, as data: a new scenario is a new entry here and nothing else.
 *
 * @typedef {object} Scenario
 * @property {string} name
 * @property {string[]} apis dispatcher APIs to measure; the reference has its own (see clients/index.mjs)
 * @property {string} method
 * @property {number} bodyBytes size of what is sent, which the server sends back; 0: nothing is sent
 * @property {number} answerBytes size of what comes back
 * @property {number} inFlight how many requests are kept in flight
 * @property {number} connections how many connections a client may, and must, use
 * @property {boolean} tls TLS with ALPN, or h2c with prior knowledge
 * @property {number} warmup requests before the clock starts
 * @property {number} requests requests that are timed
 * @property {'node' | null} server the one kind of server that can answer; null: any
 * @property {string[]} byDefault which of the APIs a run measures that names no scenario; none: it passes it over
 */

/** @type {Scenario} */
const get1k = {
  name: 'get-1k',
  apis: ['dispatch', 'request', 'stream', 'pipeline'],
  method: 'GET',
  bodyBytes: 0,
  answerBytes: 1024,
  inFlight: 100,
  connections: 1,
  tls: false,
  // With less, the just-in-time compiler is still at work, and its threads share the client's core.
  warmup: 15_000,
  requests: 10_000,
  server: null,
  // All of everything would take half an hour.
  byDefault: ['dispatch', 'request'],
}

/** @type {Scenario} */
const post1k = { ...get1k, name: 'post-1k', method: 'POST', bodyBytes: 1024, byDefault: [] }

/** @type {Scenario} */
const tunnel1k = {
  ...post1k,
  name: 'tunnel-1k',
  apis: ['connect', 'upgrade'],
  method: 'CONNECT',
  // nghttpd has neither CONNECT nor extended CONNECT.
  server: 'node',
}

/** @type {readonly Scenario[]} */
export const scenarios = [
  get1k,
  { ...get1k, name: 'get-1k-tls', tls: true },
  { ...get1k, name: 'get-1k-serial', inFlight: 1, warmup: 10_000, requests: 4000, byDefault: [] },
  {
    ...get1k,
    name: 'get-64k',
    answerBytes: 65_536,
    inFlight: 20,
    warmup: 8000,
    requests: 4000,
    byDefault: [],
  },
  post1k,
  { ...post1k, name: 'post-1k-tls', tls: true },
  tunnel1k,
  { ...tunnel1k, name: 'tunnel-1k-tls', tls: true },
]
