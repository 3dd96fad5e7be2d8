/**
 * The relay's way to one server: its connections, and the fault that it has at present. Faults come and go by the seed.
 */
import { connect, createServer } from 'node:net'
import { FrameParser, Type } from '../../../src/testing/frames.ts'
import { FlowLedger } from './flow-ledger.mjs'
import { CALM, Pipe, toCut } from './pipe.mjs'

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

/** @type {import('./pipe.mjs').Weather} */
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
 * @typedef {object} LaneTally
 * @property {Record<string, number>} faults by kind
 * @property {Record<string, number>} goaways of the client, by code
 * @property {string[]} strange what no client sends
 * @property {Record<string, number>} earned GOAWAYs with an error that the server has earned, by why
 * @property {number} connections
 *
 * @typedef {{ client: import('node:net').Socket, server: import('node:net').Socket, up: Pipe, down: Pipe,
 *   happened: string[], isDead: boolean, begin: string }} Link
 */

export class Lane {
  /** @type {Set<Link>} */
  links = new Set()
  /** @type {LaneTally} */
  tally = { faults: {}, goaways: {}, strange: [], earned: {}, connections: 0 }
  /** Of bytes to the server, and to the client. */
  weather = { up: CALM, down: CALM }
  /** Accepts connections only to reset them. */
  #isRefusing = false
  #fault = 'none'

  /**
   * @param {string} name @param {number} port of the server @param {import('../../random.mjs').Random} random
   * @param {(event: { lane: string, fault: string, phase: 'begin' | 'end', at: number }) => void} report
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

  /** @param {{ up?: import('./pipe.mjs').Weather, down?: import('./pipe.mjs').Weather }} weather */
  #set({ up = CALM, down = CALM }) {
    this.weather = { up, down }
    for (const link of this.links) {
      link.up.run()
      link.down.run()
    }
  }

  /** One direction or both. @param {import('./pipe.mjs').Weather} weather */
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
