/**
 * The demo's own server: node:http2 with a certificate made on the spot, on two loopback ports.
 */
import { once } from 'node:events'
import { createSecureServer, createServer } from 'node:http2'
import { generate } from 'selfsigned'

/**
 * @typedef {object} DemoServer
 * @property {string} h2 origin that speaks TLS
 * @property {string} h2c origin that speaks cleartext
 * @property {string} ca PEM of the certificate to trust
 * @property {() => Promise<void>} close
 */

/**
 * @param {import('node:http2').ServerHttp2Stream} stream
 * @param {import('node:http2').IncomingHttpHeaders} headers
 */
function answer(stream, headers) {
  // A client that goes away early is no concern of the server's.
  stream.on('error', () => {})
  const common = {
    ':status': 200,
    'content-type': 'text/plain; charset=utf-8',
    // What the server saw, so that the demo doesn't have to take the client's word for it.
    'x-protocol': stream.session?.alpnProtocol ?? 'unknown',
  }

  switch (headers[':path']) {
    case '/echo':
      stream.respond(common)
      stream.pipe(stream)
      break
    case '/trailers':
      stream.respond(common, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-checksum': 'a1b2c3' }))
      stream.end('the checksum follows\n')
      break
    default:
      stream.respond({ ...common, 'set-cookie': ['a=1', 'b=2'] })
      stream.end('Hello from HTTP/2\n'.repeat(8))
  }
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
  const servers = [createSecureServer({ key: pem.private, cert: pem.cert }), createServer()]
  const ports = []
  for (const server of servers) {
    server.on('stream', answer)
    server.on('session', (session) => {
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
