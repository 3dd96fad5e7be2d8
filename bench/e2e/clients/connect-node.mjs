import { Http2SessionManager } from '@connectrpc/connect-node'
import { versionOf } from './version.mjs'

const version = versionOf(import.meta.resolve('@connectrpc/connect-node'))

/**
 * Its `request()` gives node's own stream, once a session is there that has been verified.
 *
 * @type {import('./index.mjs').Adapter['open']}
 */
export async function open(origins, { ca }) {
  const managers = origins.map(
    (origin) => new Http2SessionManager(origin, {}, ca === undefined ? {} : { ca }),
  )
  let turn = 0
  const headers = { accept: '*/*', 'user-agent': 'bench' }
  return {
    version,
    apis: {
      request({ path, method, body }, done) {
        const manager = /** @type {Http2SessionManager} */ (managers[turn])
        turn = turn + 1 === managers.length ? 0 : turn + 1
        manager.request(method, path, headers, body === null ? { endStream: true } : {}).then(
          (stream) => {
            let status = 0
            let bytes = 0
            stream.on('response', (headers) => {
              status = headers[':status'] ?? 0
            })
            stream.on('data', (chunk) => {
              // What it demands of those who use it: it measures liveness by that.
              manager.notifyResponseByteRead(stream)
              bytes += chunk.length
            })
            stream.on('end', () => done(null, status, bytes))
            stream.on('error', (error) => done(error, status, bytes))
            if (body !== null) stream.end(body)
          },
          (error) => done(error, 0, 0),
        )
      },
    },
    async close() {
      for (const manager of managers) manager.abort()
    },
  }
}
