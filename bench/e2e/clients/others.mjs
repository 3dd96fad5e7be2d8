/**
 * Clients with an API of their own. Some have no way to close their sessions: these are idle by the end, and go with the process.
 *
 * @typedef {import('./index.mjs').Adapter} Adapter
 */
import { toFetchStart, versionOf } from './shapes.mjs'

const headers = { accept: '*/*', 'user-agent': 'bench' }
const close = async () => {}

/** `httpVersion: 2` makes it use node:http2, over TLS and by prior knowledge. @type {Adapter} */
export const axios = {
  async open(_, { ca }) {
    const { default: own } = await import('axios')
    const http2Options = ca === undefined ? {} : { ca }
    const instance = own.create({ httpVersion: 2, http2Options, proxy: false, responseType: 'text', headers })
    return {
      version: own.VERSION,
      apis: {
        request({ url, method, body }, done) {
          instance.request({ url, method, data: body ?? undefined }).then(
            ({ status, data }) => done(null, status, data.length),
            (error) => done(error, 0, 0),
          )
        },
      },
      close,
    }
  },
}

/** @type {Adapter} */
export const got = {
  async open(_, { ca }) {
    const { default: own } = await import('got')
    const https = ca === undefined ? {} : { certificateAuthority: ca }
    const instance = own.extend({ http2: true, https, retry: { limit: 0 }, headers })
    return {
      version: versionOf(import.meta.resolve('got')),
      apis: {
        request({ url, method, body }, done) {
          const options = /** @type {{ method: 'GET' | 'POST', body?: Buffer }} */ (
            body === null ? { method } : { method, body }
          )
          instance(url, options).then(
            ({ statusCode, body }) => done(null, statusCode, body.length),
            (error) => done(error, 0, 0),
          )
        },
      },
      close,
    }
  },
}

/** @type {Adapter} */
export const fetchH2 = {
  async open(_, { ca }) {
    const { context } = await import('fetch-h2')
    const session = ca === undefined ? {} : { ca }
    const { fetch, disconnectAll } = context({ httpProtocol: 'http2', httpsProtocols: ['http2'], session })
    return {
      version: versionOf(import.meta.resolve('fetch-h2')),
      apis: { fetch: toFetchStart(fetch) },
      close: disconnectAll,
    }
  },
}

/** Its `request()` gives node's own stream, once a session is there that has been verified. @type {Adapter} */
export const connectNode = {
  async open(origins, { ca }) {
    const { Http2SessionManager } = await import('@connectrpc/connect-node')
    const managers = origins.map(
      (origin) => new Http2SessionManager(origin, {}, ca === undefined ? {} : { ca }),
    )
    let turn = 0
    return {
      version: versionOf(import.meta.resolve('@connectrpc/connect-node')),
      apis: {
        request({ path, method, body }, done) {
          const manager = managers[turn]
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
  },
}

/**
 * The running Node's fetch as it comes. Up to Node 24 it speaks HTTP/1.1 and nothing else, on as many connections as there are requests in
 * flight. measure.mjs makes it trust the certificate by the environment: it has no option for that.
 *
 * @type {Adapter}
 */
export const nodeFetch = {
  open: async () => ({
    version: `${process.versions.undici} of Node ${process.versions.node}`,
    apis: { fetch: toFetchStart(fetch) },
    close,
  }),
}

/**
 * The running Node's fetch with an Agent of the undici that Node 24 has inside, installed from npm: that is how it can be made to speak
 * HTTP/2 there, since Node doesn't hand out the Agent of its own. undici 8's Agent fails as its dispatcher on Node 24.
 *
 * @type {Adapter}
 */
export const nodeFetchH2 = {
  async open([origin], { connections, maxStreams, ca }) {
    const { Agent } = await import('undici')
    const streams = { maxConcurrentStreams: maxStreams, pipelining: maxStreams }
    const h2c = { allowH2: true, useH2c: origin.startsWith('http:') }
    const agent = new Agent({ ...h2c, ...streams, connections, connect: { ca } })
    return {
      version: versionOf(import.meta.resolve('undici')),
      apis: { fetch: toFetchStart(fetch, { dispatcher: agent }) },
      close: () => agent.close(),
    }
  },
}
