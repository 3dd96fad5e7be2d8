/**
 * One adapter for every function of the shape of the Fetch standard's fetch().
 *
 * @typedef {{ status: number, text(): Promise<string> }} FetchAnswer
 * @typedef {(url: string, init: object) => Promise<FetchAnswer>} FetchLike
 */

/**
 * @param {FetchLike} fetch
 * @param {object} [extra] further options of each request: a dispatcher
 * @returns {import('./index.mjs').Start}
 */
export function toFetchStart(fetch, extra) {
  const headers = { accept: '*/*', 'user-agent': 'bench' }
  return ({ url, method, body }, done) => {
    const failed = (/** @type {Error} */ error) => done(error, 0, 0)
    // Not null: fetch-h2 would take that for a body.
    fetch(url, { method, headers, ...extra, body: body ?? undefined }).then(
      // The body is ASCII, so the length of the text is its number of bytes.
      (answer) => answer.text().then((text) => done(null, answer.status, text.length), failed),
      failed,
    )
  }
}
