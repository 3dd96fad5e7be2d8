/**
 * The types of a case, its context and its outcome.
 */

/**
 * @typedef {Record<string, string | string[] | undefined>} HeaderObject
 *
 * @typedef {object} Context
 * @property {typeof import('dodici')} dodici
 * @property {import('dodici').Client} client for the origin alone
 * @property {import('dodici').Agent} agent for any origin; the global dispatcher as well
 * @property {string} origin
 * @property {string} path of the case on the demo's own server; of the URL that was given on any other
 * @property {boolean} isOwn whether it is the demo's own server: any other server need only respond
 *
 * @typedef {object} Outcome
 * @property {number | string} status a number; or the code of an expected error
 * @property {number} bytes
 * @property {HeaderObject | string[]} headers
 * @property {string | null} problem what was wrong with the response of the demo's own server
 *
 * @typedef {object} Case
 * @property {string} api
 * @property {string} [path] on the demo's own server; '/' by default
 * @property {string} [status] the expected status from the demo's own server; 200 by default
 * @property {'sent' | 'may be refused' | 'left out'} [elsewhere] whether the case runs on any other server, which gets
 *   only requests that any server can respond to; 'sent' by default
 * @property {(context: Context) => Promise<Outcome>} run
 */

/** The body that cases send. */
export const upload = 'one line of an upload\n'

/** The text of the demo's own server at '/'. */
export const greeting = 'Hello from HTTP/2\n'.repeat(8)

/**
 * @param {string} expected
 * @param {string} text
 * @returns {string | null}
 */
export function differs(expected, text) {
  return text === expected ? null : `got ${JSON.stringify(text.slice(0, 80))}, not what was sent`
}

/**
 * @typedef {object} ResponseScript the members of a result of request(), in any of its forms
 * @property {number} statusCode
 * @property {HeaderObject | string[]} headers
 * @property {{ text(): Promise<string> }} body
 */

/**
 * @template {ResponseScript} T
 * @param {T} response
 * @param {(text: string, response: T) => string | null} check
 * @returns {Promise<Outcome>}
 */
export async function readResponse(response, check) {
  const text = await response.body.text()
  return {
    status: response.statusCode,
    // For a text that isn't UTF-8 this is an approximation.
    bytes: Buffer.byteLength(text),
    headers: response.headers,
    problem: check(text, response),
  }
}

/**
 * The first problem of several checks.
 *
 * @param {...(string | null | false)} problems
 * @returns {string | null}
 */
export function firstOf(...problems) {
  return problems.find((problem) => typeof problem === 'string') || null
}
