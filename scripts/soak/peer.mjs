/**
 * A server that treats each request and each connection mostly correctly, and otherwise wrongly by chance: the one of `dodici/testing`, in
 * a separate process. Its argument is `{ seed }`.
 */
import { createFaultServer } from '../../src/testing/index.ts'
import { serve } from '../child.mjs'
import { makeRandom } from '../random.mjs'

/**
 * @typedef {import('../../src/testing/index.ts').FaultStream} FaultStream
 * @typedef {import('../../src/testing/index.ts').FaultConnection} FaultConnection
 */

/** How often something happens to the whole connection, for each request. */
const DISTURBANCES = 0.005
/** How often the server acts before the end of a request body. */
const EARLY = 0.1
/** Milliseconds. */
const SLOW = 40
const NARROW = 300
/** A client that gets no sign of life notices by its own clocks, by then at the latest. Milliseconds. */
const BLACK_HOLE = 2_000
/** The codes of RFC 9113 §7 without REFUSED_STREAM, and an unknown one. */
const CODES = [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 0xbad]
const MAX_STREAM_ID = 2 ** 31 - 1
const LIMIT = 100
const MAX_WINDOW = 65_535
/** As many bytes of a POST's body name it. */
const TAG_LENGTH = 9

const { seed } = JSON.parse(process.argv[2] ?? '{}')
const random = makeRandom(seed)
const filler = Buffer.alloc(2 ** 20, 'soak ')

/** By name. @type {Record<string, number>} */
const faults = {}
/** @type {string[]} */
const violations = []
let streams = 0
/** The streams that brought each POST and weren't refused, by its tag. @type {Map<string, Set<FaultStream>>} */
const taken = new Map()

/**
 * What the server knows of a connection. `limit`: of concurrent streams, as the client knows it, since each value counts from its ACK;
 * `lastLimit`: the last one that was sent; `lastTouched`: the last stream that anything was done for.
 */
class State {
  limit = Number.POSITIVE_INFINITY
  lastLimit = Number.POSITIVE_INFINITY
  lastTouched = 0
}

/** @type {WeakMap<FaultConnection, State>} */
const states = new WeakMap()
/** The first bytes of each body. @type {WeakMap<FaultStream, string>} */
const tags = new WeakMap()

/** @param {FaultConnection} connection @returns {State} */
function stateOf(connection) {
  const state = states.get(connection) ?? new State()
  states.set(connection, state)
  return state
}

/** @param {FaultConnection} connection @param {FaultStream} stream */
function touch(connection, { id }) {
  const state = stateOf(connection)
  state.lastTouched = Math.max(state.lastTouched, id)
}

/** @param {string} name */
function count(name) {
  faults[name] = (faults[name] ?? 0) + 1
}

/** A piece of a request body has arrived. @param {FaultStream} stream @param {FaultConnection} connection */
function onData(stream, connection) {
  const piece = Buffer.concat(stream.chunks.splice(0))
  // Promised never to be looked at (RFC 9113 §6.8, §8.7).
  if (stream.id > connection.lastTaken || stream.isReset) return
  touch(connection, stream)
  const before = tags.get(stream) ?? ''
  const tag = before + piece.toString('latin1', 0, TAG_LENGTH - before.length)
  tags.set(stream, tag)
  if (tag.length === TAG_LENGTH) taken.set(tag, (taken.get(tag) ?? new Set()).add(stream))
}

/** Mostly one small frame; and often enough more than a window has room for, which a slow reader then keeps closed. */
function toSize() {
  const large = random.next()
  if (large < 0.85) return random.integer(10, 300)
  return large < 0.97 ? random.integer(300, 60_000) : random.integer(60_000, 400_000)
}

/**
 * The header section, and a body that contains its length, in one piece or several.
 *
 * @param {FaultStream} stream
 * @param {{ slow?: boolean, upTo?: number, announced?: number }} options `upTo`: which part of the body is sent; with less than all of it
 *   the response has no end; `announced`: by how much content-length is too large
 */
async function respond(stream, { slow = false, upTo = 1, announced = 0 } = {}) {
  const size = toSize()
  const body = Buffer.from(filler.subarray(0, size))
  body.write(`${size}:`)
  if (random.chance(0.05)) stream.inform(random.pick([100, 103]))
  /** @type {Record<string, number>} */
  const length = announced > 0 || random.chance(0.5) ? { 'content-length': size + announced } : {}
  stream.head(200, length)
  const end = Math.floor(size * upTo)
  const pieces = slow ? random.integer(2, 4) : random.chance(0.1) ? 2 : 1
  for (let index = 0; index < pieces; index++) {
    if (slow && index > 0) await stream.delay(random.integer(0, SLOW))
    const piece = body.subarray(Math.floor((end * index) / pieces), Math.floor((end * (index + 1)) / pieces))
    if (!(await stream.data(piece))) return
  }
  if (upTo < 1) return
  await (random.chance(0.05) ? stream.endWith({ soak: 'yes' }) : stream.end())
  // A response that doesn't wait for the end of the request (RFC 9113 §8.1).
  if (!stream.isComplete && random.chance(0.7)) stream.reset('NO_ERROR')
}

/** @type {Readonly<Record<string, (stream: FaultStream) => unknown>>} */
const plans = {
  response: (stream) => respond(stream),
  async slow(stream) {
    if (await stream.delay(random.integer(0, SLOW))) await respond(stream, { slow: true })
  },
  refused(stream) {
    taken.get(tags.get(stream) ?? '')?.delete(stream)
    stream.refuse()
  },
  resetBefore: (stream) => stream.reset(random.pick(CODES)),
  async resetWithin(stream) {
    void respond(stream, { upTo: random.pick([0, 0.5, 0.99]) })
    if (random.chance(0.5)) await stream.delay(random.integer(0, SLOW))
    stream.reset(random.pick(CODES))
  },
  withheld() {},
  withheldWithin: (stream) => respond(stream, { upTo: 0.5 }),
  /** The end comes before all that was announced. */
  truncated: (stream) => respond(stream, { announced: 10 }),
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
/** Before the end of a request. */
const EARLY_WEIGHTS = { response: 2, refused: 4, resetBefore: 2, resetWithin: 1 }

/** A request has begun. @param {FaultStream} stream @param {FaultConnection} connection */
async function onRequest(stream, connection) {
  // The client sent it before it knew the limit.
  const isOver = connection.open > stateOf(connection).lastLimit && random.chance(0.5)
  const isEarly = stream.method === 'POST' && (isOver || random.chance(EARLY))
  if (!isEarly && !(await stream.whole())) return
  if (stream.isReset || stream.id > connection.lastTaken) return
  const name = isOver ? 'refused' : random.weighted(isEarly ? EARLY_WEIGHTS : WEIGHTS)
  if (name !== 'refused') touch(connection, stream)
  count(name)
  await plans[name](stream)
}

/** @param {FaultConnection} connection @param {number} limit */
function setLimit(connection, limit) {
  const state = stateOf(connection)
  state.lastLimit = limit
  connection.announce([{ maxConcurrentStreams: limit }], () => {
    state.limit = limit
  })
}

/** Streams with a higher id than any that was processed may be retried. @param {FaultConnection} connection @param {number} code */
function goAway(connection, code) {
  const newest = connection.streams.at(-1)?.id ?? 0
  // It may be lower than in an earlier GOAWAY, never higher (RFC 9113 §6.8).
  const lastStreamId = Math.min(connection.lastTaken, random.integer(stateOf(connection).lastTouched, newest))
  connection.goAway({ lastStreamId, code, debugData: 'soak', closes: 'when drained' })
}

/** Does it later, unless the connection is closed by then. @param {FaultConnection} connection @param {number} least @param {() => void} act */
async function soon(connection, least, act) {
  if (await connection.delay(random.integer(least, SLOW))) act()
}

/** @type {Readonly<Record<string, (connection: FaultConnection) => unknown>>} */
const disturbances = {
  goaway: (connection) => goAway(connection, 0),
  /** A graceful shutdown: the last stream id follows. */
  goawayTwoStep(connection) {
    connection.goAway({ lastStreamId: Math.min(connection.lastTaken, MAX_STREAM_ID) })
    return soon(connection, 1, () => goAway(connection, 0))
  },
  goawayError(connection) {
    goAway(connection, random.pick([1, 2, 11]))
    return soon(connection, 0, () => connection.transport.destroy())
  },
  destroy: (connection) => connection.transport.destroy(),
  reset: (connection) => connection.break(),
  fin: (connection) => connection.end(),
  /** Room for none, and after a while for some again. */
  noRoom(connection) {
    setLimit(connection, 0)
    return soon(connection, 1, () => setLimit(connection, LIMIT))
  },
  async limit(connection) {
    setLimit(connection, random.pick([1, 3, 10, 50, 100, 250]))
    // With one stream at a time for good, the rest of the soak would be about waiting.
    if (await connection.delay(random.integer(1, NARROW))) setLimit(connection, random.pick([20, LIMIT]))
  },
  noWindow(connection) {
    void connection.settings({ initialWindowSize: 0 })
    return soon(connection, 1, () => void connection.settings({ initialWindowSize: MAX_WINDOW }))
  },
  async blackHole(connection) {
    connection.fallSilent()
    connection.pauseReading()
    await connection.delay(BLACK_HOLE)
    connection.transport.destroy()
  },
  /** DATA on no stream: a connection error (RFC 9113 §6.1). */
  nonsense: (connection) => connection.badFrame('DATA on stream 0'),
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

/** @param {FaultStream} stream @param {FaultConnection} connection */
async function beforeRequest({ id }, connection) {
  // Promised never to be looked at (RFC 9113 §6.8).
  if (id > connection.lastTaken) return
  streams++
  const { limit } = stateOf(connection)
  if (connection.open > limit)
    violations.push(
      `stream ${id} of connection ${connection.index} exceeds the acknowledged limit of ${limit}`,
    )
  if (connection.lastTaken !== Number.POSITIVE_INFINITY || !random.chance(DISTURBANCES)) return
  const name = random.weighted(DISTURBANCE_WEIGHTS)
  count(name)
  if (random.chance(0.5) || (await connection.delay(random.integer(0, SLOW))))
    await disturbances[name](connection)
}

const server = await createFaultServer({ h2c: true })
server
  .onSocket('*', ({ socket }) => {
    if (!random.chance(0.01)) return
    count('dropped as it came')
    socket.destroy()
  })
  .onConnection('*', {
    settings: null,
    /** SETTINGS, at once or late. */
    async onConnection(connection) {
      if (random.chance(0.1)) await connection.delay(random.integer(1, SLOW))
      setLimit(connection, random.pick([10, LIMIT, LIMIT, LIMIT, 250]))
    },
    onRequest: beforeRequest,
    onData,
  })
  .onRequest('*', onRequest, { at: 'header' })

const methods = {
  listen: () => server.port,
  tally() {
    const twice = [...taken].filter(([tag, { size }]) => tag.startsWith('P') && size > 1)
    const texts = twice.map(([tag, all]) => {
      const where = [...all].map(
        ({ id, connection, isComplete }) => `${connection.index}/${id}${isComplete ? '' : ' in part'}`,
      )
      return `the POST ${tag} was taken ${all.size} times, by connection/stream ${where.join(', ')}`
    })
    const { length } = server.connections
    return { faults, violations: [...violations, ...texts], connections: length, streams, posts: taken.size }
  },
}
serve(methods)

/** @typedef {typeof methods} Methods */
