/**
 * One adapter for every function of the shape of the Fetch standard's fetch().
 *
 * @typedef {{ status: number, text(): Promise<string>, json(): Promise<unknown> }} FetchResult
 * @typedef {(url: string, init: object) => Promise<FetchResult>} FetchLike
 */
import { isJsonPath, toJsonDocument } from '../json-document.mjs'
import { toBody } from './piece-reader.mjs'

/**
 * @param {FetchLike} fetch
 * @param {object} [extra] further options of each request: a dispatcher
 * @returns {import('./index.mjs').Start}
 */
export function toFetchStart(fetch, extra) {
  const start = toTextStart(fetch, extra)
  const startJson = toJsonStart(fetch, extra)
  return (target, done) => (isJsonPath(target.path) ? startJson : start)(target, done)
}

/**
 * @param {FetchLike} fetch
 * @param {object | undefined} extra
 * @returns {import('./index.mjs').Start}
 */
function toTextStart(fetch, extra) {
  const headers = { accept: '*/*', 'user-agent': 'bench' }
  // A body that is read while it is sent has to say so, by the standard.
  const streamed = { headers, ...extra, duplex: 'half' }
  const buffered = { headers, ...extra }
  return (target, done) => {
    const { url, method, isStreamed } = target
    const failed = (/** @type {Error} */ error) => done(error, 0, 0)
    // Not null: fetch-h2 would take that for a body.
    const body = toBody(target) ?? undefined
    fetch(url, { method, ...(isStreamed ? streamed : buffered), body }).then(
      // The body is ASCII, so the length of the text is its number of bytes.
      (response) => response.text().then((text) => done(null, response.status, text.length), failed),
      failed,
    )
  }
}

/**
 * Sends an object, as JSON of the body's length, and reads one.
 *
 * @param {FetchLike} fetch
 * @param {object | undefined} extra
 * @returns {import('./index.mjs').Start}
 */
function toJsonStart(fetch, extra) {
  const accept = { accept: 'application/json', 'user-agent': 'bench' }
  const both = { ...accept, 'content-type': 'application/json' }
  /** @type {object | undefined} */
  let document
  /** @param {number} bytes */
  const toText = (bytes) => {
    document ??= toJsonDocument(bytes)
    return JSON.stringify(document)
  }
  return ({ url, method, body }, done) => {
    const failed = (/** @type {Error} */ error) => done(error, 0, 0)
    const sent = body === null ? { headers: accept } : { headers: both, body: toText(body.length) }
    fetch(url, { method, ...sent, ...extra }).then(
      (response) => response.json().then((value) => done(null, response.status, readSize(value)), failed),
      failed,
    )
  }
}

/**
 * @param {unknown} value
 * @returns {number} of which text it says to be; NaN: it isn't our document
 */
function readSize(value) {
  return typeof value === 'object' && value !== null && 'bytes' in value ? Number(value.bytes) : Number.NaN
}
