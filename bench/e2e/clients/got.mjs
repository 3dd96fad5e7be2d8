import got from 'got'
import { versionOf } from './version.mjs'

const version = versionOf(import.meta.resolve('got'))

/** @type {import('./index.mjs').Adapter['open']} */
export async function open(_, { ca }) {
  const instance = got.extend({
    http2: true,
    https: ca === undefined ? {} : { certificateAuthority: ca },
    retry: { limit: 0 },
    headers: { accept: '*/*', 'user-agent': 'bench' },
  })
  return {
    version,
    apis: {
      request({ url, method, body }, done) {
        instance(url, body === null ? { method } : { method, body }).then(
          ({ statusCode, body }) => done(null, statusCode, body.length),
          (error) => done(error, 0, 0),
        )
      },
    },
    // Its sessions are idle by now, and go with the process.
    close: async () => {},
  }
}
