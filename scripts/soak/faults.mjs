/** How the server treats each request and its connections: mostly correctly. */
import { Flag, frames, Setting } from '../../src/testing/frames.ts'

/**
 * @typedef {import('./connection.mjs').Connection} Connection
 * @typedef {import('./connection.mjs').Stream} Stream
 */

/** How often something happens to the whole connection, for each request. */
const DISTURBANCES = 0.005

/** Milliseconds. */
const SLOW = 40
const NARROW = 300
/** A client that gets no sign notices by its own clocks, by then at the latest. */
const BLACK_HOLE = 2_000

const NO_ERROR = 0
const REFUSED_STREAM = 7
/** The codes of RFC 9113 §7 without REFUSED_STREAM, and an unknown one. */
const CODES = [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 0xbad]

const LIMIT = 100
const MAX_WINDOW = 65_535

/** @type {[string, string][]} */
const TRAILERS = [['soak', 'yes']]

const filler = Buffer.alloc(2 ** 20, 'soak ')

/** A body that contains its length. @param {number} size */
function toBody(size) {
  const body = Buffer.from(filler.subarray(0, size))
  body.write(`${size}:`)
  return body
}

/**
 * Later, unless the connection is gone by then.
 *
 * @param {Connection} connection @param {number} delay in milliseconds @param {() => void} callback
 */
function later(connection, delay, callback) {
  setTimeout(() => {
    if (!connection.socket.destroyed) callback()
  }, delay)
}

/**
 * Mostly one small frame; and often enough more than a window has room for, which a slow reader then keeps closed.
 *
 * @param {Connection} connection
 */
function toSize({ random }) {
  const large = random.next()
  if (large < 0.85) return random.integer(10, 300)
  return large < 0.97 ? random.integer(300, 60_000) : random.integer(60_000, 400_000)
}

/**
 * The header, and the body in one piece or several.
 *
 * @param {Connection} connection @param {Stream} stream
 * @param {{ slow?: boolean, upTo?: number, announced?: number }} options `upTo`: which part of the body is sent; with
 *   less than all of it the response has no end
 */
function response(connection, stream, { slow = false, upTo = 1, announced = 0 } = {}) {
  const { random } = connection
  const body = toBody(toSize(connection))
  if (random.chance(0.05)) {
    connection.send(stream, {
      frame: frames.headers(stream.id, [[':status', String(random.pick([100, 103]))]]),
    })
  }
  const length = announced > 0 ? body.length + announced : random.chance(0.5) ? body.length : null
  connection.send(stream, { frame: frames.response(stream.id, 0, length) })
  const hasTrailers = random.chance(0.05)
  const end = Math.floor(body.length * upTo)
  const pieces = slow ? random.integer(2, 4) : random.chance(0.1) ? 2 : 1
  /** @param {number} index */
  const sendPiece = (index) => {
    const isLast = index === pieces - 1
    const data = body.subarray(Math.floor((end * index) / pieces), Math.floor((end * (index + 1)) / pieces))
    connection.send(stream, { data, isLast: isLast && upTo === 1 && !hasTrailers })
    if (!isLast) {
      if (slow) later(connection, random.integer(0, SLOW), () => sendPiece(index + 1))
      else sendPiece(index + 1)
    } else if (hasTrailers && upTo === 1) {
      connection.send(stream, { frame: frames.headers(stream.id, TRAILERS, Flag.END_STREAM), isLast: true })
    }
  }
  sendPiece(0)
}

/** @type {Readonly<Record<string, (connection: Connection, stream: Stream) => void>>} */
const plans = {
  response: (connection, stream) => response(connection, stream),
  slow(connection, stream) {
    later(connection, connection.random.integer(0, SLOW), () => response(connection, stream, { slow: true }))
  },
  refused(connection, stream) {
    stream.tag = null
    connection.reset(stream, REFUSED_STREAM)
  },
  resetBefore: (connection, stream) => connection.reset(stream, connection.random.pick(CODES)),
  resetWithin(connection, stream) {
    const { random } = connection
    response(connection, stream, { upTo: random.pick([0, 0.5, 0.99]) })
    const reset = () => connection.reset(stream, random.pick(CODES))
    if (random.chance(0.5)) reset()
    else later(connection, random.integer(0, SLOW), reset)
  },
  withheld() {},
  withheldWithin: (connection, stream) => response(connection, stream, { upTo: 0.5 }),
  /** The end comes before all that was announced. */
  truncated: (connection, stream) => response(connection, stream, { announced: 10 }),
}

const WEIGHTS = {
  response: 82,
  slow: 8,
  refused: 3,
  resetBefore: 2,
  resetWithin: 2,
  withheld: 0.7,
  withheldWithin: 0.5,
  truncated: 0.5,
}

/** Before the request's end. */
const EARLY_WEIGHTS = { response: 2, refused: 4, resetBefore: 2, resetWithin: 1 }
const EARLY = 0.1

/** A request has begun, or is complete. @param {Connection} connection @param {Stream} stream */
export function actOn(connection, stream) {
  const { random } = connection
  if (stream.isPlanned) return
  // The client sent it before it knew the limit.
  const isOver = connection.streams.size > connection.lastLimit && random.chance(0.5)
  if (!stream.hasAllOfIt && !isOver && !random.chance(EARLY)) return
  stream.isPlanned = true
  const name = isOver ? 'refused' : random.weighted(stream.hasAllOfIt ? WEIGHTS : EARLY_WEIGHTS)
  if (name !== 'refused') connection.lastTouched = Math.max(connection.lastTouched, stream.id)
  connection.count(name)
  plans[name](connection, stream)
}

/** @param {Connection} connection @param {number} limit */
function setLimit(connection, limit) {
  connection.lastLimit = limit
  connection.writeSettings([Setting.MAX_CONCURRENT_STREAMS, limit])
}

/** @type {Readonly<Record<string, (connection: Connection) => void>>} */
const disturbances = {
  goaway: (connection) => connection.sendGoaway(NO_ERROR),
  goawayTwoStep(connection) {
    connection.announceGoaway()
    later(connection, connection.random.integer(1, SLOW), () => connection.sendGoaway(NO_ERROR))
  },
  goawayError(connection) {
    connection.sendGoaway(connection.random.pick([1, 2, 11]))
    later(connection, connection.random.integer(0, SLOW), () => connection.socket.destroy())
  },
  destroy: (connection) => connection.socket.destroy(),
  reset: (connection) => connection.break(),
  fin(connection) {
    connection.goDeaf()
    connection.end()
  },
  /** Room for none, and after a while for some again. */
  noRoom(connection) {
    setLimit(connection, 0)
    later(connection, connection.random.integer(1, SLOW), () => setLimit(connection, LIMIT))
  },
  limit(connection) {
    const { random } = connection
    setLimit(connection, random.pick([1, 3, 10, 50, 100, 250]))
    // With one stream at a time for good, the rest of the soak would be about waiting.
    later(connection, random.integer(1, NARROW), () => setLimit(connection, random.pick([20, LIMIT])))
  },
  noWindow(connection) {
    connection.writeSettings([Setting.INITIAL_WINDOW_SIZE, 0])
    later(connection, connection.random.integer(1, SLOW), () => {
      connection.writeSettings([Setting.INITIAL_WINDOW_SIZE, MAX_WINDOW])
    })
  },
  blackHole(connection) {
    connection.goDeaf()
    connection.socket.pause()
    setTimeout(() => connection.socket.destroy(), BLACK_HOLE)
  },
  /** DATA on no stream: an error of the whole connection (RFC 9113 §6.1). */
  nonsense: (connection) => connection.write(frames.data(0, 'nonsense')),
}

const DISTURBANCE_WEIGHTS = {
  goaway: 20,
  goawayTwoStep: 15,
  goawayError: 5,
  destroy: 5,
  reset: 5,
  fin: 5,
  noRoom: 15,
  limit: 15,
  noWindow: 10,
  blackHole: 2,
  nonsense: 3,
}

/** Now and then something happens to the whole connection. @param {Connection} connection */
export function disturb(connection) {
  const { random } = connection
  if (connection.goaway !== null || !random.chance(DISTURBANCES)) return
  const name = random.weighted(DISTURBANCE_WEIGHTS)
  connection.count(name)
  if (random.chance(0.5)) disturbances[name](connection)
  else later(connection, random.integer(0, SLOW), () => disturbances[name](connection))
}

/** The greeting: at once, late, or none. @param {Connection} connection */
export function beginFaults(connection) {
  const { random } = connection
  const way = random.weighted({ atOnce: 90, late: 9, never: 1 })
  if (way === 'never') {
    connection.count('dropped as it came')
    connection.socket.destroy()
    return
  }
  const greet = () => setLimit(connection, random.pick([10, LIMIT, LIMIT, LIMIT, 250]))
  if (way === 'atOnce') greet()
  else later(connection, random.integer(1, SLOW), greet)
}
