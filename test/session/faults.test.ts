import { describe, expect, it } from 'vitest'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startScene } from '../support/peers/fault-rig.ts'

/** As `toEnd()` has it; a list where two things race, or lines of Node differ. */
type End = string | readonly string[]

interface Fault {
  readonly what: string
  /** The rules, which hold for `/fault` or for the first connection. */
  rules(server: FaultServer): unknown
  /** @default 'body' */
  readonly body?: string
  /** How the call ends; for both engines, or each. */
  readonly end: End | { readonly node: End; readonly wire: End }
  /** The connection on which a GET that follows gets its response: 0, or the next. */
  readonly next: number | readonly number[]
  readonly transport?: 'h2c' | 'TLS'
}

const one = (script: (connection: FaultConnection) => unknown) => (server: FaultServer) =>
  server.onConnection(0, script)

/** The code is that of node:http2's RST_STREAM. */
const MISMATCH = {
  node: 'ResponseContentLengthMismatchError PROTOCOL_ERROR yes',
  wire: 'ResponseContentLengthMismatchError - yes',
}

/** A body that no window of the server's lets through. */
const HELD = { settings: { initialWindowSize: 0 }, grantsCredit: false }

const FAULTS: readonly Fault[] = [
  {
    what: 'a reset before the response',
    rules: (server) => server.onRequest('/fault', (stream) => stream.reset('INTERNAL_ERROR')),
    end: 'StreamError INTERNAL_ERROR maybe',
    next: 0,
  },
  {
    what: 'a reset within the body',
    rules: (server) =>
      server.onRequest('/fault', async (stream) => {
        stream.head(200)
        await stream.data('a part')
        stream.reset('CANCEL')
      }),
    end: 'StreamError CANCEL yes',
    next: 0,
  },
  {
    what: 'a refusal, twice',
    rules: (server) => server.refuse(2, '/fault'),
    end: '200 POST /fault',
    next: 0,
  },
  {
    what: 'HTTP_1_1_REQUIRED, and no fallback',
    rules: (server) => server.onRequest('/fault', (stream) => stream.reset('HTTP_1_1_REQUIRED')),
    end: 'StreamError HTTP_1_1_REQUIRED maybe',
    next: 0,
  },
  {
    what: '421',
    rules: (server) =>
      server.onRequest('/fault', (stream) => stream.respond({ status: 421, body: 'elsewhere' })),
    end: '421 elsewhere',
    next: 1,
  },
  {
    what: 'a response that is late',
    rules: (server) => server.onRequest('/fault', (stream) => stream.delay(60_000)),
    end: 'HeadersTimeoutError - maybe',
    next: 0,
  },
  {
    what: 'a body that stands still',
    rules: (server) =>
      server.onRequest('/fault', async (stream) => {
        stream.head(200)
        await stream.data('a part')
      }),
    end: 'BodyTimeoutError - yes',
    next: 0,
  },
  {
    what: 'a body that trickles',
    rules: (server) =>
      server.onRequest('/fault', async (stream) => {
        stream.head(200)
        await stream.trickle('drop by drop', { bytesPerSecond: 1_000, bytesPerFrame: 1 })
      }),
    end: '200 drop by drop',
    next: 0,
  },
  {
    what: 'a body that is shorter than its content-length',
    rules: (server) =>
      server.onRequest('/fault', (stream) =>
        stream.respond({ headers: { 'content-length': 10 }, body: 'short' }),
      ),
    end: MISMATCH,
    next: 0,
  },
  {
    what: 'a body that is longer than its content-length',
    rules: (server) =>
      server.onRequest('/fault', (stream) =>
        stream.respond({ headers: { 'content-length': 1 }, body: 'long' }),
      ),
    // From Node 22 on nghttp2 ends the whole connection.
    end: { node: [MISMATCH.node, 'SocketError - yes'], wire: MISMATCH.wire },
    next: [0, 1],
  },
  {
    what: 'a body that ends with its connection',
    rules: (server) =>
      server.onRequest('/fault', async (stream, connection) => {
        stream.head(200)
        await stream.data('a part')
        connection.end()
      }),
    end: 'SocketError - yes',
    next: 1,
  },
  {
    what: 'a TCP reset',
    rules: (server) => server.onRequest('/fault', (_stream, connection) => connection.break()),
    end: 'SocketError - maybe',
    next: 1,
  },
  {
    what: 'a TLS alert in a connection',
    transport: 'TLS',
    rules: (server) => server.onRequest('/fault', (_stream, connection) => connection.alert()),
    end: 'SocketError - maybe',
    next: 1,
  },
  {
    what: 'a TLS alert in the handshake',
    transport: 'TLS',
    rules: (server) => server.onSocket(0, (socket) => socket.alert('handshake_failure')),
    end: 'ConnectError - no',
    next: 0,
  },
  {
    what: 'a GOAWAY that has taken nothing',
    rules: (server) =>
      server.onConnection(0, {
        onRequest: (_stream, connection) => connection.goAway({ lastStreamId: 0, closes: 'at once' }),
      }),
    end: '200 POST /fault',
    next: 1,
  },
  {
    what: 'a GOAWAY with an error, and the end',
    rules: (server) =>
      server.onRequest('/fault', (_stream, connection) =>
        connection.goAway({ code: 'ENHANCE_YOUR_CALM', debugData: 'calm down', closes: 'at once' }),
      ),
    end: 'SocketError ENHANCE_YOUR_CALM maybe',
    next: 1,
  },
  {
    what: 'a GOAWAY, and the response behind it',
    rules: (server) =>
      server.onRequest('/fault', (stream, connection) => {
        connection.goAway({ closes: 'when drained' })
        stream.respond('late')
      }),
    end: '200 late',
    next: 1,
  },
  {
    what: 'a black hole',
    rules: (server) => server.onRequest('/fault', (_stream, connection) => connection.fallSilent()),
    end: 'HeadersTimeoutError - maybe',
    next: 1,
  },
  {
    what: 'a black hole from a byte on',
    rules: (server) =>
      server.onRequest('/fault', (stream, connection) => {
        connection.fallSilent(connection.bytesWritten + 15)
        stream.respond('cut in its first frames')
      }),
    // An early PING finds out.
    end: 'SocketError - yes',
    next: 1,
  },
  {
    what: 'a socket that nobody reads',
    rules: one((connection) => connection.pauseReading()),
    end: 'HeadersTimeoutError - maybe',
    next: 1,
  },
  {
    what: 'a window of 0',
    rules: (server) => server.onConnection(0, HELD),
    body: 'x'.repeat(100_000),
    end: 'UploadTimeoutError - maybe',
    next: 0,
  },
  {
    what: 'HTTP/1.1 in place of HTTP/2',
    rules: (server) => server.onSocket(0, (socket) => socket.send('HTTP/1.1 400 Bad Request\r\n\r\n')),
    end: 'SocketError PROTOCOL_ERROR maybe',
    next: 0,
  },
  {
    what: 'garbage',
    rules: (server) => server.onSocket(0, (socket) => socket.send(Buffer.alloc(64, 0xa5))),
    end: 'SocketError PROTOCOL_ERROR maybe',
    next: 0,
  },
  {
    what: 'garbage behind the SETTINGS',
    rules: one((connection) => connection.write(Buffer.alloc(64, 0xa5))),
    // node:http2 of Node 20 falls silent.
    end: {
      node: ['SocketError - maybe', 'HeadersTimeoutError - maybe'],
      wire: 'SocketError FRAME_SIZE_ERROR maybe',
    },
    next: 1,
  },
  {
    what: 'a socket that is closed as it comes',
    rules: (server) => server.onSocket(0, (socket) => socket.end()),
    end: 'SocketError - maybe',
    next: 0,
  },
  {
    what: 'a socket that is broken as it comes',
    rules: (server) => server.onSocket(0, (socket) => socket.break()),
    end: ['ConnectError - no', 'SocketError - maybe'],
    next: 0,
  },
  {
    what: 'PUSH_PROMISE',
    rules: (server) => server.onRequest('/fault', (stream) => stream.push('/style.css', 'body {}')),
    end: { node: 'SocketError - maybe', wire: 'SocketError PROTOCOL_ERROR maybe' },
    next: 1,
  },
  {
    what: 'a response, a GOAWAY and a reset in one segment',
    rules: (server) =>
      server.onRequest('/fault', (stream, connection) =>
        connection.inOneSegment(() => {
          stream.respond('whole')
          connection.goAway({ closes: 'when drained' })
          stream.reset('CANCEL')
        }),
      ),
    end: '200 whole',
    next: 1,
  },
  {
    what: 'a response that is cut at each byte',
    rules: (server) =>
      server.onRequest('/fault', (stream, connection) =>
        connection.cutAt('each byte', () => {
          stream.inform(103, { link: '</a>' })
          stream.respond({ headers: { 'x-a': 'b' }, body: 'whole', trailers: { 'x-sum': '1' } })
        }),
      ),
    end: '103 200 whole',
    next: 0,
  },
]

describe.each(ENGINES)('what a fault server does to engine %s', (engine) => {
  it.each(FAULTS)('$what', async ({ rules, body = 'body', end, next, transport }) => {
    const scene = await startScene({ engine }, transport)
    rules(scene.server)
    const expected = typeof end === 'string' || 'length' in end ? end : end[engine]
    expect([expected].flat()).toContain(await scene.toEnd(scene.ask('POST /fault', { body })))
    expect(await scene.toEnd(scene.ask('GET /next'))).toBe('200 GET /next')
    expect([next].flat()).toContain(scene.server.request('/next').connection.index)
  })
})
