/**
 * Dodici's own fetch, over the global dispatcher or one that is named.
 */
import { differs, firstOf, greeting, upload } from '../case.mjs'

/** @typedef {import('../case.mjs').Case} Case */

/**
 * @param {Response} response
 * @param {string} text
 * @param {string} expected
 * @returns {import('../case.mjs').Outcome}
 */
function toOutcome(response, text, expected) {
  return {
    status: response.status,
    bytes: Buffer.byteLength(text),
    headers: Object.fromEntries(response.headers),
    problem: firstOf(differs(expected, text), !(response instanceof Response) && 'it is no Response'),
  }
}

/** @type {readonly Case[]} */
export const fetchCases = [
  {
    api: 'fetch(url), text()',
    run: async ({ dodici, origin, path }) => {
      const response = await dodici.fetch(`${origin}${path}`)
      return toOutcome(response, await response.text(), greeting)
    },
  },
  {
    api: 'fetch(url), POST, dispatcher: a Client',
    path: '/echo',
    run: async ({ dodici, origin, path, client }) => {
      const response = await dodici.fetch(`${origin}${path}`, {
        method: 'POST',
        body: upload,
        dispatcher: client,
      })
      return toOutcome(response, await response.text(), upload)
    },
  },
  {
    api: 'fetch(request), read as a web stream',
    path: '/echo',
    run: async ({ dodici, origin, path }) => {
      const request = new Request(`${origin}${path}`, { method: 'POST', body: upload })
      const response = await dodici.fetch(request)
      let text = ''
      for await (const chunk of response.body ?? []) text += Buffer.from(chunk)
      return toOutcome(response, text, upload)
    },
  },
]
