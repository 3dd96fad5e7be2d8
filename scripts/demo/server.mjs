/**
 * The demo's own server: node:http2 with a certificate made on the spot, on two loopback ports.
 */
import { once } from 'node:events'
import { createSecureServer, createServer } from 'node:http2'
import { generate } from 'selfsigned'

/**
 * @typedef {import('node:http2').ServerHttp2Stream} Stream
 * @typedef {import('node:http2').IncomingHttpHeaders} Headers
 * @typedef {import('node:http2').OutgoingHttpHeaders} Fields what all responses have
 *
 * @typedef {object} DemoServer
 * @property {string} h2 origin that speaks TLS
 * @property {string} h2c origin that speaks cleartext
 * @property {string} ca PEM of the certificate to trust
 * @property {() => Promise<void>} close
 */

/** Numbers the sessions, so that a client can see which of its requests shared one. */
let sessionCount = 0
/** @type {WeakMap<object, number>} by session */
const sessionNumbers = new WeakMap()
/** @type {WeakMap<object, Stream>} by session: the last stream whose response was begun and never ended */
const stalled = new WeakMap()

/** @type {Record<string, (stream: Stream, fields: Fields, headers: Headers) => void>} by path */
const routes = {
  '/echo'(stream, fields, headers) {
    stream.respond({ ...fields, 'content-type': headers['content-type'] ?? 'application/octet-stream' })
    stream.pipe(stream)
  },

  '/trailers'(stream, fields) {
    stream.respond(fields, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-checksum': 'a1b2c3' }))
    stream.end('the checksum follows\n')
  },

  '/echo-with-trailers'(stream, fields) {
    let checksum = 'none came'
    stream.on('trailers', (trailers) => {
      checksum = String(trailers['x-checksum'])
    })
    stream.respond(fields, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-checksum': checksum }))
    stream.pipe(stream)
  },

  '/hints'(stream, fields) {
    stream.additionalHeaders({ ':status': 103, link: '</style.css>; rel=preload' })
    stream.respond(fields)
    stream.end('the style is on its way\n')
  },

  '/continue'(stream, fields, headers) {
    if (headers.expect !== '100-continue') {
      stream.respond({ ...fields, ':status': 417 })
      stream.end()
      return
    }
    stream.additionalHeaders({ ':status': 100 })
    stream.respond(fields)
    stream.pipe(stream)
  },

  '/stall'(stream, fields) {
    if (stream.session !== undefined) stalled.set(stream.session, stream)
    stream.respond(fields)
    stream.write('the rest never comes\n')
  },

  /** How the client has ended the stream of `/stall`: an error code (RFC 9113 §7). */
  '/reset'(stream, fields) {
    const reset = stream.session === undefined ? undefined : stalled.get(stream.session)
    const respond = () => {
      stream.respond(fields)
      stream.end(`${reset?.rstCode}`)
    }
    if (reset === undefined || reset.closed) respond()
    else reset.once('close', respond)
  },
}

/**
 * @param {Stream} stream
 * @param {Headers} headers
 */
function response(stream, headers) {
  // A client that goes away early is no concern of the server's.
  stream.on('error', () => {})
  const { session } = stream
  const fields = {
    ':status': 200,
    'content-type': 'text/plain; charset=utf-8',
    // The server's own view, so that the demo doesn't rely on the client's.
    'x-protocol': session?.alpnProtocol ?? 'unknown',
    'x-session': session === undefined ? 'unknown' : `${sessionNumbers.get(session)}`,
  }

  if (headers[':method'] === 'CONNECT') {
    // A tunnel to nowhere: what goes in comes back. The client compares what it asked for.
    const protocol = headers[':protocol']
    stream.respond({
      ...fields,
      'x-tunnel': typeof protocol === 'string' ? protocol : headers[':authority'],
    })
    stream.pipe(stream)
    return
  }
  const route = routes[headers[':path'] ?? '/']
  if (route !== undefined) {
    route(stream, fields, headers)
    return
  }
  stream.respond({ ...fields, 'set-cookie': ['a=1', 'b=2'] })
  stream.end('Hello from HTTP/2\n'.repeat(8))
}

/** @returns {Promise<DemoServer>} */
export async function startDemoServer() {
  const pem = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  })

  /** @type {Set<import('node:http2').Http2Session>} */
  const sessions = new Set()
  // RFC 8441 §3: without this setting a client must not send an extended CONNECT.
  const settings = { enableConnectProtocol: true }
  const servers = [
    createSecureServer({ key: pem.private, cert: pem.cert, settings }),
    createServer({ settings }),
  ]
  const ports = []
  for (const server of servers) {
    server.on('stream', response)
    server.on('session', (session) => {
      sessionCount += 1
      sessionNumbers.set(session, sessionCount)
      sessions.add(session)
      session.on('error', () => {})
      session.on('close', () => sessions.delete(session))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    ports.push(address.port)
  }

  return {
    h2: `https://127.0.0.1:${ports[0]}`,
    h2c: `http://127.0.0.1:${ports[1]}`,
    ca: pem.cert,
    async close() {
      const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)))
      // A session that a failed case left open would keep the server, and so the process, alive.
      for (const session of sessions) session.destroy()
      await Promise.all(closed)
    },
  }
}
