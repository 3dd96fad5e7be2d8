/**
 * The client's side of an attack: a call that meets it, a sibling on the same connection, and a call after it. No test
 * runner.
 */

import type { Socket } from 'node:net'
import { connect as connectTcp } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { Client, fetch } from '../../../src/index.ts'
import { ERROR_CODES } from '../../../src/testing/frames.ts'
import type { ClientOptions, Connector, DispatchHandler } from '../../../types/index.ts'
import { toPath } from '../peers/attack-peer.ts'
import type { Attack } from '../peers/attacks.ts'

/** The sources, or a build of them. */
interface Dodici {
  readonly Client: typeof Client
  readonly fetch: typeof fetch
}

export interface AttackOptions {
  readonly origin: string
  readonly engine: NonNullable<ClientOptions['engine']>
  /** How much of it the peer sends, but for the attack's weight. */
  readonly bytes: number
  /** How often a client that repeats its request does so at most. */
  readonly calls: number
  /** How long the client bears it, in milliseconds. */
  readonly patience: number
}

/** Looks at the process from the first byte of an attack to its last. */
export interface AttackMeter {
  begin(): void
  end(): Promise<void>
}

/** How each call ended: its text, or its error, such as `SocketError, ENHANCE_YOUR_CALM`. */
export interface AttackOutcome {
  readonly call: string
  readonly sibling: string
  readonly next: string
  /** What the client has read, on all connections. */
  readonly bytesRead: number
}

const IMPATIENT = 'not over in time'
/** Of one turn of a client that repeats its request. */
const AT_ONCE = 20
/** Fetches whose bodies aren't read. */
const UNREAD = 50
/** Milliseconds: a decoder that runs ahead of its reader has threads, which report nothing. */
const AHEAD = 500
/** Characters of a response's text that an outcome shows. */
const SHOWN = 20
const LIMIT = 1_048_576

/** What came in on a client's connections. It keeps none that has closed: that would keep what its session held. */
class Traffic {
  readonly #open = new Set<Socket>()
  #closed = 0

  get bytesRead(): number {
    return [...this.#open].reduce((sum, { bytesRead }) => sum + bytesRead, this.#closed)
  }

  add(socket: Socket): void {
    this.#open.add(socket)
    socket.once('close', () => {
      this.#open.delete(socket)
      this.#closed += socket.bytesRead
    })
  }
}

/** A connector that counts what comes in. */
function toConnector(traffic: Traffic): Connector {
  return ({ hostname, port, protocol }, callback) => {
    const options = { host: hostname, port: Number(port) }
    const isTls = protocol === 'https:'
    const socket = isTls
      ? connectTls({ ...options, ALPNProtocols: ['h2'], rejectUnauthorized: false })
      : connectTcp(options)
    traffic.add(socket)
    socket.once(isTls ? 'secureConnect' : 'connect', () => callback(null, socket))
    socket.once('error', (error) => callback(error, null))
  }
}

/** Its name, and the code of RFC 9113 §7 that it tells. */
function toName(error: unknown): string {
  const { name, http2ErrorCode } = Object(error)
  const code = typeof http2ErrorCode === 'number' ? `, ${ERROR_CODES[http2ErrorCode]}` : ''
  const cause = name === 'TypeError' ? `: ${toName(Object(error).cause)}` : ''
  return `${name}${code}${cause}`
}

function toShown(text: string): string {
  return text.length <= SHOWN ? text : `${text.length} bytes`
}

function* endless(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(65_536)
}

/** One client that suffers one attack. */
class Victim {
  readonly #dodici: Dodici
  readonly #attack: Attack
  readonly #options: AttackOptions
  readonly #client: Client
  readonly #traffic = new Traffic()
  /** What isn't read is kept until the attack is over. */
  readonly #unread = new Set<unknown>()
  readonly #until: number

  constructor(dodici: Dodici, attack: Attack, options: AttackOptions) {
    const { origin, engine, patience } = options
    this.#dodici = dodici
    this.#attack = attack
    this.#options = options
    this.#until = performance.now() + patience
    this.#client = new dodici.Client(origin, {
      engine,
      connect: toConnector(this.#traffic),
      // An attack is suffered once.
      replaySafe: false,
      // Node 20 says nothing of some connection errors: a PING notices.
      ...{ pingInterval: 1_000, pingTimeout: 3_000, uploadTimeout: 1_000 },
    })
  }

  get #bytes(): number {
    return this.#options.bytes * (this.#attack.weight ?? 1)
  }

  async suffer(meter: AttackMeter, warmup: number): Promise<AttackOutcome> {
    try {
      for (let count = 0; count <= warmup; count++) await this.#get('/next')
      const sibling = this.#get('/sibling')
      meter.begin()
      const before = this.#traffic.bytesRead
      const call = await this.#within(this.#call(sibling))
      const bytesRead = this.#traffic.bytesRead - before
      await meter.end()
      this.#unread.clear()
      return {
        call,
        sibling: await this.#within(sibling),
        next: await this.#within(this.#get('/next')),
        bytesRead,
      }
    } finally {
      this.#client.destroy().catch(() => {})
    }
  }

  #within(outcome: Promise<string>): Promise<string> {
    // A client that repeats its request looks at the time between its requests.
    const left = Math.max(0, this.#until - performance.now()) + 5_000
    return Promise.race([outcome, delay(left, IMPATIENT, { ref: false })])
  }

  #get(path: string): Promise<string> {
    const call = this.#client.request({ path, method: 'GET' })
    return call.then(({ body }) => body.text()).then(toShown, toName)
  }

  /** Settles when the attack is over. */
  async #call(sibling: Promise<string>): Promise<string> {
    const path = toPath(this.#attack, this.#bytes)
    switch (this.#attack.reader) {
      case 'text':
        return this.#get(path)
      case 'repeats':
        return this.#repeat(path)
      case 'uploads':
        return this.#upload(path)
      case 'holds': {
        const held = this.#client.request({ path, method: 'GET' })
        this.#unread.add(held)
        await sibling
        return held.then(() => 'held', toName)
      }
      case 'aborts':
        return Promise.all([this.#abort(path), sibling]).then(([name]) => name)
      case 'fetch, unread': {
        const held = Promise.all(Array.from({ length: UNREAD }, () => this.#fetch(path)))
        this.#unread.add(held)
        const outcome = await held.then(([first]) => `${first?.status}`, toName)
        await sibling
        await delay(AHEAD)
        return outcome
      }
      case 'fetch, limited':
        return this.#fetch(path)
          .then((response) => response.text())
          .catch(toName)
    }
  }

  #fetch(path: string) {
    const dispatcher = this.#client.compose((dispatch) => (options, handler) => {
      const limits = this.#attack.reader === 'fetch, limited' ? { maxResponseSize: LIMIT } : {}
      return dispatch({ ...options, ...limits }, handler)
    })
    return this.#dodici.fetch(new URL(path, this.#options.origin), { dispatcher })
  }

  async #repeat(path: string): Promise<string> {
    const { calls: most } = this.#options
    const outcomes = new Set<string>()
    const before = this.#traffic.bytesRead
    for (let count = 0; count < most && this.#traffic.bytesRead - before < this.#bytes; count += AT_ONCE) {
      if (performance.now() > this.#until) break
      const calls = await Promise.all(Array.from({ length: AT_ONCE }, () => this.#get(path)))
      for (const outcome of calls) outcomes.add(outcome)
    }
    await this.#get('/done')
    return [...outcomes].join('; ')
  }

  async #upload(path: string): Promise<string> {
    const call = this.#client.request({ path, method: 'POST', body: endless() })
    const outcome = await call.then(({ body }) => body.text()).catch(toName)
    // A peer that reads nothing doesn't see that.
    if (this.#attack.isDeaf !== true) await this.#get('/done')
    return outcome
  }

  #abort(path: string): Promise<string> {
    return new Promise((resolve) => {
      const handler: DispatchHandler = {
        onRequestStart: () => {},
        onResponseStart: (controller) => controller.abort(new Error('Enough')),
        onResponseData: () => {},
        onResponseEnd: () => resolve('ended'),
        onResponseError: (_controller, error) => resolve(error.message),
      }
      this.#client.dispatch({ path, method: 'GET' }, handler)
    })
  }
}

const NO_METER: AttackMeter = { begin: () => {}, end: () => Promise.resolve() }

/** A client of its own suffers an attack. @param warmup calls that it has made before */
export function sufferAttack(
  dodici: Dodici,
  attack: Attack,
  options: AttackOptions,
  meter: AttackMeter = NO_METER,
  warmup = 0,
): Promise<AttackOutcome> {
  return new Victim(dodici, attack, options).suffer(meter, warmup)
}
