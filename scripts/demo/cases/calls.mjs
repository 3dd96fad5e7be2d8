/**
 * Plain requests: each way to send one and to get its response.
 */
import { differs, firstOf, greeting, readResponse } from '../case.mjs'

/** @typedef {import('../case.mjs').Case} Case */
/** @typedef {import('../case.mjs').Context} Context */
/** @typedef {import('../case.mjs').Outcome} Outcome */

/**
 * @param {Context} context
 * @returns {Promise<Outcome>}
 */
function dispatch({ client, path }) {
  return new Promise((resolve, reject) => {
    /** @type {Outcome} */
    const outcome = { status: 0, bytes: 0, headers: [], problem: null }
    let text = ''
    client.dispatch(
      { path, method: 'GET', headers: { accept: '*/*' } },
      {
        onRequestStart() {},
        onResponseStart(_controller, status, headers) {
          outcome.status = status
          outcome.headers = headers
        },
        onResponseData(_controller, chunk) {
          outcome.bytes += chunk.length
          text += chunk.toString()
        },
        onResponseEnd() {
          outcome.problem = differs(greeting, text)
          resolve(outcome)
        },
        onResponseError(_controller, error) {
          reject(error)
        },
      },
    )
  })
}

/** How many requests go out at once. */
const burst = 100

/** @type {readonly Case[]} */
export const callCases = [
  { api: 'dispatch', run: dispatch },
  {
    api: 'request, promise',
    run: async ({ client, path }) =>
      readResponse(await client.request({ path, method: 'GET' }), (text) => differs(greeting, text)),
  },
  {
    api: 'request, callback',
    run: ({ client, path }) =>
      new Promise((resolve, reject) => {
        client.request({ path, method: 'GET', opaque: 'mine' }, (error, response) => {
          if (error !== null) {
            reject(error)
            return
          }
          const check = (/** @type {string} */ text) =>
            firstOf(differs(greeting, text), response.opaque !== 'mine' && 'opaque did not come back')
          readResponse(response, check).then(resolve, reject)
        })
      }),
  },
  {
    api: "request, responseHeaders: 'raw'",
    run: async ({ client, path }) =>
      readResponse(
        await client.request({ path, method: 'GET', responseHeaders: 'raw' }),
        (text, { headers }) => {
          if (!Array.isArray(headers) || headers.length % 2 !== 0) return 'not a flat array'
          if (headers.some((name, index) => index % 2 === 0 && name.startsWith(':'))) return 'a pseudo-header'
          // The server sends two of them, and raw keeps them apart.
          const cookies = headers.filter((name) => name === 'set-cookie').length
          return firstOf(cookies !== 2 && 'not two set-cookie fields', differs(greeting, text))
        },
      ),
  },
  {
    api: `request, ${burst} at once on one session`,
    elsewhere: 'left out',
    run: async ({ client, path }) => {
      const responses = await Promise.all(
        Array.from({ length: burst }, async () => {
          const response = await client.request({ path, method: 'GET' })
          return { session: response.headers['x-session'], ...(await readResponse(response, textDiffers)) }
        }),
      )
      const sessions = new Set(responses.map(({ session }) => session))
      return {
        status: responses.find(({ status }) => status !== 200)?.status ?? 200,
        bytes: responses.reduce((sum, { bytes }) => sum + bytes, 0),
        headers: responses[0]?.headers ?? [],
        problem: firstOf(
          ...responses.map(({ problem }) => problem),
          sessions.size !== 1 && `${sessions.size} sessions`,
        ),
      }
    },
  },
  {
    api: 'compose, request',
    run: async ({ client, path }) => {
      let seen = 0
      const counted = client.compose((next) => (options, handler) => {
        seen += 1
        return next(options, handler)
      })
      return readResponse(await counted.request({ path, method: 'GET' }), (text) =>
        firstOf(seen !== 1 && `the interceptor saw ${seen} requests`, differs(greeting, text)),
      )
    },
  },
  {
    api: 'Agent, request',
    run: async ({ agent, origin, path }) =>
      readResponse(await agent.request({ origin, path, method: 'GET' }), (text) => differs(greeting, text)),
  },
]

/**
 * @param {string} text
 * @returns {string | null}
 */
function textDiffers(text) {
  return differs(greeting, text)
}
