/**
 * A JSON client over HTTP/2 with retries, like an instance with a base URL in other libraries. Needs `npm install undici` for its
 * interceptors.
 *
 *     npx dodici serve
 *     node examples/json-client.mjs
 */

// @ts-check

import { Pool } from 'dodici'
import { interceptors } from 'undici'

/** A response whose status isn't 2xx. */
class StatusError extends Error {
  /** @param {number} status @param {string} text the body */
  constructor(status, text) {
    super(`The server responded with ${status}: ${text.trim()}`)
    this.name = 'StatusError'
    this.status = status
  }
}

class JsonClient {
  #pool
  #dispatcher

  /** @param {string | URL} origin */
  constructor(origin) {
    this.#pool = new Pool(origin, { requestTimeout: 30_000 })
    // Retries a 503, but no POST, because the server may have acted on it. Dodici itself retries what the server has certainly not
    // processed, after a GOAWAY or a refused stream, POSTs included.
    this.#dispatcher = this.#pool.compose(
      interceptors.retry({
        maxRetries: 2,
        minTimeout: 10,
        methods: ['GET', 'PUT', 'DELETE'],
        statusCodes: [503],
        throwOnError: false,
      }),
    )
  }

  /** @param {string} path @returns {Promise<unknown>} */
  get(path) {
    return this.#send('GET', path)
  }

  /** @param {string} path @param {unknown} value @returns {Promise<unknown>} */
  post(path, value) {
    return this.#send('POST', path, JSON.stringify(value))
  }

  close() {
    return this.#pool.close()
  }

  /** @param {'GET' | 'POST'} method @param {string} path @param {string | null} body */
  async #send(method, path, body = null) {
    const { statusCode, body: content } = await this.#dispatcher.request({
      path,
      method,
      body,
      headers: {
        accept: 'application/json',
        ...(body === null ? {} : { 'content-type': 'application/json' }),
      },
    })
    if (statusCode < 200 || statusCode > 299) throw new StatusError(statusCode, await content.text())
    return content.json()
  }
}

const api = new JsonClient(process.argv[2] ?? 'http://localhost:12080')
try {
  console.log('posted', await api.post('/echo', { name: 'twelve', value: 12 }))
  const { httpVersion } = /** @type {{ httpVersion: string }} */ (await api.get('/headers'))
  console.log(`over HTTP/${httpVersion}`)
  // The client gives up after three attempts.
  await api.get('/status/503')
} catch (error) {
  console.log(String(error))
} finally {
  await api.close()
}
