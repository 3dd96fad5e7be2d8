/**
 * Time limits, and words for errors.
 */

/** How long a case, a probe or a close may take, in milliseconds. */
const limit = 10_000

/** An error whose message is all that the user needs. */
export class DemoError extends Error {}

/**
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
export async function withinLimit(promise) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      reject(Object.assign(new Error(`nothing after ${limit / 1000} s`), { code: 'DEMO_TIMEOUT' }))
    }, limit)
  })
  try {
    return /** @type {T} */ (await Promise.race([promise, late]))
  } finally {
    clearTimeout(timer)
  }
}

/**
 * @param {unknown} error
 * @returns {string}
 */
export function codeOf(error) {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/**
 * @param {unknown} error
 * @returns {string} the message, and those of what caused it
 */
export function explain(error) {
  if (!(error instanceof Error)) return String(error)
  // Several addresses that all fail make an AggregateError, whose own message is empty.
  const message =
    error.message || (error instanceof AggregateError ? error.errors.map(explain).join('; ') : error.name)
  return error.cause === undefined || error.cause === null ? message : `${message} (${explain(error.cause)})`
}
