import { once } from 'node:events'
import { connect } from 'node:http2'

export const version = process.versions.node

/**
 * The reference: nothing but `session.request()` and the listeners that are needed to know that the answer is
 * right.
 *
 * @type {import('./index.mjs').Adapter['open']}
 */
export async function open(origin, { connections, ca }) {
  const sessions = Array.from({ length: connections }, () => connect(origin, ca === undefined ? {} : { ca }))
  await Promise.all(sessions.map((session) => once(session, 'connect')))
  let turn = 0

  return {
    apis: {
      stream({ path, method }, done) {
        const session = /** @type {import('node:http2').ClientHttp2Session} */ (sessions[turn])
        turn = turn + 1 === connections ? 0 : turn + 1
        const stream = session.request({
          ':path': path,
          ':method': method,
          accept: '*/*',
          'user-agent': 'bench',
        })
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
      },
    },
    async close() {
      await Promise.all(
        sessions.map((session) => new Promise((resolve) => session.close(() => resolve(undefined)))),
      )
    },
  }
}
