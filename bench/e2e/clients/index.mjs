/**
 * The clients that can be compared. Every adapter module has one shape, so that what the adapter itself costs
 * is small and the same for all of them: callbacks, no promise of its own, no closure beyond what the API
 * demands.
 *
 * @typedef {import('../scenarios.mjs').Scenario} Scenario
 *
 * @typedef {object} Target what every request of a run asks for
 * @property {string} path
 * @property {string} method
 * @property {Buffer | null} body what is sent; null: nothing
 * @property {string} authority where a tunnel shall lead to
 *
 * @typedef {object} OpenOptions
 * @property {number} connections
 * @property {number} maxStreams a limit on streams that no client of the run ever reaches
 * @property {string | undefined} ca PEM of the certificate to trust
 *
 * @typedef {(error: Error | null, status: number, bytes: number) => void} Done called once a request, never
 *   synchronously from inside `start`
 *
 * @typedef {(target: Target, done: Done) => void} Start starts one request
 *
 * @typedef {object} Opened
 * @property {Record<string, Start>} apis by the name of the API
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Adapter
 * @property {string} version
 * @property {(origin: string, options: OpenOptions) => Promise<Opened>} open
 *
 * @typedef {object} ClientEntry
 * @property {string} label
 * @property {(api: string, scenario: Scenario) => string | null} apiFor its own API that does what a
 *   dispatcher's `api` does; null: it has none that works
 * @property {[number, number]} minNode the lowest Node version (major, minor) that it loads on
 * @property {() => Promise<Adapter>} load loaded on demand: a worker must pay for its own client only
 */

/** @param {string} api */
const same = (api) => api

/** @type {Readonly<Record<string, ClientEntry>>} */
export const clients = {
  dodici: { label: 'dodici', apiFor: same, minNode: [20, 18], load: () => import('./dodici.mjs') },
  undici: {
    label: 'undici 8',
    // A request body that is a stream, as pipeline() has it, makes 8.12.4 listen to `data` of the HTTP/2 stream
    // before the answer's header is there, so what arrives along with the header is lost. Over TLS with some
    // requests in flight that fails one answer in ten.
    apiFor: (api, { tls }) => (tls && api === 'pipeline' ? null : api),
    minNode: [22, 19],
    load: () => import('./undici.mjs'),
  },
  'node-http2': {
    label: 'node:http2 (untuned reference)',
    // It has one way to ask and get an answer, whatever the API that it is held against.
    apiFor: (api) => (api === 'connect' || api === 'upgrade' ? api : 'session.request'),
    minNode: [20, 18],
    load: () => import('./node-http2.mjs'),
  },
}

/**
 * @param {string} name
 * @returns {ClientEntry}
 */
export function clientNamed(name) {
  const entry = clients[name]
  if (entry === undefined) throw new Error(`no such client: ${name}`)
  return entry
}

/** The client that the ratios are taken against. */
export const referenceClient = 'node-http2'

/** The client that an API of ours is compared with, API by API. */
export const peerClient = 'undici'
