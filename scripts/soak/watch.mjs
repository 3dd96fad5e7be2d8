/** The soak's record of its calls: which are open, how the others ended, and what was wrong. */

/** Milliseconds after which a call, or a dispatcher's end, counts as lost: far more than any limit that calls have. */
const LOST = 30_000

/** Errors that the soak has caused itself. */
export class Expected extends Error {}

/** Dodici's own errors. An error of node under another name must not reach a caller. */
const KNOWN_CODES = /^(UND_ERR|DODICI_ERR)/
/** Errors that no request of the soak should cause either. */
const OUR_MISTAKES = ['InvalidArgumentError', 'NotSupportedError']
/**
 * Limits that fire when the peer or the client holds something back. Calls that the soak ends by a limit on purpose use
 * another one.
 */
const HELD_BACK = [
  'DODICI_ERR_QUEUE_TIMEOUT',
  'DODICI_ERR_UPLOAD_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]
const MAX_VIOLATIONS = 20

export class Watch {
  /** @type {Record<string, number>} */
  outcomes = {}
  /** @type {Record<string, number>} */
  errors = {}
  /** Calls by server. @type {Record<string, number>} */
  servers = {}
  /** Calls by kind. @type {Record<string, number>} */
  kinds = {}
  /** @type {string[]} */
  violations = []
  violationCount = 0
  settled = 0
  /** Calls whose response never came. */
  heldBack = 0
  /** Calls that were lost although the server had provably not processed them, and although they could be retried. */
  needless = 0
  /** Calls of gRPC that were lost unprocessed, with a body that can't be sent again. */
  lostOnce = 0
  /** When they began, by a description. @type {Map<object, { what: string, begun: number }>} */
  open = new Map()
  /** Handlers that were watched call by call. */
  handlers = 0

  /** @param {string} what */
  violate(what) {
    this.violationCount++
    if (this.violations.length < MAX_VIOLATIONS) this.violations.push(what)
  }

  /** @param {string} what @param {() => Promise<string>} run settles with how it ended */
  async followCall(what, run) {
    const key = {}
    this.open.set(key, { what, begun: performance.now() })
    try {
      this.count(this.outcomes, await run())
    } catch (error) {
      this.#judge(what, error)
    }
    this.open.delete(key)
    this.settled++
  }

  /** @param {string} what @param {() => Promise<void>} end of a dispatcher: it never fails */
  async followEnd(what, end) {
    const key = {}
    this.open.set(key, { what, begun: performance.now() })
    try {
      await end()
    } catch (error) {
      this.violate(`${what} failed: ${error instanceof Error ? error.stack : String(error)}`)
    }
    this.open.delete(key)
  }

  /** @param {Record<string, number>} table @param {string} name */
  count(table, name) {
    table[name] = (table[name] ?? 0) + 1
  }

  /** @param {string} what @param {unknown} error */
  #judge(what, error) {
    if (error instanceof Expected) {
      this.count(this.outcomes, error.message)
      return
    }
    const { code, name, message, processed, http2ErrorCode } = Object(error)
    const isKnown = typeof code === 'string' && (KNOWN_CODES.test(code) || name === 'ConnectError')
    if (!isKnown || OUR_MISTAKES.includes(name) || !['no', 'maybe', 'yes'].includes(processed)) {
      this.violate(`${what} failed with ${error instanceof Error ? error.stack : String(error)}`)
    } else {
      this.count(this.outcomes, 'failed')
      if (HELD_BACK.includes(code)) this.heldBack++
      // Origins and durations are many, and would be so many lines.
      const text = message.replace(/https?:\S+/g, '…').replace(/\b[A-Z][A-Z\d_]+$|\d+(x[\da-f]+)?/g, '…')
      const reason = typeof http2ErrorCode === 'number' ? `, HTTP/2 error ${http2ErrorCode}` : ''
      this.count(this.errors, `${name}, processed: ${processed}: ${text}${reason}`)
    }
  }

  /** The calls that have been open for too long. @param {number} lost milliseconds */
  findLost(lost = LOST) {
    const now = performance.now()
    for (const [key, { what, begun }] of this.open) {
      if (now - begun < lost) continue
      this.violate(`${what} has not settled within ${lost / 1_000} s`)
      this.open.delete(key)
    }
  }
}

/**
 * @typedef {import('../../types/index.ts').DispatchHandler} Handler
 * @typedef {import('../../types/index.ts').DispatchController} Controller
 * @typedef {import('../../types/index.ts').IncomingHttpHeaders} Headers
 * @typedef {import('../../types/index.ts').DispatcherComposeInterceptor} Interceptor
 */

/** Counts the calls of a handler's methods, and hands them on. @implements {Handler} */
class WatchedHandler {
  /** @param {Handler} handler @param {Watch} watch @param {string} what */
  constructor(handler, watch, what) {
    this.handler = handler
    this.watch = watch
    this.what = what
    this.ends = 0
    watch.handlers++
    watch.open.set(this, { what: `the handler of ${what}`, begun: performance.now() })
  }

  /** @param {string} event */
  check(event, isEnd = false) {
    if (this.ends > 0) this.watch.violate(`${this.what}: ${event} after its end`)
    if (!isEnd) return
    this.ends++
    this.watch.open.delete(this)
  }

  /** @param {Controller} controller @param {unknown} context */
  onRequestStart(controller, context) {
    this.check('onRequestStart')
    this.handler.onRequestStart?.(controller, context)
  }

  /**
   * @param {Controller} controller @param {number} status @param {Headers} headers
   * @param {import('node:stream').Duplex} socket
   */
  onRequestUpgrade(controller, status, headers, socket) {
    this.check('onRequestUpgrade', true)
    this.handler.onRequestUpgrade?.(controller, status, headers, socket)
  }

  /** @param {Controller} controller @param {number} status @param {Headers} headers */
  onResponseStart(controller, status, headers) {
    this.check('onResponseStart')
    this.handler.onResponseStart?.(controller, status, headers)
  }

  /** @param {Controller} controller @param {Buffer} chunk */
  onResponseData(controller, chunk) {
    this.check('onResponseData')
    this.handler.onResponseData?.(controller, chunk)
  }

  /** @param {Controller} controller @param {Headers} trailers */
  onResponseEnd(controller, trailers) {
    this.check('onResponseEnd', true)
    this.handler.onResponseEnd?.(controller, trailers)
  }

  /** @param {Controller} controller @param {Error} error */
  onResponseError(controller, error) {
    this.check('onResponseError', true)
    this.handler.onResponseError?.(controller, error)
  }
}

/** An interceptor that watches each call. @param {Watch} watch */
export function toInterceptor(watch) {
  /** @type {Interceptor} */
  const interceptor = (dispatch) => (options, handler) =>
    // Those of the soak are of the newer shape.
    dispatch(
      options,
      new WatchedHandler(/** @type {Handler} */ (handler), watch, `${options.method} ${options.path}`),
    )
  return interceptor
}
