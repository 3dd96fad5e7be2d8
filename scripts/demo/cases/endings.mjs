/**
 * Calls that end before their response does.
 */
import { differs, firstOf } from '../case.mjs'

/** @typedef {import('../case.mjs').Case} Case */
/** @typedef {import('../case.mjs').Context} Context */
/** @typedef {import('../case.mjs').Outcome} Outcome */

/** RFC 9113 §7. */
const cancel = '8'

/**
 * @param {Context} context
 * @param {object} options
 * @param {() => void} onChunk the response has begun
 * @param {(error: Error) => string} toStatus
 * @returns {Promise<Outcome>}
 */
async function readUnended({ client, path }, options, onChunk, toStatus) {
  const { headers, body } = await client.request({ path, method: 'GET', ...options })
  let text = ''
  let status = 'no error'
  try {
    for await (const chunk of body) {
      text += chunk
      onChunk()
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    status = toStatus(error)
  }
  // No other request is disturbed: the same session goes on, and the server has seen the stream cancelled.
  const after = await client.request({ path: '/reset', method: 'GET' })
  const sameSession = after.headers['x-session'] === headers['x-session']
  return {
    status,
    bytes: Buffer.byteLength(text),
    headers,
    problem: firstOf(
      differs('the rest never comes\n', text),
      differs(cancel, await after.body.text()),
      !sameSession && 'the session did not survive',
    ),
  }
}

/** @type {readonly Case[]} */
export const endingCases = [
  {
    api: 'request, aborted by its signal',
    path: '/stall',
    status: 'AbortError',
    elsewhere: 'left out',
    run(context) {
      const controller = new AbortController()
      return readUnended(
        context,
        { signal: controller.signal },
        () => controller.abort(),
        (error) => (error === controller.signal.reason ? error.name : `${error}`),
      )
    },
  },
  {
    api: 'request, bodyTimeout: 100',
    path: '/stall',
    status: 'UND_ERR_BODY_TIMEOUT',
    elsewhere: 'left out',
    run(context) {
      const { BodyTimeoutError } = context.dodici.errors
      return readUnended(
        context,
        { bodyTimeout: 100 },
        () => {},
        (error) => (error instanceof BodyTimeoutError ? error.code : `${error}`),
      )
    },
  },
]
