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
    await this.#follow(what, async () => this.count(this.outcomes, await run()), this.#judge)
    this.settled++
  }

  /** @param {string} what @param {() => Promise<void>} end of a dispatcher: it never fails */
  followEnd(what, end) {
    return this.#follow(what, end, this.#refuse)
  }

  /**
   * @param {string} what @param {() => Promise<void>} run
   * @param {(what: string, error: unknown) => void} judge
   */
  async #follow(what, run, judge) {
    const key = {}
    this.open.set(key, { what, begun: performance.now() })
    await run().catch((error) => judge.call(this, what, error))
    this.open.delete(key)
  }

  /** @param {Record<string, number>} table @param {string} name */
  count(table, name) {
    table[name] = (table[name] ?? 0) + 1
  }

  /** @param {string} what @param {unknown} error */
  #refuse(what, error) {
    this.violate(`${what} failed with ${error instanceof Error ? error.stack : String(error)}`)
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
      this.#refuse(what, error)
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

/** The methods of a handler, and whether each is its end. */
const EVENTS = {
  onRequestStart: false,
  onRequestUpgrade: true,
  onResponseStart: false,
  onResponseData: false,
  onResponseEnd: true,
  onResponseError: true,
}

/** An interceptor that watches each call: nothing comes after its end. @param {Watch} watch */
export function toInterceptor(watch) {
  /** @type {import('../../types/index.ts').DispatcherComposeInterceptor} */
  const interceptor = (dispatch) => (options, handler) => {
    const what = `${options.method} ${options.path}`
    let hasEnded = false
    const own = /** @type {Record<string, Function | undefined>} */ (/** @type {unknown} */ (handler))
    const methods = Object.entries(EVENTS).map(([event, isEnd]) => [
      event,
      (/** @type {unknown[]} */ ...args) => {
        if (hasEnded) watch.violate(`${what}: ${event} after its end`)
        if (isEnd) {
          hasEnded = true
          watch.open.delete(methods)
        }
        own[event]?.call(handler, ...args)
      },
    ])
    watch.handlers++
    watch.open.set(methods, { what: `the handler of ${what}`, begun: performance.now() })
    return dispatch(options, Object.fromEntries(methods))
  }
  return interceptor
}
