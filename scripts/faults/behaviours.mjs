/** What the fault server does to each client, and what a client may make of it. */
import { BAD_FRAMES, BAD_HEADERS, FLOODS, presets } from 'dodici/testing'

/**
 * @typedef {import('dodici/testing').FaultServer} FaultServer
 * @typedef {import('dodici/testing').FaultStream} FaultStream
 * @typedef {import('dodici/testing').FaultConnection} FaultConnection
 * @typedef {import('dodici/testing').FaultSocket} FaultSocket
 * @typedef {'error' | 'response' | 'either'} Wanted how the POST is to end: by an error, as there is no whole response; by the response,
 *   as there is one, or the request may safely be sent again; or by either
 * @typedef {(server: FaultServer) => void} Rules for `POST /fault`, once
 *
 * @typedef {object} More
 * @property {boolean} [maySendAgain] the server has done nothing about the request, and the client can tell
 * @property {string} [text] the body of the response, where there is one
 * @property {boolean} [endsByTime] only the client's limit of time can end it, or its PINGs
 *
 * @typedef {{ group: string, name: string, wants: Wanted, rules: Rules } & More} Behaviour
 * @typedef {[name: string, wants: Wanted, rules: Rules, more?: More]} Line
 */

/** @param {string} name @param {Line[]} lines @returns {Behaviour[]} */
const group = (name, lines) =>
  lines.map(([own, wants, rules, more]) => ({ group: name, name: own, wants, rules, ...more }))

/** @param {(stream: FaultStream, connection: FaultConnection) => unknown} script @returns {Rules} */
const once = (script) => (server) => void server.onRequest('/fault', script, { times: 1 })

/** What happens to the first socket of a server. @param {(socket: FaultSocket) => void} script @returns {Rules} */
const onFirst = (script) => (server) => void server.onSocket(0, script)

/** Only the beginning of a body comes. @param {(stream: FaultStream, connection: FaultConnection) => void} then */
const part = (then = () => {}) =>
  once(async (stream, connection) => {
    stream.head(200)
    await stream.data('a part')
    then(stream, connection)
  })

/** @template {string} T @param {Readonly<Record<T, unknown>>} table @returns {T[]} */
const namesOf = (table) => /** @type {T[]} */ (Object.keys(table))

/** Octets of a flood. */
const FLOOD = 8_000_000
/** As much as a window takes: 65,535 octets (RFC 9113 §6.9.2). */
const WINDOW = 'w'.repeat(65_535)
const ECHO = 'POST /fault'
/** No request has come to the server: the client may connect once more, or tell its user. */
const UNSENT = { maySendAgain: true }

/** Each of them, group by group. @type {readonly Behaviour[]} */
export const BEHAVIOURS = [
  ...group('ends, delays and cuts', [
    [
      'REFUSED_STREAM',
      'response',
      (server) => server.refuse(1, '/fault'),
      { maySendAgain: true, text: ECHO },
    ],
    ['RST_STREAM before the response', 'error', once((stream) => stream.reset('INTERNAL_ERROR'))],
    ['RST_STREAM within the body', 'error', part((stream) => stream.reset('CANCEL'))],
    ['no response', 'error', once(() => {}), { endsByTime: true }],
    ['a body that stands still', 'error', part(), { endsByTime: true }],
    [
      'a body that trickles',
      'response',
      once(async (stream) => {
        stream.head(200)
        await stream.trickle('drop by drop', { bytesPerSecond: 100, bytesPerFrame: 1 })
      }),
      { text: 'drop by drop' },
    ],
    [
      'a body shorter than its content-length',
      'error',
      once((stream) => stream.respond({ headers: { 'content-length': 10 }, body: 'short' })),
    ],
    [
      'a body longer than its content-length',
      'error',
      once((stream) => stream.respond({ headers: { 'content-length': 1 }, body: 'long' })),
    ],
    ['FIN within the body', 'error', part((_stream, connection) => connection.end())],
    ['a TCP reset', 'error', once((_stream, connection) => connection.break())],
    ['a TLS alert', 'error', once((_stream, connection) => connection.alert())],
    ['a black hole', 'error', once((_stream, connection) => connection.fallSilent()), { endsByTime: true }],
    [
      'a server that stops reading',
      'error',
      (server) => server.onConnection(0, (connection) => connection.pauseReading()),
      { endsByTime: true },
    ],
    [
      'GOAWAY that has taken nothing, and FIN',
      'response',
      (server) =>
        server.onConnection(0, {
          onRequest: (_stream, connection) => connection.goAway({ lastStreamId: 0, closes: 'at once' }),
        }),
      { maySendAgain: true, text: ECHO },
    ],
    [
      'GOAWAY, and the response behind it',
      'response',
      once((stream, connection) => {
        connection.goAway({ closes: 'when drained' })
        return stream.respond('late')
      }),
      { text: 'late' },
    ],
    [
      'GOAWAY with an error, and FIN',
      'error',
      once((_stream, connection) => connection.goAway({ code: 'ENHANCE_YOUR_CALM', closes: 'at once' })),
    ],
    [
      'GOAWAY between two requests',
      'response',
      once(async (stream, connection) => {
        await stream.respond('whole')
        connection.goAway({ closes: 'at once' })
      }),
      { text: 'whole' },
    ],
    [
      'a response, GOAWAY and RST_STREAM in one segment',
      'response',
      once((stream, connection) =>
        connection.inOneSegment(() => {
          void stream.respond('whole')
          connection.goAway({ closes: 'when drained' })
          stream.reset('CANCEL')
        }),
      ),
      { text: 'whole' },
    ],
    [
      'a response that is cut at each byte',
      'response',
      once((stream, connection) => connection.cutAt('each byte', () => void stream.respond('whole'))),
      { text: 'whole' },
    ],
    [
      'no SETTINGS',
      'either',
      (server) => server.onConnection(0, { settings: null }),
      { ...UNSENT, endsByTime: true },
    ],
    ['PUSH_PROMISE, and what is pushed', 'error', once((stream) => stream.push('/style.css', 'body {}'))],
    ['garbage', 'error', once((_stream, connection) => connection.write(Buffer.alloc(64, 0xa5)))],
  ]),
  ...group('in place of the TLS handshake', [
    ['a TCP reset in place of TLS', 'either', onFirst((socket) => socket.break()), UNSENT],
    ['FIN in place of TLS', 'either', onFirst((socket) => socket.end()), UNSENT],
    ['a TLS alert in place of TLS', 'either', onFirst((socket) => socket.alert()), UNSENT],
    [
      'HTTP/1.1 without TLS in place of TLS',
      'either',
      onFirst((socket) => socket.send('HTTP/1.1 400 Bad Request\r\n\r\n')),
      UNSENT,
    ],
    ['garbage in place of TLS', 'either', onFirst((socket) => socket.send(Buffer.alloc(64, 0xa5))), UNSENT],
    [
      'silence in place of TLS',
      'either',
      onFirst((socket) => socket.fallSilent()),
      { ...UNSENT, endsByTime: true },
    ],
  ]),
  ...group('what real servers do', [
    [
      'nginx retires a connection',
      'response',
      (server) => server.use(presets.nginxThatRetires({ requests: 1 })),
      { text: ECHO },
    ],
    [
      'Apache restarts',
      'response',
      (server) => server.use(presets.apacheThatRestarts({ requests: 1 })),
      { text: ECHO },
    ],
    [
      'a load balancer of AWS drains',
      'response',
      (server) => server.use(presets.albThatDrains({ requests: 1 })),
      { text: ECHO },
    ],
    [
      'grpc-go counts PINGs',
      'response',
      (server) => server.use(presets.grpcGoThatCountsPings()),
      { text: ECHO },
    ],
    [
      'Node ends a body by a reset',
      'response',
      (server) => {
        server.use(presets.nodeThatEndsByReset())
        server.onRequest('/fault', (stream) => stream.respond(WINDOW), { times: 1 })
      },
      { text: WINDOW },
    ],
    [
      'an informational response comes first',
      'response',
      once((stream) => {
        stream.head(103, { link: '</style.css>; rel=preload' })
        return stream.respond('final')
      }),
      { text: 'final' },
    ],
    [
      'trailers end the response',
      'response',
      once((stream) => stream.respond({ body: 'whole', trailers: { 'x-sum': '1' } })),
      { text: 'whole' },
    ],
  ]),
  ...group(
    'bad frames',
    namesOf(BAD_FRAMES).map((name) => [
      name,
      // The response is whole.
      name.endsWith('behind END_STREAM') ? 'either' : 'error',
      once((_stream, connection) => connection.badFrame(name)),
    ]),
  ),
  ...group(
    'bad header sections',
    namesOf(BAD_HEADERS).map((name) => [name, 'error', once((stream) => stream.badHeaders(name))]),
  ),
  ...group(
    'header bombs',
    /** @type {const} */ (['references', 'many fields', 'long field']).map((name) => [
      name,
      'either',
      once((stream) => stream.headerBomb(name)),
    ]),
  ),
  ...group(
    'floods',
    namesOf(FLOODS).map((name) => [
      name,
      'error',
      once(async (_stream, connection) => {
        await connection.flood(name, { bytes: FLOOD })
      }),
    ]),
  ),
]
