/**
 * One case an API. A later API becomes one more entry here.
 */
import { Readable } from 'node:stream'

/**
 * @typedef {Record<string, string | string[] | undefined>} HeaderObject
 *
 * @typedef {object} Answer
 * @property {number} statusCode
 * @property {HeaderObject | string[]} headers
 * @property {HeaderObject} trailers
 * @property {{ text(): Promise<string> }} body
 *
 * @typedef {{ path: string, method: string, headers?: Record<string, string> }} Target
 *
 * @typedef {{
 *   dispatch(options: Target, handler: object): boolean
 *   request(options: Target): Promise<Answer>
 *   close(): Promise<void>
 *   destroy(): Promise<void>
 * }} ClientLike what the demo uses of a Dodici client
 *
 * @typedef {object} Outcome
 * @property {number} status
 * @property {number} bytes
 * @property {HeaderObject | string[]} headers
 * @property {string | null} problem what was wrong with the answer of the demo's own server
 *
 * @typedef {object} Case
 * @property {string} api
 * @property {string} path on the demo's own server; any other server gets the path of the URL that was given
 * @property {(client: ClientLike, path: string) => Promise<Outcome>} run
 */

/**
 * @param {ClientLike} client
 * @param {string} path
 * @returns {Promise<Outcome>}
 */
function dispatch(client, path) {
  return new Promise((resolve, reject) => {
    /** @type {Outcome} */
    const outcome = { status: 0, bytes: 0, headers: [], problem: null }
    client.dispatch(
      { path, method: 'GET', headers: { accept: '*/*' } },
      {
        onRequestStart() {},
        /**
         * @param {object} _controller
         * @param {number} status
         * @param {HeaderObject} headers
         */
        onResponseStart(_controller, status, headers) {
          outcome.status = status
          outcome.headers = headers
        },
        /**
         * @param {object} _controller
         * @param {Uint8Array} chunk
         */
        onResponseData(_controller, chunk) {
          outcome.bytes += chunk.length
        },
        onResponseEnd() {
          outcome.problem = outcome.bytes > 0 ? null : 'the body is empty'
          resolve(outcome)
        },
        /**
         * @param {object} _controller
         * @param {Error} error
         */
        onResponseError(_controller, error) {
          reject(error)
        },
      },
    )
  })
}

/**
 * @param {ClientLike} client
 * @param {Target & { body?: string | Readable, responseHeaders?: 'raw' }} options
 * @param {(text: string, answer: Answer) => string | null} check
 * @returns {Promise<Outcome>}
 */
async function request(client, options, check) {
  const answer = await client.request(options)
  const text = await answer.body.text()
  return {
    status: answer.statusCode,
    // For a text that isn't UTF-8 this is an approximation.
    bytes: Buffer.byteLength(text),
    headers: answer.headers,
    problem: check(text, answer),
  }
}

const upload = 'one line of an upload\n'
const chunks = 64

/** @type {readonly Case[]} */
export const cases = [
  { api: 'dispatch', path: '/', run: dispatch },
  {
    api: 'request + text()',
    path: '/',
    run: (client, path) =>
      request(client, { path, method: 'GET' }, (text) =>
        text.startsWith('Hello') ? null : 'not the text that was sent',
      ),
  },
  {
    api: "request, responseHeaders: 'raw'",
    path: '/',
    run: (client, path) =>
      request(client, { path, method: 'GET', responseHeaders: 'raw' }, (_text, { headers }) => {
        if (!Array.isArray(headers) || headers.length % 2 !== 0) return 'not a flat array'
        if (headers.some((name, index) => index % 2 === 0 && name.startsWith(':'))) return 'a pseudo-header'
        // The server sends two of them, and raw keeps them apart.
        return headers.filter((name) => name === 'set-cookie').length === 2
          ? null
          : 'not two set-cookie fields'
      }),
  },
  {
    api: 'request with trailers',
    path: '/trailers',
    run: (client, path) =>
      request(client, { path, method: 'GET' }, (_text, { trailers }) =>
        trailers['x-checksum'] === 'a1b2c3' ? null : 'no trailers',
      ),
  },
  {
    api: 'request, POST, echo',
    path: '/echo',
    run: (client, path) =>
      request(
        client,
        { path, method: 'POST', headers: { 'content-type': 'text/plain' }, body: upload },
        (text) => (text === upload ? null : 'the echo differs'),
      ),
  },
  {
    api: 'request, POST, Readable',
    path: '/echo',
    run: (client, path) =>
      request(
        client,
        {
          path,
          method: 'POST',
          headers: { 'content-type': 'text/plain' },
          body: Readable.from(Array.from({ length: chunks }, () => Buffer.from(upload))),
        },
        (text) => (text === upload.repeat(chunks) ? null : 'the echo differs'),
      ),
  },
]
