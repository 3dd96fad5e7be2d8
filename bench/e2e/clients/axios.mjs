import axios from 'axios'

/**
 * `httpVersion: 2` makes it use node:http2, over TLS and by prior knowledge.
 *
 * @type {import('./index.mjs').Adapter['open']}
 */
export async function open(_, { ca }) {
  const instance = axios.create({
    httpVersion: 2,
    http2Options: ca === undefined ? {} : { ca },
    proxy: false,
    responseType: 'text',
    headers: { accept: '*/*', 'user-agent': 'bench' },
  })
  return {
    version: axios.VERSION,
    apis: {
      request({ url, method, body }, done) {
        instance.request({ url, method, data: body ?? undefined }).then(
          ({ status, data }) => done(null, status, data.length),
          (error) => done(error, 0, 0),
        )
      },
    },
    // It closes its sessions a second after their last response, and offers no other way.
    close: async () => {},
  }
}
