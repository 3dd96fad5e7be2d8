/**
 * A relay that hands on each byte a fixed time after it came, in order, both ways: emulated distance, and nothing else.
 * It bounds no rate and holds no connection back. Writes `listening PORT` when it is ready, and ends when its standard
 * input does, which also happens when the process that started it dies.
 */
import { connect, createServer } from 'node:net'
import { portOf } from '../../scripts/processes.mjs'

/** @type {{ port: number, delay: number }} port: where to; delay: milliseconds, one way */
const { port, delay } = JSON.parse(process.argv[2] ?? '{}')

/** Timers are late by as much on the average: what is due so soon, in milliseconds, may leave. */
const SLACK = 0.75
/**
 * What a read from the server may bring, and what its memory is cut from, in bytes. Small reads would be the
 * bottleneck.
 */
const READ_SIZE = 2 ** 19
const SLAB_SIZE = 2 ** 22

/**
 * Memory for what comes from the server. It is used again and again: fresh pages cost more than the copying. Each
 * connection has its own, since node holds the room for a connection's next read while others are reading.
 *
 * @typedef {{ bytes: Buffer, used: number, waiting: number }} Slab `waiting`: pieces of it that haven't been written
 *   yet
 */
class Memory {
  /** @type {Slab[]} */
  #spare = []
  #slab = this.#toSlab()

  /** @returns {Slab} */
  #toSlab() {
    const used = this.#spare.pop()
    if (used === undefined) return { bytes: Buffer.allocUnsafeSlow(SLAB_SIZE), used: 0, waiting: 0 }
    used.used = 0
    return used
  }

  /** Room for the next read. */
  toRoom() {
    if (this.#slab.used + READ_SIZE > SLAB_SIZE) {
      const full = this.#slab
      this.#slab = this.#toSlab()
      if (full.waiting === 0) this.#spare.push(full)
    }
    return this.#slab.bytes.subarray(this.#slab.used, this.#slab.used + READ_SIZE)
  }

  /** @param {number} length of what was read into that room @returns {{ bytes: Buffer, from: Slab }} */
  take(length) {
    const from = this.#slab
    const bytes = from.bytes.subarray(from.used, from.used + length)
    from.used += length
    from.waiting++
    return { bytes, from }
  }

  /** @param {Slab} from */
  giveBack(from) {
    from.waiting--
    if (from.waiting === 0 && from !== this.#slab) this.#spare.push(from)
  }
}

/**
 * One direction of one connection.
 *
 * @param {import('node:net').Socket} to @param {Memory} [memory] where what it carries lies
 * @returns {{ take(bytes: Buffer | null, from?: Slab): void, drop(): void }} null is the end
 */
function makeWay(to, memory) {
  /**
   * What is on its way, and when it is there; null is the end.
   *
   * @type {{ at: number, bytes: Buffer | null, from: Slab | undefined }[]}
   */
  let waiting = []
  let first = 0
  /** @type {NodeJS.Timeout | null} */
  let timer = null

  function deliver() {
    timer = null
    const now = performance.now()
    // One write to the socket for all that is there by now.
    to.cork()
    while (first < waiting.length && waiting[first].at <= now + SLACK) {
      const { bytes, from } = waiting[first++]
      if (bytes === null) to.end()
      else if (to.writable) to.write(bytes, from === undefined ? undefined : () => memory?.giveBack(from))
    }
    to.uncork()
    if (first === waiting.length) {
      waiting = []
      first = 0
    } else {
      // Not one by one: that would be quadratic.
      if (first > 1_000) {
        waiting = waiting.slice(first)
        first = 0
      }
      timer = setTimeout(deliver, waiting[first].at - now - SLACK)
    }
  }

  /** @param {Buffer | null} bytes @param {Slab} [from] */
  function take(bytes, from) {
    waiting.push({ at: performance.now() + delay, bytes, from })
    if (delay === 0) deliver()
    else timer ??= setTimeout(deliver, delay - SLACK)
  }

  return {
    take,
    drop() {
      if (timer !== null) clearTimeout(timer)
      to.destroy()
    },
  }
}

/**
 * Tells a way of the end of the side that it comes from.
 *
 * @param {import('node:net').Socket} from @param {ReturnType<typeof makeWay>} way
 */
function watch(from, way) {
  from.on('end', () => way.take(null))
  from.on('close', () => {
    if (!from.readableEnded) way.drop()
  })
  from.on('error', () => {})
}

const options = { noDelay: true, allowHalfOpen: true }
const server = createServer(options, (near) => {
  // Neither side is ever paused: what waits is bounded by HTTP/2's own windows.
  const memory = new Memory()
  const down = makeWay(near, memory)
  /** @param {number} length */
  const callback = (length) => {
    const { bytes, from } = memory.take(length)
    down.take(bytes, from)
    return true
  }
  const far = connect({
    port,
    host: '127.0.0.1',
    ...options,
    onread: { buffer: () => memory.toRoom(), callback },
  })
  const up = makeWay(far)
  near.on('data', (/** @type {Buffer} */ bytes) => up.take(bytes))
  watch(near, up)
  watch(far, down)
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening ${portOf(server)}\n`)
})

process.stdin.on('end', () => process.exit())
process.stdin.resume()
