/**
 * The relay's way to one server: its connections, and the fault that it has at present. Faults come and go by the seed.
 */
import { connect, createServer } from 'node:net'
import { Flag, FrameParser, Setting, Type, toSettings } from '../../../src/testing/frames.ts'

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

/**
 * One direction of a relayed connection: bytes wait until they are due, and while their lane is held. Nothing is changed,
 * reordered or left out, except that a connection may be reset.
 */
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

/** Bytes: before any SETTINGS. */
const FIRST_WINDOW = 65_535
const CONNECTION = 0

/**
 * Whether a server keeps to the windows that its client has given it (RFC 9113 §6.9), as the relay sees the frames of both.
 *
 * A client may end the connection of a server that doesn't: nginx 1.22 does so where the client's SETTINGS frame comes in pieces. It
 * acknowledges such a frame, and goes on with the windows of before.
 */
export class FlowLedger {
  /** The window of streams that the server has acknowledged. Bytes. */
  #acknowledged = FIRST_WINDOW
  /** Those of SETTINGS that it hasn't. @type {(number | null)[]} */
  #pending = []
  /** Bytes that came, less those that WINDOW_UPDATE gave, by stream. @type {Map<number, number>} */
  #used = new Map()
  /** The first stream, 0 being the connection, whose window the server has exceeded; null: none. @type {number | null} */
  overrun = null

  /** @param {import('../../../src/testing/frames.ts').Frame} frame */
  onClientFrame(frame) {
    const { type, flags, streamId, payload } = frame
    if (type === Type.SETTINGS && (flags & Flag.ACK) === 0)
      this.#pending.push(new Map(toSettings(frame)).get(Setting.INITIAL_WINDOW_SIZE) ?? null)
    else if (type === Type.WINDOW_UPDATE) this.#use(streamId, -(payload.readUInt32BE(0) & 0x7fffffff))
  }

  /** @param {import('../../../src/testing/frames.ts').Frame} frame */
  onServerFrame({ type, flags, streamId, payload }) {
    if (type === Type.SETTINGS && (flags & Flag.ACK) !== 0) {
      this.#acknowledged = this.#pending.shift() ?? this.#acknowledged
    } else if (type === Type.DATA) {
      const window = Math.max(this.#acknowledged, ...this.#pending.map((size) => size ?? 0))
      if (this.#use(streamId, payload.length) > window) this.overrun ??= streamId
      if (this.#use(CONNECTION, payload.length) > FIRST_WINDOW) this.overrun ??= CONNECTION
      if ((flags & Flag.END_STREAM) !== 0) this.#used.delete(streamId)
    }
  }

  /** @param {number} streamId @param {number} bytes */
  #use(streamId, bytes) {
    const used = (this.#used.get(streamId) ?? 0) + bytes
    this.#used.set(streamId, used)
    return used
  }
}

/** Milliseconds between the end of a fault and the next one's beginning. */
const QUIET = [2_500, 5_000]

const WEIGHTS = {
  delay: 3,
  jitter: 2,
  split: 3,
  stall: 2,
  hole: 3,
  dead: 3,
  resets: 3,
  refuse: 1,
  halfClose: 1,
  cut: 2,
}

/** Milliseconds after which a dead connection is reset: a tunnel without PINGs would wait for ever. */
const DEAD = 10_000

/** @type {Weather} */
const HELD = { ...CALM, isHeld: true }

/**
 * How a response over HTTP/1.1 begins. Apache responds so to a preface that comes in pieces: its first read has to have all of
 * it. A client can but end the connection, with PROTOCOL_ERROR (RFC 9113 §3.4).
 */
const HTTP1 = 'HTTP/1.'

/** RFC 9113 §7 */
const FLOW_CONTROL_ERROR = 3

/** What a client says of a connection in its GOAWAY: octets 4 to 8. */
const toGoawayCode = (/** @type {Buffer} */ payload) => payload.readUInt32BE(4)

/**
 * @typedef {{ lane: string, fault: string, phase: 'begin' | 'end', at: number }} FaultEvent
 *
 * @typedef {{ client: import('node:net').Socket, server: import('node:net').Socket, up: Pipe, down: Pipe,
 *   happened: string[], isDead: boolean, begin: string }} Link
 */

export class Lane {
  /** @type {Set<Link>} */
  links = new Set()
  /**
   * `faults`: by kind; `goaways`: of the client, by code; `strange`: what no client sends; `earned`: GOAWAYs with an error that the server has
   * earned, by why.
   *
   * @type {{ connections: number, strange: string[] } & Record<'faults' | 'goaways' | 'earned', Record<string, number>>}
   */
  tally = { faults: {}, goaways: {}, strange: [], earned: {}, connections: 0 }
  /** Of bytes to the server, and to the client. */
  weather = { up: CALM, down: CALM }
  /** Accepts connections only to reset them. */
  #isRefusing = false
  #fault = 'none'

  /**
   * @param {string} name @param {number} port of the server @param {import('../../random.mjs').Random} random
   * @param {(event: FaultEvent) => void} report
   */
  constructor(name, port, random, report) {
    this.name = name
    this.port = port
    this.random = random
    this.report = report
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket))
  }

  /** Begins with the faults. */
  start() {
    setTimeout(() => this.#begin(), this.random.integer(QUIET[0] / 2, QUIET[1]))
  }

  /** @param {import('node:net').Socket} client */
  #accept(client) {
    this.tally.connections++
    client.on('error', () => {})
    if (this.#isRefusing) {
      client.resetAndDestroy()
      return
    }
    const server = connect({ port: this.port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    server.on('error', () => {})
    /** @type {Link} */
    const link = {
      client,
      server,
      up: new Pipe(client, server, () => (link.isDead ? HELD : this.weather.up)),
      down: new Pipe(server, client, () => (link.isDead ? HELD : this.weather.down)),
      happened: [this.#fault],
      isDead: this.#fault === 'dead',
      begin: '',
    }
    link.up.onReset = () => reset(link)
    link.down.onReset = link.up.onReset
    this.#listen(link)
    this.links.add(link)
    const onClose = () => {
      this.links.delete(link)
      // A FIN of one side is passed on by its pipe; what closes altogether closes the other one, too.
      const isGone = (/** @type {import('node:net').Socket} */ socket) => socket.destroyed
      if (isGone(client) && !isGone(server)) close(server, client.errored !== null || !server.writableEnded)
      if (isGone(server) && !isGone(client)) close(client, server.errored !== null || !client.writableEnded)
    }
    client.on('close', onClose)
    server.on('close', onClose)
  }

  /** Looks for GOAWAYs of the client. @param {Link} link */
  #listen(link) {
    const { tally } = this
    const flow = new FlowLedger()
    const parser = new FrameParser((frame) => {
      flow.onClientFrame(frame)
      if (frame.type === Type.GOAWAY) this.#count(frame.payload, link, flow)
    })
    const responses = new FrameParser((frame) => flow.onServerFrame(frame), 'server')
    link.server.on('data', (/** @type {Buffer} */ bytes) => {
      if (link.begin.length < HTTP1.length)
        link.begin += bytes.toString('latin1', 0, HTTP1.length - link.begin.length)
      if (link.begin !== HTTP1) responses.push(bytes)
    })
    let isHttp2 = true
    link.client.on('data', (/** @type {Buffer} */ bytes) => {
      if (!isHttp2) return
      try {
        parser.push(bytes)
      } catch (error) {
        isHttp2 = false
        if (tally.strange.length < 20) tally.strange.push(`the client wrote no HTTP/2: ${error}`)
      }
    })
  }

  /** A GOAWAY of the client. @param {Buffer} payload @param {Link} link @param {FlowLedger} flow */
  #count(payload, link, flow) {
    const { goaways, earned, strange } = this.tally
    const code = toGoawayCode(payload)
    goaways[code] = (goaways[code] ?? 0) + 1
    if (code === 0) return
    const why = toCause(code, link, flow)
    if (why !== null) {
      earned[why] = (earned[why] ?? 0) + 1
    } else if (strange.length < 20) {
      const debug = payload.toString('latin1', 8)
      strange.push(`GOAWAY of the client with code ${code} (${debug}); faults: ${link.happened.join(', ')}`)
    }
  }

  #begin() {
    const fault = /** @type {keyof typeof WEIGHTS} */ (this.random.weighted(WEIGHTS))
    this.#fault = fault
    this.tally.faults[fault] = (this.tally.faults[fault] ?? 0) + 1
    for (const link of this.links) link.happened.push(fault)
    this.#tell(fault, 'begin')
    const undo = this[fault]()
    setTimeout(() => {
      undo.end()
      this.#fault = `after ${fault}`
      this.#tell(fault, 'end')
      setTimeout(() => this.#begin(), this.random.integer(QUIET[0], QUIET[1]))
    }, undo.after)
  }

  /** @param {string} fault @param {'begin' | 'end'} phase */
  #tell(fault, phase) {
    this.report({ lane: this.name, fault, phase, at: performance.timeOrigin + performance.now() })
  }

  /** @param {{ up?: Weather, down?: Weather }} weather */
  #set({ up = CALM, down = CALM }) {
    this.weather = { up, down }
    for (const link of this.links) {
      link.up.run()
      link.down.run()
    }
  }

  /** One direction or both. @param {Weather} weather */
  #setSome(weather) {
    const way = this.random.pick(['up', 'down', 'both', 'both'])
    this.#set(way === 'both' ? { up: weather, down: weather } : { [way]: weather })
  }

  #toEnd(/** @type {[number, number]} */ range) {
    return { after: this.random.integer(...range), end: () => this.#set({}) }
  }

  delay() {
    const time = this.random.integer(5, 200)
    this.#setSome({ ...CALM, delay: () => time })
    return this.#toEnd([500, 2_500])
  }

  jitter() {
    this.#setSome({ ...CALM, delay: () => this.random.integer(0, 100) })
    return this.#toEnd([500, 2_500])
  }

  split() {
    const most = this.random.pick([1, 1, 5, 100, 1_400])
    this.#setSome({ ...CALM, cut: toCut(this.random, most) })
    return this.#toEnd([500, 2_500])
  }

  /** Nothing comes through for a while, and then all of it. */
  stall() {
    this.#setSome(HELD)
    return this.#toEnd([200, 3_000])
  }

  /** Nothing comes through for a while. Then all connections are reset. */
  hole() {
    this.#setSome(HELD)
    const end = () => {
      for (const link of this.links) reset(link)
      this.#set({})
    }
    return { after: this.random.integer(1_000, 3_000), end }
  }

  /**
   * The connections that there are, and those that are made meanwhile, are never heard of again: a client finds that by a PING, or
   * by its limits.
   */
  dead() {
    const links = [...this.links]
    for (const link of links) link.isDead = true
    const end = () => {
      for (const link of this.links) if (link.isDead) links.push(link)
      setTimeout(() => links.forEach(reset), DEAD)
    }
    return { after: this.random.integer(0, 1_500), end }
  }

  /** Connections are reset, some of the new ones, too. */
  resets() {
    const timer = setInterval(
      () => {
        for (const link of this.links) if (this.random.chance(0.4)) reset(link)
      },
      this.random.integer(30, 200),
    )
    return { after: this.random.integer(300, 2_000), end: () => clearInterval(timer) }
  }

  refuse() {
    this.#isRefusing = true
    for (const link of this.links) reset(link)
    const end = () => {
      this.#isRefusing = false
    }
    return { after: this.random.integer(300, 2_000), end }
  }

  /** One side of each connection is told that the other one has closed its half; later the connection is reset. */
  halfClose() {
    const way = this.random.pick(/** @type {const} */ (['up', 'down']))
    const links = [...this.links]
    for (const link of links) link[way].end()
    return { after: this.random.integer(10, 400), end: () => links.forEach(reset) }
  }

  /** Each connection is reset after some more bytes, in the middle of a frame. */
  cut() {
    const links = [...this.links]
    for (const link of links) {
      const way = this.random.pick(/** @type {const} */ (['up', 'down']))
      link[way].untilReset = this.random.integer(1, 3_000)
    }
    const end = () => {
      for (const { up, down } of links) {
        up.untilReset = Number.POSITIVE_INFINITY
        down.untilReset = Number.POSITIVE_INFINITY
      }
    }
    return { after: 500, end }
  }
}

/**
 * What the server did to earn a GOAWAY; null: nothing.
 *
 * @param {number} code @param {Link} link @param {FlowLedger} flow
 */
function toCause(code, link, flow) {
  if (link.begin === HTTP1) return 'the server responded to the preface over HTTP/1.1'
  if (code !== FLOW_CONTROL_ERROR || flow.overrun === null) return null
  return flow.overrun === 0
    ? 'the server exceeded the window of the connection'
    : 'the server exceeded the window of a stream'
}

/** @param {Link} link */
function reset({ client, server }) {
  client.resetAndDestroy()
  server.resetAndDestroy()
}

/** @param {import('node:net').Socket} socket @param {boolean} isBroken */
function close(socket, isBroken) {
  if (isBroken) socket.resetAndDestroy()
  else socket.end(() => socket.destroy())
}
