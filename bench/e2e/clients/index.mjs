/**
 * The clients that can be compared. Every adapter module has one shape, so that what the adapter itself costs
 * is small and the same for all of them: callbacks, no promise of its own, no closure beyond what the API
 * demands.
 *
 * @typedef {import('../scenarios.mjs').Scenario} Scenario
 *
 * @typedef {object} Target what a request asks for
 * @property {string | undefined} origin undefined: the one that the client was opened for
 * @property {string} path
 * @property {string} url the whole of it
 * @property {string} method
 * @property {Buffer | null} body what is sent; null: nothing
 * @property {boolean} isStreamed the body is to be sent from a Readable that reads that Buffer (see shapes.mjs)
 * @property {string} authority where a tunnel shall lead to
 *
 * @typedef {object} OpenOptions
 * @property {number} connections to each origin
 * @property {number} maxStreams how many streams the server takes on a connection
 * @property {string | undefined} ca PEM of the certificate to trust
 * @property {string} api the one that will be used: a client loads for it what the others don't need
 * @property {'node' | 'wire'} engine which of its engines a client shall use, where it has several
 * @property {string | null} entry the file of a build to load in place of the installed package; null: that package
 *
 * @typedef {(error: Error | null, status: number, bytes: number) => void} Done called once a request, never
 *   synchronously from inside `start`
 *
 * @typedef {(target: Target, done: Done) => void} Start starts one request
 *
 * @typedef {object} Opened
 * @property {string} version
 * @property {Record<string, Start>} apis by the name of the API
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Adapter of a client in JavaScript: it runs in worker.mjs
 * @property {(origins: readonly string[], options: OpenOptions) => Promise<Opened>} open
 *
 * @typedef {object} Command how another program is run in place of worker.mjs
 * @property {string} file
 * @property {string[]} args
 * @property {(output: string) => import('../worker.mjs').Measurement} read
 *
 * @typedef {object} Program of a client that is another program
 * @property {() => string | null} whyNot why it can't be run here
 * @property {(job: import('../worker.mjs').Job) => Promise<Command>} toCommand
 *
 * @typedef {object} ClientEntry
 * @property {string} label
 * @property {'node' | 'wire'} engine
 * @property {boolean} http1 it is measured against a server that speaks HTTP/1.1, since it can't do better
 * @property {(api: string, scenario: Scenario) => string | null} apiFor its own API that does what a
 *   dispatcher's `api` does; null: it has none
 * @property {(api: string, scenario: Scenario, nodeMajor: number) => string | null} whyNot why that API of its own
 *   can't be measured there; null: it can
 * @property {boolean} canStream its adapter sends a body from a Readable where a scenario asks for it
 * @property {(api: string) => number} pace which part of a scenario's requests it gets: slow ones would take most of a
 *   run's time
 * @property {string[]} pinnedFlags of Node, where the client has one core for all of its threads
 * @property {[number, number]} minNode the lowest Node version (major, minor) that it loads on
 * @property {() => Promise<Adapter>} [load] loaded on demand: a worker must pay for its own client only
 * @property {() => Promise<Program>} [loadProgram]
 */

/** @param {string} api */
const same = (api) => api

/** For clients that have nothing but one way to ask. @param {string} own */
const only = (own) => (/** @type {string} */ api) => (api === own ? own : null)

const slow = () => 0.4

/**
 * For those that send more than a few fields, and all of it at once: above the server's limit it waits in nghttp2.
 *
 * @param {string} _api @param {Scenario} scenario
 */
const outgrowsSession = (_api, { inFlight }) =>
  inFlight > 1000 ? "which runs into node:http2's limit of memory for a session" : null

/**
 * For those that hand all of a body to node:http2: the frames of all that are in flight are in the memory of the session at once.
 *
 * @param {string} _api @param {Scenario} scenario
 */
const outgrowsUploads = (_api, { bodyBytes, inFlight }) =>
  bodyBytes * inFlight > 2 ** 26 ? "which runs into node:http2's limit of memory for a session" : null

/** What an entry has, where it says nothing else. */
const common = {
  engine: /** @type {const} */ ('node'),
  http1: false,
  apiFor: only('request'),
  whyNot: () => null,
  canStream: false,
  pace: () => 1,
  pinnedFlags: /** @type {string[]} */ ([]),
  minNode: /** @type {[number, number]} */ ([20, 18]),
}

/** A bare socket: what the others cost above it is theirs. */
const FLOOR = 'floor'
/** The same with HPACK, which no client can do without. */
const HPACK_FLOOR = 'floor-hpack'

/** What both floors have. */
const floor = {
  ...common,
  // One way to send a request, whatever the API that is held against it.
  apiFor: (/** @type {string} */ api) => (api === 'connect' || api === 'upgrade' ? null : 'frames'),
  // It sends the Buffer itself, whatever others read it by: that is the floor of both.
  canStream: true,
  // V8's helper threads on that core distort the figure of a process with so little to do.
  pinnedFlags: ['--single-threaded-gc'],
}

/** @type {[number, number]} */
const undici8Needs = [22, 19]

/**
 * A request body that is a stream, as pipeline() has it, makes 8.12.4 listen to `data` of the HTTP/2 stream
 * before the response's header is there, so what arrives along with the header is lost. Over TLS with some
 * requests in flight that fails one response in ten.
 *
 * @param {string} api @param {Scenario} scenario
 */
const losesResponses = (api, scenario) =>
  scenario.tls && api === 'pipeline' ? 'which loses data there' : outgrowsUploads(api, scenario)

const dispatchers = () => import('./dispatchers.mjs')
const others = () => import('./others.mjs')
const programs = () => import('./programs.mjs')

/** A program that counts the bytes of a response, as a handler of dispatch() does. */
const program = {
  ...common,
  apiFor: (/** @type {string} */ api) => (api === 'dispatch' || api === 'request' ? 'request' : null),
}

/** What clients of undici's shape have. */
const shaped = { ...common, apiFor: same, canStream: true }
const http1 = { ...common, http1: true, minNode: undici8Needs }

/** @type {Readonly<Record<string, ClientEntry>>} */
export const clients = {
  dodici: { ...shaped, label: 'dodici', load: async () => (await dispatchers()).dodici },
  'dodici-wire': {
    ...shaped,
    label: 'dodici (wire)',
    engine: 'wire',
    load: async () => (await dispatchers()).dodici,
  },
  undici: {
    ...shaped,
    label: 'undici 8',
    whyNot: losesResponses,
    minNode: undici8Needs,
    load: async () => (await dispatchers()).undici,
  },
  'undici-http1': {
    ...http1,
    label: 'undici 8 (HTTP/1.1)',
    apiFor: (api) => (['dispatch', 'request', 'fetch'].includes(api) ? api : null),
    canStream: true,
    load: async () => (await dispatchers()).undiciHttp1,
  },
  'undici-http1-pipelined': {
    ...http1,
    label: 'undici 8 (HTTP/1.1, pipelined)',
    apiFor: (api) => (['dispatch', 'request'].includes(api) ? api : null),
    whyNot: (_, { method }) =>
      method === 'GET' ? null : 'which pipelines no request that is not idempotent',
    load: async () => (await dispatchers()).undiciPipelined,
  },
  [FLOOR]: {
    ...floor,
    label: 'the floor',
    load: async () => (await import('./floor.mjs')).toFloor(FLOOR),
  },
  [HPACK_FLOOR]: {
    ...floor,
    label: 'the floor with HPACK',
    load: async () => (await import('./floor.mjs')).toFloor(HPACK_FLOOR),
  },
  'node-http2': {
    ...common,
    label: 'node:http2 (untuned reference)',
    // It has one way to ask and get a response, whatever the API that it is held against.
    apiFor: (api) => (api === 'connect' || api === 'upgrade' ? api : 'session.request'),
    whyNot: outgrowsUploads,
    canStream: true,
    load: () => import('./node-http2.mjs'),
  },
  'node-fetch-h2': {
    ...common,
    label: "Node's fetch on undici 7's Agent",
    apiFor: only('fetch'),
    load: async () => (await others()).nodeFetchH2,
  },
  'node-fetch': {
    ...common,
    label: "Node's fetch (HTTP/1.1)",
    http1: true,
    apiFor: only('fetch'),
    whyNot: (_, { inFlight }) => (inFlight > 1000 ? 'which would open as many connections' : null),
    load: async () => (await others()).nodeFetch,
  },
  axios: {
    ...common,
    label: 'axios',
    whyNot: outgrowsSession,
    pace: slow,
    load: async () => (await others()).axios,
  },
  got: {
    ...common,
    label: 'got',
    whyNot: (_, { tls }) => (tls ? null : 'which speaks HTTP/2 over TLS only'),
    pace: slow,
    minNode: [22, 0],
    load: async () => (await others()).got,
  },
  'fetch-h2': {
    ...common,
    label: 'fetch-h2',
    apiFor: only('fetch'),
    // It gives the server's address for its name, which Node 26 refuses.
    whyNot: (api, scenario, nodeMajor) =>
      scenario.tls && nodeMajor >= 26
        ? 'which needs an older Node for TLS to an address'
        : outgrowsSession(api, scenario),
    pace: slow,
    load: async () => (await others()).fetchH2,
  },
  'connect-node': { ...common, label: 'connect-node', load: async () => (await others()).connectNode },
  go: { ...program, label: 'Go net/http', loadProgram: async () => (await programs()).go },
  rust: {
    ...program,
    label: 'Rust hyper',
    whyNot(_, { tls, origins, connections }) {
      if (tls) return 'which is measured over h2c only'
      return origins * connections > 1 ? 'which has one connection' : null
    },
    loadProgram: async () => (await programs()).rust,
  },
  h2load: {
    ...common,
    label: 'h2load (C)',
    whyNot(_, { pattern, origins }) {
      if (pattern === 'rounds') return 'which has no rounds'
      return origins > 1 ? 'which asks one origin only' : null
    },
    loadProgram: async () => (await programs()).h2load,
  },
}

/** @param {string} name @returns {ClientEntry} */
export function clientNamed(name) {
  const entry = clients[name]
  if (entry === undefined) throw new Error(`no such client: ${name}`)
  return entry
}

/** The client that the ratios are taken against. */
export const referenceClient = 'node-http2'

/** What no client in JavaScript can be expected to get below: without header fields, and with them. */
export const floorClient = FLOOR
export const hpackFloorClient = HPACK_FLOOR

/** The client that an API of ours is compared with, API by API. */
export const peerClient = 'undici'

/** Ours, by the name of the engine. */
export const ownClients = /** @type {const} */ ({ node: 'dodici', wire: 'dodici-wire' })
