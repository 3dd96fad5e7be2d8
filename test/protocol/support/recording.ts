/** What real servers said on a connection, and a session made by hand that has everything in it. */

import { once } from 'node:events'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { connect, constants, createServer } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { connect as connectSocket, createServer as createRelay } from 'node:net'
import { Flag, frames, Setting, Type } from '../../../src/testing/frames.ts'
import { CANCEL, NO_ERROR } from '../../support/peers/error-codes.ts'

/** The requests of a recording: the first is on stream 1, the second on stream 3, and so on. */
export interface Recording {
  readonly bytes: Buffer
  readonly methods: readonly string[]
}

/** A request of a recording. */
type Ask = readonly [method: string, path: string]

/** Asks a server of HTTP/2 in the clear, one request after the other, and writes down all that it says. */
export async function record(port: number, asks: readonly Ask[]): Promise<Recording> {
  const chunks: Buffer[] = []
  const sockets: Socket[] = []
  const relay = createRelay((client) => {
    const server = connectSocket(port, '127.0.0.1')
    sockets.push(client, server)
    server.on('data', (chunk: Buffer) => chunks.push(chunk))
    for (const socket of [client, server]) socket.on('error', () => {})
    client.pipe(server).pipe(client)
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const session = connect(`http://127.0.0.1:${(relay.address() as AddressInfo).port}`)
  for (const [method, path] of asks) {
    const request = session.request({ ':method': method, ':path': path })
    request.on('error', () => {})
    request.end()
    request.resume()
    await new Promise((resolve) => request.on('close', resolve))
  }
  session.close()
  await once(session, 'close')
  for (const socket of sockets) socket.destroy()
  relay.close()
  await once(relay, 'close')
  return { bytes: Buffer.concat(chunks), methods: asks.map(([method]) => method) }
}

const NODE_ASKS: readonly Ask[] = [
  ['GET', '/plain'],
  ['HEAD', '/plain'],
  ['GET', '/empty'],
  ['GET', '/early'],
  ['GET', '/trailers'],
  ['GET', '/many-fields'],
  ['GET', '/pieces'],
  ['GET', '/reset'],
  ['GET', '/leaving'],
]

/** What node's server says to them. */
function serve(stream: ServerHttp2Stream, { ':path': path }: IncomingHttpHeaders): void {
  switch (path) {
    case '/early':
      stream.additionalHeaders({ ':status': 103, link: '</a.css>; rel=preload' })
      stream.respond({ ':status': 200, 'x-same': 'each time' })
      stream.end('after a hint')
      break
    case '/empty':
      stream.respond({ ':status': 204, 'x-same': 'each time' }, { endStream: true })
      break
    case '/trailers':
      stream.respond({ ':status': 200 }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': 'abc', 'x-other': '2' }))
      stream.end('with trailers')
      break
    case '/many-fields':
      // More than one frame: CONTINUATION follows.
      stream.respond({ ':status': 200, 'x-long': 'v'.repeat(9_000), 'x-longer': '~{}'.repeat(6_000) })
      stream.end('much ado')
      break
    case '/pieces':
      stream.respond({ ':status': 200 })
      for (let count = 0; count < 20; count++) stream.write(`piece ${count};`)
      stream.end()
      break
    case '/reset':
      stream.respond({ ':status': 200 })
      stream.write('not all of it')
      // `close()` would end it properly first.
      setImmediate(() => stream.destroy(new Error('broken')))
      break
    case '/leaving':
      stream.session?.goaway(NO_ERROR, stream.id, Buffer.from('leaving'))
      stream.respond({ ':status': 200 })
      stream.end('the last one')
      break
    default:
      stream.respond({ ':status': 200, 'content-type': 'text/plain', 'x-same': 'each time' })
      stream.end('hello')
  }
}

/** What node's own server says, with padding. */
export async function recordNode(): Promise<Recording> {
  const server = createServer({ paddingStrategy: constants.PADDING_STRATEGY_MAX })
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => {})
    serve(stream, headers)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    return await record((server.address() as AddressInfo).port, NODE_ASKS)
  } finally {
    server.close()
  }
}

/** `:status: 200`, `:status: 204`: HPACK's static table has them. */
const OK = Buffer.of(0x88)
/** A literal that goes into the dynamic table, `x: 1`, and what it is called from then on. */
const LITERAL = Buffer.of(0x40, 1, 0x78, 1, 0x31)
const INDEXED = Buffer.of(0xbe)

function padded(type: number, flags: number, streamId: number, content: Buffer, padding: number): Buffer {
  const payload = Buffer.concat([Buffer.of(padding), content, Buffer.alloc(padding, 0xee)])
  return frames.frame(type, flags | Flag.PADDED, streamId, payload)
}

const { frame } = frames
const PRIORITY_FIELDS = Buffer.of(0x80, 0, 0, 1, 200)

/** Every type of frame, and every flag, as a server may send them, legal and odd; responses to five requests. */
export const HAND_MADE: Recording = {
  methods: ['GET', 'GET', 'HEAD', 'POST', 'GET'],
  bytes: Buffer.concat([
    frames.settings([Setting.MAX_CONCURRENT_STREAMS, 100], [Setting.INITIAL_WINDOW_SIZE, 70_000], [0xfa, 7]),
    frames.settingsAck(),
    frames.windowUpdate(0, 1_000_000),
    frame(0xbe, 0xff, 0, Buffer.from('an unknown frame type')),
    frame(0xbe, 0, 1),
    frames.headers(1, [
      [':status', '103'],
      ['link', '</a.css>'],
    ]),
    frame(Type.HEADERS, Flag.END_HEADERS, 1, Buffer.concat([OK, LITERAL])),
    frames.data(1, 'plain '),
    frames.ping(Buffer.from('12345678')),
    padded(Type.DATA, 0, 1, Buffer.from('padded'), 200),
    frames.ping(Buffer.from('abcdefgh')),
    padded(Type.DATA, 0, 1, Buffer.alloc(0), 255),
    frames.ping(),
    padded(Type.DATA, 0, 1, Buffer.alloc(0), 0),
    frames.ping(),
    frames.data(1, ''),
    frames.ping(),
    padded(Type.DATA, 0, 1, Buffer.from('a pad length of 0'), 0),
    frame(Type.PRIORITY, 0, 3, PRIORITY_FIELDS),
    frames.data(1, '', Flag.END_STREAM),
    // A block of two frames, and an empty one: HEADERS with priority and padding, CONTINUATION.
    padded(Type.HEADERS, Flag.PRIORITY, 3, Buffer.concat([PRIORITY_FIELDS, OK]), 9),
    frame(Type.CONTINUATION, 0, 3),
    frame(Type.CONTINUATION, 0, 3, LITERAL.subarray(0, 3)),
    frame(Type.CONTINUATION, Flag.END_HEADERS, 3, LITERAL.subarray(3)),
    frames.data(3, 'x'.repeat(700)),
    frames.windowUpdate(7, 10),
    padded(Type.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, 3, INDEXED, 30),
    frame(Type.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, 5, Buffer.concat([OK, INDEXED])),
    frame(Type.HEADERS, Flag.END_STREAM, 7, Buffer.of()),
    frame(Type.CONTINUATION, Flag.END_HEADERS, 7, OK),
    frame(Type.HEADERS, Flag.END_HEADERS, 9, OK),
    frames.data(9, 'half of it'),
    frames.reset(9, CANCEL),
    frames.goAway(9, NO_ERROR),
    frames.goAway(9, NO_ERROR, 'and why'),
    padded(Type.DATA, Flag.END_STREAM, 9, Buffer.from('it was on its way'), 3),
  ]),
}
