/**
 * Two small things that every request makes, each beside the obvious alternative: `node bench/micro/objects.mjs`.
 */
import { AsyncResource } from 'node:async_hooks'
import { Bench } from 'tinybench'

/** As `makeWireHeaders()` of `src/core/headers.ts` does it. */
const WireObject = /** @type {new () => Record<string, string>} */ (
  /** @type {unknown} */ (function WireObject() {})
)
WireObject.prototype = Object.freeze(Object.create(null))

/**
 * Fills it as a request does, and copies it as node:http2 does.
 *
 * @param {Record<string, string>} headers
 */
function use(headers) {
  headers[':method'] = 'GET'
  headers[':scheme'] = 'https'
  headers[':authority'] = 'localhost'
  headers[':path'] = '/'
  headers.accept = '*/*'
  return Object.assign(Object.create(null), headers)
}

/** @param {number} value */
const callback = (value) => value

const bench = new Bench({ time: 1000 })
bench
  .add('request headers: Object.create(null)', () => use(Object.create(null)))
  .add('request headers: an empty, inherited prototype', () => use(new WireObject()))
  .add("caller's context: AsyncResource.bind()", () => AsyncResource.bind(callback)(1))
  .add("caller's context: runInAsyncScope()", () => new AsyncResource('X').runInAsyncScope(callback, null, 1))
await bench.run()
console.table(bench.table())
