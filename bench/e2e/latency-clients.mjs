/**
 * The clients of latency.mjs, each as its users get it: with no option but the one that makes it speak h2c.
 *
 * @typedef {object} Download
 * @property {number} bytes
 * @property {boolean} isWhole false: time was up before its end
 * @property {number} seconds from the call to the last byte
 * @property {number} headerSeconds from the call to the response's header
 *
 * @typedef {object} Opened
 * @property {(path: string, limit: number) => Promise<Download>} download `limit`: seconds after which it is cut off
 * @property {() => Promise<void>} close
 *
 * @typedef {object} OpenOptions
 * @property {string | undefined} dodici which build to load instead of this package's
 * @property {object} options the client's own; none: its defaults
 */
import { once } from 'node:events'

/**
 * Counts what comes, at the speed at which it comes, until it ends or time is up.
 *
 * @param {import('node:stream').Readable} body
 * @param {number} begun
 * @param {number} limit
 * @returns {Promise<Omit<Download, 'headerSeconds'>>}
 */
function count(body, begun, limit) {
  return new Promise((resolve, reject) => {
    let bytes = 0
    let last = begun
    /** @param {boolean} isWhole */
    const finish = (isWhole) => {
      clearTimeout(timer)
      resolve({ bytes, isWhole, seconds: (last - begun) / 1_000 })
    }
    const cutOff = () => {
      finish(false)
      body.destroy()
    }
    const timer = setTimeout(cutOff, begun + limit * 1_000 - performance.now())
    body.on('data', (chunk) => {
      bytes += chunk.length
      last = performance.now()
    })
    body.on('end', () => finish(true))
    body.on('error', reject)
    body.on('close', () => reject(new Error('the body was closed before its end')))
  })
}

/**
 * @param {{ request(options: object): Promise<{ statusCode: number, body: import('node:stream').Readable }>, close():
 *   Promise<void> }} dispatcher
 * @param {string} origin
 * @returns {Opened}
 */
function toOpened(dispatcher, origin) {
  return {
    async download(path, limit) {
      const begun = performance.now()
      const { statusCode, body } = await dispatcher.request({ origin, path, method: 'GET' })
      const headerSeconds = (performance.now() - begun) / 1_000
      if (statusCode !== 200) throw new Error(`status ${statusCode}`)
      return { ...(await count(body, begun, limit)), headerSeconds }
    },
    close: () => dispatcher.close(),
  }
}

/**
 * @param {import('node:http2').ClientHttp2Session} session
 * @returns {Opened}
 */
function toBare(session) {
  return {
    async download(path, limit) {
      const begun = performance.now()
      const stream = session.request({ ':path': path })
      const [headers] = await once(stream, 'response')
      const headerSeconds = (performance.now() - begun) / 1_000
      if (headers[':status'] !== 200) throw new Error(`status ${headers[':status']}`)
      return { ...(await count(stream, begun, limit)), headerSeconds }
    },
    close: () => new Promise((resolve) => session.close(() => resolve())),
  }
}

/**
 * @type {Readonly<Record<string, { label: string, minNode: [number, number], open(origin: string, options:
 * OpenOptions): Promise<Opened> }>>}
 */
export const latencyClients = {
  dodici: {
    label: 'dodici Client',
    minNode: [20, 18],
    async open(origin, { dodici = 'dodici', options }) {
      const { Client } = await import(dodici)
      return toOpened(new Client(origin, options), origin)
    },
  },
  undici: {
    label: 'undici 8 Agent, allowH2',
    minNode: [22, 19],
    async open(origin) {
      const { Agent } = await import('undici-8')
      // At the top level: the Pool of an Agent doesn't look for it in `h2Options`.
      return toOpened(new Agent({ allowH2: true, useH2c: true }), origin)
    },
  },
  'node-http2': {
    label: 'node:http2',
    minNode: [20, 18],
    async open(origin) {
      const { connect } = await import('node:http2')
      return toBare(connect(origin))
    },
  },
}
