/**
 * What the fault server does to each client, and what a client may make of it.
 */
import { BAD_FRAMES, BAD_HEADERS, FLOODS, presets } from '../../dist/testing.js'

/**
 * @typedef {import('../../src/testing/index.ts').FaultServer} FaultServer
 * @typedef {import('../../src/testing/index.ts').FaultStream} FaultStream
 * @typedef {import('../../src/testing/index.ts').FaultConnection} FaultConnection
 * @typedef {import('../../src/testing/index.ts').FaultSocket} FaultSocket
 *
 * @typedef {object} Behaviour
 * @property {string} group
 * @property {string} name
 * @property {(server: FaultServer) => void} rules for `POST /fault`, once
 * @property {'error' | 'response' | 'either'} wants how the POST is to end: by an error, as there is no whole response; by the response, as there is
 *   one, or the request may safely be sent again; or by either
 * @property {boolean} [maySendAgain] the server has done nothing about the request, and the client can tell
 * @property {string} [text] the body of the response, where there is one
 * @property {boolean} [endsByTime] only the client's limit of time can end it, or its PINGs
 */

/** @param {(stream: FaultStream, connection: FaultConnection) => unknown} script @returns {(server: FaultServer) => void} */
const once = (script) => (server) => server.onRequest('/fault', script, { times: 1 })

/** Octets of a flood. */
const FLOOD = 8_000_000

/** @type {Behaviour[]} */
const named = [
  ...Object.keys(BAD_FRAMES).map((name) => ({
    group: 'bad frames',
    name,
    rules: once((_stream, connection) => connection.badFrame(/** @type {keyof typeof BAD_FRAMES} */ (name))),
    // The response is whole.
    wants: /** @type {const} */ (name.endsWith('behind END_STREAM') ? 'either' : 'error'),
  })),
  ...Object.keys(BAD_HEADERS).map((name) => ({
    group: 'bad header sections',
    name,
    rules: once((stream) => stream.badHeaders(/** @type {keyof typeof BAD_HEADERS} */ (name))),
    wants: /** @type {const} */ ('error'),
  })),
  .../** @type {const} */ (['references', 'many fields', 'long field']).map((name) => ({
    group: 'header bombs',
    name,
    rules: once((stream) => stream.headerBomb(name)),
    wants: /** @type {const} */ ('either'),
  })),
  ...Object.keys(FLOODS).map((name) => ({
    group: 'floods',
    name,
    rules: once(async (_stream, connection) => {
      await connection.flood(/** @type {keyof typeof FLOODS} */ (name), { bytes: FLOOD })
    }),
    wants: /** @type {const} */ ('error'),
  })),
]

/** @type {Behaviour[]} */
const told = [
  {
    name: 'REFUSED_STREAM',
    rules: (server) => server.refuse(1, '/fault'),
    wants: 'response',
    maySendAgain: true,
    text: 'POST /fault',
  },
  {
    name: 'RST_STREAM before the response',
    rules: once((stream) => stream.reset('INTERNAL_ERROR')),
    wants: 'error',
  },
  {
    name: 'RST_STREAM within the body',
    rules: once(async (stream) => {
      stream.head(200)
      await stream.data('a part')
      stream.reset('CANCEL')
    }),
    wants: 'error',
  },
  { name: 'no response', rules: once(() => {}), wants: 'error', endsByTime: true },
  {
    name: 'a body that stands still',
    rules: once(async (stream) => {
      stream.head(200)
      await stream.data('a part')
    }),
    wants: 'error',
    endsByTime: true,
  },
  {
    name: 'a body that trickles',
    rules: once(async (stream) => {
      stream.head(200)
      await stream.trickle('drop by drop', { bytesPerSecond: 100, bytesPerFrame: 1 })
    }),
    wants: 'response',
    text: 'drop by drop',
  },
  {
    name: 'a body shorter than its content-length',
    rules: once((stream) => stream.respond({ headers: { 'content-length': 10 }, body: 'short' })),
    wants: 'error',
  },
  {
    name: 'a body longer than its content-length',
    rules: once((stream) => stream.respond({ headers: { 'content-length': 1 }, body: 'long' })),
    wants: 'error',
  },
  {
    name: 'FIN within the body',
    rules: once(async (stream, connection) => {
      stream.head(200)
      await stream.data('a part')
      connection.end()
    }),
    wants: 'error',
  },
  { name: 'a TCP reset', rules: once((_stream, connection) => connection.break()), wants: 'error' },
  { name: 'a TLS alert', rules: once((_stream, connection) => connection.alert()), wants: 'error' },
  {
    name: 'a black hole',
    rules: once((_stream, connection) => connection.fallSilent()),
    wants: 'error',
    endsByTime: true,
  },
  {
    name: 'a server that stops reading',
    rules: (server) => server.onConnection(0, (connection) => connection.pauseReading()),
    wants: 'error',
    endsByTime: true,
  },
  {
    name: 'GOAWAY that has taken nothing, and FIN',
    rules: (server) =>
      server.onConnection(0, {
        onRequest: (_stream, connection) => connection.goAway({ lastStreamId: 0, closes: 'at once' }),
      }),
    wants: 'response',
    maySendAgain: true,
    text: 'POST /fault',
  },
  {
    name: 'GOAWAY, and the response behind it',
    rules: once((stream, connection) => {
      connection.goAway({ closes: 'when drained' })
      return stream.respond('late')
    }),
    wants: 'response',
    text: 'late',
  },
  {
    name: 'GOAWAY with an error, and FIN',
    rules: once((_stream, connection) => connection.goAway({ code: 'ENHANCE_YOUR_CALM', closes: 'at once' })),
    wants: 'error',
  },
  {
    name: 'GOAWAY between two requests',
    rules: once(async (stream, connection) => {
      await stream.respond('whole')
      connection.goAway({ closes: 'at once' })
    }),
    wants: 'response',
    text: 'whole',
  },
  {
    name: 'a response, GOAWAY and RST_STREAM in one segment',
    rules: once((stream, connection) =>
      connection.inOneSegment(() => {
        void stream.respond('whole')
        connection.goAway({ closes: 'when drained' })
        stream.reset('CANCEL')
      }),
    ),
    wants: 'response',
    text: 'whole',
  },
  {
    name: 'a response that is cut at each byte',
    rules: once((stream, connection) => connection.cutAt('each byte', () => void stream.respond('whole'))),
    wants: 'response',
    text: 'whole',
  },
  {
    name: 'no SETTINGS',
    rules: (server) => server.onConnection(0, { settings: null }),
    wants: 'either',
    maySendAgain: true,
    endsByTime: true,
  },
  {
    name: 'PUSH_PROMISE, and what is pushed',
    rules: once((stream) => stream.push('/style.css', 'body {}')),
    wants: 'error',
  },
  {
    name: 'garbage',
    rules: once((_stream, connection) => connection.write(Buffer.alloc(64, 0xa5))),
    wants: 'error',
  },
].map((behaviour) => ({
  group: 'ends, delays and cuts',
  .../** @type {Omit<Behaviour, 'group'>} */ (behaviour),
}))

/** What happens to the first socket of a server. @param {(socket: FaultSocket) => void} script */
const onFirst = (script) => (/** @type {FaultServer} */ server) => server.onSocket(0, script)

/** No request has come to the server: the client may connect once more, or tell its user. @type {Behaviour[]} */
const handshakes = [
  { name: 'a TCP reset', rules: onFirst((socket) => socket.break()) },
  { name: 'FIN', rules: onFirst((socket) => socket.end()) },
  { name: 'a TLS alert', rules: onFirst((socket) => socket.alert()) },
  {
    name: 'HTTP/1.1 without TLS',
    rules: onFirst((socket) => socket.send('HTTP/1.1 400 Bad Request\r\n\r\n')),
  },
  { name: 'garbage', rules: onFirst((socket) => socket.send(Buffer.alloc(64, 0xa5))) },
  { name: 'silence', rules: onFirst((socket) => socket.fallSilent()), endsByTime: true },
].map(({ name, ...others }) => ({
  group: 'in place of the TLS handshake',
  name: `${name} in place of TLS`,
  wants: /** @type {const} */ ('either'),
  maySendAgain: true,
  ...others,
}))

/** As much as a window takes: 65,535 octets (RFC 9113 §6.9.2). */
const WINDOW = 'w'.repeat(65_535)

/** @type {Behaviour[]} */
const real = [
  {
    name: 'nginx retires a connection',
    rules: (server) => server.use(presets.nginxThatRetires({ requests: 1 })),
  },
  { name: 'Apache restarts', rules: (server) => server.use(presets.apacheThatRestarts({ requests: 1 })) },
  {
    name: 'a load balancer of AWS drains',
    rules: (server) => server.use(presets.albThatDrains({ requests: 1 })),
  },
  { name: 'grpc-go counts PINGs', rules: (server) => server.use(presets.grpcGoThatCountsPings()) },
  {
    name: 'Node ends a body by a reset',
    rules: (server) => {
      server.use(presets.nodeThatEndsByReset())
      server.onRequest('/fault', (stream) => stream.respond(WINDOW), { times: 1 })
    },
    text: WINDOW,
  },
  {
    name: 'an informational response comes first',
    rules: once((stream) => {
      stream.head(103, { link: '</style.css>; rel=preload' })
      return stream.respond('final')
    }),
    text: 'final',
  },
  {
    name: 'trailers end the response',
    rules: once((stream) => stream.respond({ body: 'whole', trailers: { 'x-sum': '1' } })),
    text: 'whole',
  },
].map((behaviour) => ({
  group: 'what real servers do',
  wants: /** @type {const} */ ('response'),
  text: 'POST /fault',
  ...behaviour,
}))

/** Each of them, group by group. @type {readonly Behaviour[]} */
export const BEHAVIOURS = [...told, ...handshakes, ...real, ...named]
