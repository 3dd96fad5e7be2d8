/**
 * One direction of a relayed connection: bytes wait until they are due, and while their lane is held. Nothing is changed,
 * reordered or left out, except that a connection may be reset.
 */

/** As many bytes wait at most; then the source is not read, as its buffers would be full. */
const MOST = 262_144
/** So many bytes of a chunk are sent one by one, where a lane says so: more would take a minute for a large body. */
const ONE_BY_ONE = 120

/**
 * @typedef {object} Weather what a lane does to the bytes of one direction
 * @property {boolean} isHeld nothing is passed on
 * @property {() => number} delay milliseconds for the next chunk
 * @property {((left: number) => number) | null} cut how long the next piece is; null: what has come together goes together
 */

/** @type {Weather} */
export const CALM = { isHeld: false, delay: () => 0, cut: null }

export class Pipe {
  /** Null: the end. @type {{ bytes: Buffer | null, due: number }[]} */
  #queue = []
  #waiting = 0
  #isScheduled = false
  #isBlocked = false
  #hasEnded = false

  /**
   * @param {import('node:net').Socket} source @param {import('node:net').Socket} sink @param {() => Weather} toWeather
   */
  constructor(source, sink, toWeather) {
    this.source = source
    this.sink = sink
    this.toWeather = toWeather
    /** How many bytes until the connection is reset. @type {number} */
    this.untilReset = Number.POSITIVE_INFINITY
    /** @type {() => void} */
    this.onReset = () => {}
    source.on('data', (/** @type {Buffer} */ bytes) => this.#add(bytes))
    source.on('end', () => this.#add(null))
    sink.on('drain', () => {
      this.#isBlocked = false
      this.run()
    })
  }

  /** Closes this direction behind what waits, as the source's own end would. */
  end() {
    this.#add(null)
  }

  /** @param {Buffer | null} bytes */
  #add(bytes) {
    if (this.#hasEnded) return
    this.#hasEnded = bytes === null
    const last = this.#queue.at(-1)
    // Nothing overtakes.
    const due = Math.max(performance.now() + this.toWeather().delay(), last?.due ?? 0)
    this.#queue.push({ bytes, due })
    this.#waiting += bytes?.length ?? 0
    if (this.#waiting > MOST) this.source.pause()
    this.run()
  }

  /** Passes on what is due. */
  run() {
    if (this.#isScheduled || this.#isBlocked) return
    for (let head = this.#queue[0]; head !== undefined && !this.sink.destroyed; head = this.#queue[0]) {
      const weather = this.toWeather()
      if (weather.isHeld) return
      const wait = head.due - performance.now()
      if (wait > 0) return this.#later(() => setTimeout(() => this.#resume(), Math.ceil(wait)))
      if (head.bytes === null) {
        this.#queue.shift()
        this.sink.end()
        continue
      }
      if (!this.#write(head.bytes, weather.cut)) return
    }
  }

  /** @param {Buffer} bytes @param {Weather['cut']} cut @returns {boolean} whether to go on at once */
  #write(bytes, cut) {
    const size = Math.min(bytes.length, cut?.(bytes.length) ?? bytes.length, this.untilReset)
    const [piece, rest] = [bytes.subarray(0, size), bytes.subarray(size)]
    if (rest.length === 0) this.#queue.shift()
    else this.#queue[0].bytes = rest
    this.#waiting -= size
    this.untilReset -= size
    if (this.#waiting <= MOST) this.source.resume()
    this.#isBlocked = size > 0 && !this.sink.write(piece)
    if (this.untilReset <= 0) {
      this.onReset()
      return false
    }
    if (cut !== null && !this.#isBlocked) this.#later(() => setImmediate(() => this.#resume()))
    return cut === null && !this.#isBlocked
  }

  /** @param {() => void} schedule */
  #later(schedule) {
    this.#isScheduled = true
    schedule()
  }

  #resume() {
    this.#isScheduled = false
    this.run()
  }
}

/**
 * Pieces of a random size up to `most`; of 1, of each chunk the first bytes go alone.
 *
 * @param {import('../../random.mjs').Random} random @param {number} most
 */
export function toCut(random, most) {
  let alone = ONE_BY_ONE
  return (/** @type {number} */ left) => {
    if (most > 1) return random.integer(1, most)
    if (alone-- > 0) return 1
    alone = ONE_BY_ONE
    return left
  }
}
