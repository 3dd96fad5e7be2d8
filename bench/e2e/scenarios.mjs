/**
 * What is measured, as data: a new scenario is a new entry here and nothing else.
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
 * @property {boolean} [json] what is sent and what comes back are JSON; missing: they are so many times the letter a
 * @property {boolean} [varies] each request has a path of its own, by a query, and each response a field of its own; missing: all are the same
 * @property {boolean} [isStreamed] the body is a Readable, of unknown length; missing: a Buffer
 * @property {boolean} [largeWindows] the server takes 16 MiB on a stream and on the connection; missing: its defaults, which are 64 KiB
 * @property {'node' | null} server the only kind of server that can respond; null: any
 * @property {string[]} byDefault which of the APIs a run measures that names no scenario; none: it passes it over
 */

/** All that ask for something and get a response. */
const asking = ['dispatch', 'request', 'stream', 'pipeline', 'fetch']

/** @type {Scenario} */
const get1k = {
  name: 'get-1k',
  apis: asking,
  method: 'GET',
  bodyBytes: 0,
  responseBytes: 1024,
  inFlight: 100,
  connections: 1,
  origins: 1,
  tls: false,
  latency: 0,
  pattern: 'steady',
  // With less, the just-in-time compiler is still at work, and its threads share the client's core.
  warmup: 15_000,
  requests: 10_000,
  server: null,
  // All of everything would take an hour.
  byDefault: asking,
}

/** What a run measures only when it is named. @type {Scenario} */
const named = { ...get1k, byDefault: [] }

const post1k = { ...named, name: 'post-1k', method: 'POST', bodyBytes: 1024 }

/** What clients make of the text themselves, by `JSON.stringify()` and `json()`, is measured too. */
const withJson = { apis: ['fetch'], json: true }

/**
 * One at a time: what a request costs when it shares nothing with another, no write and no turn of the event loop.
 *
 * @type {Scenario}
 */
const serial = { ...named, name: 'get-1k-serial', inFlight: 1, warmup: 10_000, requests: 4000 }

const get64k = {
  ...named,
  name: 'get-64k',
  responseBytes: 65_536,
  inFlight: 20,
  warmup: 8000,
  requests: 4000,
}

const post64k = {
  ...post1k,
  name: 'post-64k',
  bodyBytes: 65_536,
  responseBytes: 65_536,
  inFlight: 20,
  warmup: 4000,
  requests: 2000,
}

const post1m = {
  ...post1k,
  name: 'post-1m',
  bodyBytes: 2 ** 20,
  responseBytes: 2 ** 20,
  inFlight: 10,
  warmup: 500,
  requests: 300,
}

/** A Readable is what an API gets as its body; the duplex of `pipeline` is one already. @type {Scenario} */
const post1mReadable = {
  ...post1m,
  name: 'post-1m-readable',
  apis: ['dispatch', 'request', 'stream', 'fetch'],
  isStreamed: true,
}

/** @type {Scenario} */
const tunnel1k = {
  ...post1k,
  name: 'tunnel-1k',
  apis: ['connect', 'upgrade'],
  method: 'CONNECT',
  // nghttpd has neither CONNECT nor extended CONNECT.
  server: 'node',
}

/**
 * As many in flight on one connection, also where the server takes fewer: what is above its limit waits in the client.
 *
 * @type {Scenario[]}
 */
const crowds = [10, 1000, 10_000].map((inFlight) => ({
  ...named,
  name: `get-1k-${inFlight}`,
  inFlight,
  // Each slot is used twice at the least.
  warmup: Math.max(15_000, 2 * inFlight),
  requests: Math.max(10_000, 2 * inFlight),
}))

/** A thousand in flight in all, whether over ten connections or over a thousand. @type {Scenario[]} */
const origins = [10, 100, 1000].map((count) => ({
  ...named,
  name: `get-1k-origins-${count}`,
  origins: count,
  inFlight: 1000,
  // One process for all of them: nghttpd listens on one port.
  server: 'node',
}))

/** A thousand connections with ten in flight on each. @type {Scenario} */
const manyConnections = {
  ...named,
  name: 'get-1k-connections-1000x10',
  origins: 1000,
  inFlight: 10_000,
  warmup: 20_000,
  requests: 20_000,
  server: 'node',
}

/** @type {readonly Scenario[]} */
export const scenarios = [
  get1k,
  { ...get1k, name: 'get-1k-tls', tls: true },
  // A client that remembers header blocks gains nothing here.
  { ...named, name: 'get-1k-varying', varies: true, server: 'node' },
  serial,
  { ...serial, name: 'get-1k-serial-tls', tls: true },
  ...crowds,
  ...origins,
  manyConnections,
  // Most of the time nothing happens, so twice as many in flight: 10,000 requests a second at the most.
  { ...named, name: 'get-1k-latency', latency: 20, inFlight: 200, warmup: 10_000, requests: 8000 },
  // The harness that was published for the work on undici's headers: 80 rounds of 200 requests at once, small
  // responses.
  {
    ...named,
    name: 'rounds-80x200',
    pattern: 'rounds',
    inFlight: 200,
    responseBytes: 64,
    warmup: 80 * 200,
    requests: 80 * 200,
  },
  get64k,
  { ...get64k, name: 'get-64k-tls', tls: true },
  { ...named, name: 'get-1m', responseBytes: 2 ** 20, inFlight: 10, warmup: 500, requests: 300 },
  { ...named, ...withJson, name: 'get-1k-json' },
  post1k,
  { ...post1k, name: 'post-1k-tls', tls: true },
  { ...post1k, ...withJson, name: 'post-1k-json' },
  post64k,
  { ...post64k, name: 'post-64k-tls', tls: true },
  post1m,
  { ...post1m, name: 'post-1m-large-windows', largeWindows: true },
  post1mReadable,
  { ...post1mReadable, name: 'post-1m-readable-large-windows', largeWindows: true },
  tunnel1k,
  { ...tunnel1k, name: 'tunnel-1k-tls', tls: true },
]

/** All APIs that any of them has. */
export const apiNames = [...new Set(scenarios.flatMap(({ apis }) => apis))]

/** @param {string} name @returns {Scenario} */
export function scenarioNamed(name) {
  const scenario = scenarios.find((candidate) => candidate.name === name)
  if (scenario === undefined) throw new Error(`no such scenario: ${name}`)
  return scenario
}
