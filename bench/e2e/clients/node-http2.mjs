import { once } from 'node:events'
import { connect } from 'node:http2'
import { echo, PieceReader } from './shapes.mjs'

/**
 * Writes and reads on a tunnel once it stands.
 *
 * @param {import('node:http2').ClientHttp2Stream} stream @param {Buffer | null} body
 * @param {import('./index.mjs').Done} done
 */
function echoOnceOpen(stream, body, done) {
  const failed = (/** @type {Error} */ error) => done(error, 0, 0)
  stream.on('error', failed)
  stream.on('response', (headers) => {
    stream.off('error', failed)
    echo(stream, body, headers[':status'] ?? 0, done)
  })
}

/**
 * The reference: nothing but `session.request()` and the listeners that are needed to know that the response is
 * right.
 *
 * @type {import('./index.mjs').Adapter['open']}
 */
export async function open(origins, { connections, ca }) {
  const sessions = origins.flatMap((origin) =>
    Array.from({ length: connections }, () => connect(origin, ca === undefined ? {} : { ca })),
  )
  // Only the server's SETTINGS say whether it takes an extended CONNECT (RFC 8441 section 3).
  await Promise.all(sessions.map((session) => once(session, 'remoteSettings')))
  let turn = 0

  function nextSession() {
    const session = /** @type {import('node:http2').ClientHttp2Session} */ (sessions[turn])
    turn = turn + 1 === sessions.length ? 0 : turn + 1
    return session
  }

  return {
    version: process.versions.node,
    apis: {
      'session.request'({ path, method, body, isStreamed }, done) {
        /** @type {import('node:http2').OutgoingHttpHeaders} */
        const headers = { ':path': path, ':method': method, accept: '*/*', 'user-agent': 'bench' }
        // Dispatchers send it for a Buffer too.
        if (body !== null && !isStreamed) headers['content-length'] = body.length
        const stream = nextSession().request(headers)
        let status = 0
        let bytes = 0
        stream.on('response', (headers) => {
          status = headers[':status'] ?? 0
        })
        stream.on('data', (chunk) => {
          bytes += chunk.length
        })
        stream.on('end', () => done(null, status, bytes))
        stream.on('error', (error) => done(error, status, bytes))
        // Without a body the request has ended with its header already.
        if (body === null) return
        if (isStreamed) new PieceReader(body).pipe(stream)
        else stream.end(body)
      },

      connect({ authority, body }, done) {
        const stream = nextSession().request({
          ':method': 'CONNECT',
          ':authority': authority,
          'user-agent': 'bench',
        })
        echoOnceOpen(stream, body, done)
      },

      upgrade({ path, body }, done) {
        const stream = nextSession().request({
          ':method': 'CONNECT',
          ':protocol': 'websocket',
          ':path': path,
          'user-agent': 'bench',
        })
        echoOnceOpen(stream, body, done)
      },
    },
    async close() {
      await Promise.all(
        sessions.map((session) => new Promise((resolve) => session.close(() => resolve(undefined)))),
      )
    },
  }
}
