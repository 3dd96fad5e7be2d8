/**
 * What a case is, what it is given, and what it gives back.
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
 * @property {boolean} isOwn whether it is the demo's own server: any other owes us nothing but a response
 *
 * @typedef {object} Outcome
 * @property {number | string} status a number; the code of an error that had to come
 * @property {number} bytes
 * @property {HeaderObject | string[]} headers
 * @property {string | null} problem what was wrong with the response of the demo's own server
 *
 * @typedef {object} Case
 * @property {string} api
 * @property {string} [path] on the demo's own server; '/' where it isn't said
 * @property {string} [status] what the demo's own server has to lead to; 200 where it isn't said
 * @property {'sent' | 'may be refused' | 'left out'} [elsewhere] what becomes of it on any other server, which gets only
 *   what any server can respond; 'sent' where it isn't said
 * @property {(context: Context) => Promise<Outcome>} run
 */

/** What each case sends, where it sends something. */
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
 * @typedef {object} ResponseScript what an answer of request(), in any of its forms, has
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
