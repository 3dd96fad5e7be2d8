/**
 * Keeps requests in flight, checks every response, and takes the time of each.
 *
 * @typedef {import('./clients/index.mjs').Start} Start
 * @typedef {import('./clients/index.mjs').Target} Target
 * @typedef {object} Shape
 * @property {readonly Target[]} targets
 * @property {number} inFlight
 * @property {'steady' | 'rounds'} pattern
 * @property {number} responseBytes
 * @property {boolean} [varies] each request has a path of its own: that of its target, and a query with its number
 */

/** One request in flight after the other. It is made once, so that a request costs the harness no closure. */
class Slot {
  /** @param {Load} load */
  constructor(load) {
    // Not 0: a field that begins as an integer would change its representation with the first time.
    this.began = Number.NaN
    /** @type {import('./clients/index.mjs').Done} */
    this.done = (error, status, bytes) => load.finish(this, error, status, bytes)
  }
}

export class Load {
  /** @type {Start} */
  #start
  /** @type {Shape} */
  #shape
  /** @type {Slot[]} */
  #slots
  #turn = 0
  #number = 0
  /** Of this burst: how many there are, were started, and got their responses. */
  #count = 0
  #started = 0
  #responded = 0
  /** Of all bursts of this run, in milliseconds. */
  #latencies = new Float64Array(0)
  #timed = 0
  /** @type {() => void} */
  #resolve = () => {}
  /** @type {(error: Error) => void} */
  #reject = () => {}

  /** @param {Start} start @param {Shape} shape */
  constructor(start, shape) {
    this.#start = start
    this.#shape = shape
    this.#slots = Array.from({ length: shape.inFlight }, () => new Slot(this))
  }

  /**
   * Starts `count` requests and settles when all have got their responses, or at the first wrong one.
   *
   * @param {number} count
   * @returns {Promise<Float64Array>} how long each took, in milliseconds
   */
  async run(count) {
    const { pattern, inFlight } = this.#shape
    const size = pattern === 'steady' ? count : inFlight
    this.#latencies = new Float64Array(count)
    this.#timed = 0
    for (let left = count; left > 0; left -= size) await this.#burst(Math.min(size, left))
    return this.#latencies
  }

  /** @param {number} count @returns {Promise<void>} */
  #burst(count) {
    this.#count = count
    this.#started = 0
    this.#responded = 0
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      for (const slot of this.#slots.slice(0, count)) this.#begin(slot, performance.now())
    })
  }

  /** @param {Slot} slot @param {number} now */
  #begin(slot, now) {
    const { targets } = this.#shape
    const target = /** @type {Target} */ (targets[this.#turn])
    this.#turn = this.#turn + 1 === targets.length ? 0 : this.#turn + 1
    this.#started++
    slot.began = now
    this.#start(this.#shape.varies === true ? this.#vary(target) : target, slot.done)
  }

  /** @param {Target} target @returns {Target} */
  #vary(target) {
    const query = `?n=${this.#number++}`
    return { ...target, path: `${target.path}${query}`, url: `${target.url}${query}` }
  }

  /** @param {Slot} slot @param {Error | null} error @param {number} status @param {number} bytes */
  finish(slot, error, status, bytes) {
    const { responseBytes } = this.#shape
    if (error !== null || status !== 200 || bytes !== responseBytes) {
      this.#started = this.#count
      const wrong = `a wrong response: status ${status}, ${bytes} bytes instead of ${responseBytes}`
      this.#reject(error ?? new Error(wrong))
      return
    }
    // The response to one is the start of the next: one look at the clock for both.
    const now = performance.now()
    this.#latencies[this.#timed++] = now - slot.began
    if (++this.#responded === this.#count) this.#resolve()
    else if (this.#started < this.#count) this.#begin(slot, now)
  }
}

/**
 * The value that so many of all don't exceed (nearest rank).
 *
 * @param {Float64Array} values @param {number} share above 0, up to 1
 * @returns {number}
 */
export function percentile(values, share) {
  return values.toSorted()[Math.ceil(share * values.length) - 1] ?? Number.NaN
}
