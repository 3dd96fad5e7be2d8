/**
 * A server that misbehaves on demand: it sends individual HTTP/2 frames, runs your scripts, and records everything it
 * receives.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import { checkNames } from './by-name.ts'
import type { ConnectionOwner } from './connection-owner.ts'
import { PairedDuplex } from './duplex-pair.ts'
import type { ConnectionScript } from './fault-connection.ts'
import { FaultConnection } from './fault-connection.ts'
import type { FaultServerOptions } from './fault-options.ts'
import { checkOptions, toList } from './fault-options.ts'
import type { FaultSocket } from './fault-socket.ts'
import type { FaultStream } from './fault-stream.ts'
import { Listener } from './listener.ts'
import type { RecordedFrame, RecordedGoAway } from './records.ts'
import type { Match, Rule } from './rules.ts'
import {
  CONNECTION_OPTIONS,
  checkTimes,
  isMet,
  toMatchText,
  toPredicate,
  toRequestPredicate,
  toRuleText,
} from './rules.ts'
import type { ConnectionLayers } from './tls-transport.ts'
import type { Falsy } from './waiters.ts'
import { Waiters } from './waiters.ts'

/** What the server does with a request. It may be asynchronous. */
export type RequestScript = (stream: FaultStream, connection: FaultConnection) => unknown

/**
 * What the server does with a socket before TLS and HTTP/2. It may be asynchronous: the server continues once it has
 * settled.
 */
export type SocketScript = (socket: FaultSocket) => unknown

/** Which requests a rule is for. */
export type RequestMatch = Match<FaultStream> | string | RegExp

/** When and how often a rule for requests runs. */
export interface RequestRuleOptions {
  /**
   * When the rule runs:
   *
   * - `whole`: when the request has arrived with its body and trailers. A request that expects a 100 response gets one.
   * - `header`: when its header section has arrived. Rules for CONNECT, plain or extended, always run then.
   *
   * @default 'whole'
   */
  readonly at?: 'whole' | 'header'
  /** How often the rule runs: 1 or more. After that it matches nothing. @default no limit */
  readonly times?: number
}

/** A set of rules: see {@link presets}. */
export type Preset = (server: FaultServer) => void

interface RequestRule extends Rule<FaultStream, RequestScript> {
  readonly at: 'whole' | 'header'
}

const DEFAULT_TIMEOUT = 5_000
/** How many requests the error message of a wait shows. */
const SHOWN = 20

/**
 * A listening server with its rules, its connections, and everything they have received. Without rules it responds to
 * each request with a 200 whose body is the request's method and path.
 */
export class FaultServer {
  /** All connections so far, in the order in which they were accepted. */
  readonly connections: FaultConnection[] = []
  /** All requests so far, in the order in which their header sections arrived. */
  readonly requests: FaultStream[] = []
  /** All frames so far, in the order in which they arrived. */
  readonly frames: RecordedFrame[] = []
  /** Clients' violations of HTTP/2, as text. */
  readonly problems: string[] = []
  readonly #options: FaultServerOptions
  #listener: Listener | null = null
  readonly #waiters = new Waiters()
  readonly #counts = new Map<string, number>()
  /** Errors from scripts that haven't been reported yet. */
  readonly #failures: unknown[] = []
  #isClosed = false
  /** Whether rules added now belong to a preset. */
  #isInPreset = false
  #socketRules: Rule<FaultSocket, SocketScript>[] = []
  #connectionRules: Rule<{ readonly index: number }, ConnectionScript>[] = []
  #requestRules: RequestRule[] = []
  /** Requests that aren't complete, and the rules that run once they are. */
  readonly #waiting = new Map<FaultStream, RequestRule>()
  readonly #owner: ConnectionOwner<FaultConnection> = {
    place: (method, path) => this.#toPlace(method, path),
    run: (part) => void this.#run(part),
    onOpen: (stream) => this.requests.push(stream),
    onRequest: (stream, connection) => this.#onRequest(stream, connection),
    onComplete: (stream, connection) => this.#onComplete(stream, connection),
    onGone: (stream) => this.#onGone(stream),
    onFrame: (frame) => this.frames.push(frame),
    onProblem: (problem) => this.problems.push(problem),
    onChange: () => this.#waiters.tell(),
  }

  private constructor(options: FaultServerOptions) {
    this.#options = options
  }

  /** The same as {@link createFaultServer}. */
  static async listen(options: FaultServerOptions): Promise<FaultServer> {
    checkOptions(options)
    const server = new FaultServer(options)
    server.#listener = await Listener.listen(options, {
      onSocket: (socket) => server.#onSocket(socket),
      onConnection: (layers) => server.#onConnection(layers),
    })
    return server
  }

  /** The server's origin: `http://127.0.0.1:PORT`, or `https://localhost:PORT` with TLS. */
  get origin(): string {
    return this.#listener?.origin ?? ''
  }

  /** The port that the server listens on; 0 if it doesn't listen. */
  get port(): number {
    return this.#listener?.port ?? 0
  }

  /** All GOAWAY frames from clients. */
  get goaways(): RecordedGoAway[] {
    return this.connections.flatMap((connection) => connection.goaways)
  }

  /** All PING frames from clients, without ACKs. */
  get pings(): RecordedFrame[] {
    return this.connections.flatMap((connection) => connection.pings)
  }

  /** The requests as text, such as `'0/1 GET /path'`: the connection's index, the stream's id, the request. */
  get ledger(): string[] {
    return this.requests.map((stream) => `${stream.connection.index}/${stream.id} ${stream}`)
  }

  /** How often each request has arrived: `{ 'GET /': 2 }`. */
  get counts(): Record<string, number> {
    return Object.fromEntries(this.#counts)
  }

  /** Returns a connection by its index. @throws Error if it doesn't exist yet */
  connection(index: number): FaultConnection {
    const connection = this.connections[index]
    if (connection === undefined) throw new Error(`There are only ${this.connections.length} connections`)
    return connection
  }

  /** Returns the newest request that matches. @throws Error if there is none yet */
  request(match: RequestMatch): FaultStream {
    const stream = this.requests.findLast(toRequestPredicate(match))
    if (stream === undefined) throw new Error(`There is no ${match} among ${this.ledger.join(', ')}`)
    return stream
  }

  /**
   * Adds a rule for requests. Of all rules that match a request, only the newest runs. If the script throws, the server
   * resets the request, and {@link FaultServer.waitFor} or {@link FaultServer.close} throws the error.
   *
   * @example
   * ```ts
   * server.onRequest('/slow', async (stream) => {
   *   await stream.delay(100)
   *   stream.respond({ status: 503, headers: { 'retry-after': 1 } })
   * })
   * ```
   */
  onRequest(match: RequestMatch, script: RequestScript, options: RequestRuleOptions = {}): this {
    checkNames('onRequest()', options, ['at', 'times'])
    const { at = 'whole', times = Number.POSITIVE_INFINITY } = options
    const name = `onRequest(${toMatchText(match)})`
    this.#requestRules.push({
      ...this.#toRule(toRequestPredicate(match), script, name, checkTimes(times)),
      at,
    })
    return this
  }

  /** Refuses the next requests, as unprocessed, with RST_STREAM(REFUSED_STREAM). @param times how many */
  refuse(times: number, match: RequestMatch = '*'): this {
    return this.onRequest(match, (stream) => stream.refuse(), { times, at: 'header' })
  }

  /**
   * Adds a rule for connections. All rules that match a connection apply, in the order in which you added them; if two
   * set the same option, the last one applies.
   *
   * @param script a function runs right after the server's first SETTINGS
   * @example
   * ```ts
   * server.onConnection(0, (connection) => connection.goAway({ lastStreamId: 0, closes: 'at once' }))
   * server.onConnection('*', { settings: { maxConcurrentStreams: 1 }, acksPings: false })
   * ```
   */
  onConnection(
    match: Match<{ readonly index: number }>,
    script: ConnectionScript | NonNullable<ConnectionScript['onConnection']>,
  ): this {
    const whole = typeof script === 'function' ? { onConnection: script } : script
    checkNames('onConnection()', whole, CONNECTION_OPTIONS)
    this.#connectionRules.push(this.#toRule(toPredicate(match), whole, `onConnection(${toMatchText(match)})`))
    return this
  }

  /**
   * Adds a rule for new sockets; the newest rule that matches runs. Unless the script takes over the socket, the server
   * continues with TLS and HTTP/2 once the script has settled.
   *
   * @example
   * ```ts
   * server.onSocket(0, (socket) => socket.alert('handshake_failure'))
   * server.onSocket('*', (socket) => socket.delay(1_000))
   * ```
   */
  onSocket(match: Match<FaultSocket>, script: SocketScript): this {
    this.#socketRules.push(this.#toRule(toPredicate(match), script, `onSocket(${toMatchText(match)})`))
    return this
  }

  /** Adds the rules from a preset. {@link FaultServer.assertAllRulesMet} doesn't expect them to run. */
  use(preset: Preset): this {
    this.#isInPreset = true
    try {
      preset(this)
    } finally {
      this.#isInPreset = false
    }
    return this
  }

  /** Removes all rules. Records and connections stay. */
  clear(): this {
    this.#socketRules = []
    this.#connectionRules = []
    this.#requestRules = []
    return this
  }

  /**
   * Forgets the requests, frames, problems and counts so far: `requests`, `frames`, `problems`, `counts`, `ledger`,
   * `goaways` and `pings` start again, and so do the request indexes that rules can match. Rules and connections stay,
   * and open requests continue.
   */
  clearRecords(): this {
    this.requests.length = 0
    this.frames.length = 0
    this.problems.length = 0
    this.#counts.clear()
    for (const connection of this.connections) connection.clearRecords()
    return this
  }

  /**
   * Checks that each rule has run: as often as its `times` says, or at least once. Rules from presets, and rules that
   * {@link FaultServer.clear} has removed, don't count.
   *
   * @throws Error that names the rules that haven't run
   */
  assertAllRulesMet(): void {
    const rules = [...this.#socketRules, ...this.#connectionRules, ...this.#requestRules]
    const unmet = rules.filter((rule) => !isMet(rule))
    if (unmet.length === 0) return
    const seen = this.ledger.slice(-SHOWN).join(', ') || 'no request'
    throw new Error(`Rules that haven't run: ${unmet.map(toRuleText).join(', ')}. Last requests: ${seen}`)
  }

  /**
   * Waits for a request that matches, as a rule would, or until a condition is true. The server checks the condition
   * whenever something arrives or a connection closes, and every 10 ms.
   *
   * @returns the request, or the condition's result
   * @throws Error after {@link FaultServerOptions.timeout}, or when the server closes; it lists what has arrived. If a
   *   script fails, its error at once
   * @example
   * ```ts
   * const { text } = await server.waitFor('POST /orders')
   * await server.waitFor(() => server.goaways.length === 1)
   * ```
   */
  waitFor(match: string | number | RegExp, options?: { readonly timeout?: number }): Promise<FaultStream>
  waitFor<Value>(
    condition: () => Value,
    options?: { readonly timeout?: number },
  ): Promise<Exclude<Value, Falsy>>
  waitFor(
    what: (() => unknown) | string | number | RegExp,
    { timeout = this.#options.timeout ?? DEFAULT_TIMEOUT }: { readonly timeout?: number } = {},
  ): Promise<unknown> {
    const condition = typeof what === 'function' ? what : this.#toCondition(toRequestPredicate(what))
    const check = (): unknown => {
      this.#throwFailure()
      return condition()
    }
    return this.#waiters.wait(check, timeout, () => this.#toImpatience(what, timeout))
  }

  /**
   * Creates a connection without a socket and without TLS, for a client whose connector returns any Duplex. Data
   * arrives in a later turn of the event loop.
   *
   * @returns the client's end. The server's end is the `transport` of the last of {@link FaultServer.connections}.
   */
  connect(): Duplex {
    const [near, far] = PairedDuplex.toPair()
    this.#onConnection({ transport: near, link: near, alert: null })
    return far
  }

  /**
   * Breaks all connections, and accepts no more.
   *
   * @throws the error from a script that {@link FaultServer.waitFor} hasn't thrown, or an AggregateError of several.
   *   With {@link FaultServerOptions.expectsAllRules}, also the error from {@link FaultServer.assertAllRulesMet}
   */
  async close(): Promise<void> {
    const isFirst = !this.#isClosed
    this.#isClosed = true
    for (const { transport } of this.connections) transport.destroy()
    await this.#listener?.close()
    this.#waiters.tell()
    this.#waiters.end(new Error('The fault server was closed while a test was waiting for it'))
    this.#throwFailure()
    if (isFirst && this.#options.expectsAllRules === true) this.assertAllRulesMet()
  }

  /** The same as {@link FaultServer.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #toRule<Subject, Script>(
    matches: (subject: Subject) => boolean,
    script: Script,
    name: string,
    times = Number.POSITIVE_INFINITY,
  ): Rule<Subject, Script> {
    return { matches, script, name, times, isExpected: !this.#isInPreset, runs: 0 }
  }

  #onSocket(socket: FaultSocket): Promise<void> | null {
    const rule = this.#socketRules.findLast(({ matches }) => this.#isFor(matches, socket))
    if (rule === undefined) return null
    rule.runs++
    return this.#run(() => rule.script(socket))
  }

  #onConnection(layers: ConnectionLayers): void {
    const subject = { index: this.connections.length }
    const rules = this.#connectionRules.filter(({ matches }) => this.#isFor(matches, subject))
    for (const rule of rules) rule.runs++
    const scripts = rules.map(({ script }) => script)
    const connection = new FaultConnection(subject.index, layers, scripts, this.#owner)
    this.connections.push(connection)
    connection.greet(toList(this.#options.settings))
    this.#waiters.tell()
  }

  #toPlace(method: string, path: string): { index: number; count: number } {
    const what = `${method} ${path}`
    const count = (this.#counts.get(what) ?? 0) + 1
    this.#counts.set(what, count)
    return { index: this.requests.length, count }
  }

  /** A request's header section has arrived: finds its rule. */
  #onRequest(stream: FaultStream, connection: FaultConnection): void {
    // GOAWAY has said that it won't be processed.
    if (stream.id > connection.lastTaken || stream.isReset) return
    const isFor = ({ matches, runs, times }: RequestRule): boolean =>
      runs < times && this.#isFor(matches, stream)
    const rule = this.#requestRules.findLast(isFor) ?? POLITE
    rule.runs++
    if (rule.at === 'header' || stream.method === 'CONNECT') {
      this.#apply(rule, stream, connection)
      return
    }
    const expectsContinue = stream.field('expect')?.toLowerCase() === '100-continue'
    if (expectsContinue && !stream.hasBegun) stream.head(100)
    this.#waiting.set(stream, rule)
  }

  /** A request is complete. */
  #onComplete(stream: FaultStream, connection: FaultConnection): void {
    const rule = this.#waiting.get(stream)
    if (rule === undefined) return
    if (stream.id > connection.lastTaken) {
      this.#onGone(stream)
      return
    }
    this.#waiting.delete(stream)
    this.#apply(rule, stream, connection)
  }

  /** A request won't be completed or processed: its rule may run for another one. */
  #onGone(stream: FaultStream): void {
    const rule = this.#waiting.get(stream)
    if (rule !== undefined) rule.runs--
    this.#waiting.delete(stream)
  }

  #apply({ script }: RequestRule, stream: FaultStream, connection: FaultConnection): void {
    void this.#run(
      () => script(stream, connection),
      () => {
        if (stream.isOpen) stream.reset('INTERNAL_ERROR')
      },
    )
  }

  /**
   * Runs a script, its synchronous part at once, and settles with it. Keeps an error for `waitFor()` and `close()`.
   */
  async #run(part: () => unknown, onFailure?: () => void): Promise<void> {
    try {
      await part()
    } catch (error) {
      this.#failures.push(error)
      onFailure?.()
      this.#waiters.tell()
    }
  }

  /** Whether a rule matches. A rule that throws doesn't match; its error is kept, as a script's would be. */
  #isFor<Subject>(matches: (subject: Subject) => boolean, subject: Subject): boolean {
    try {
      return matches(subject)
    } catch (error) {
      this.#failures.push(error)
      return false
    }
  }

  #throwFailure(): void {
    if (this.#failures.length === 0) return
    const failures = this.#failures.splice(0)
    throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'Several scripts have failed')
  }

  #toCondition(matches: (stream: FaultStream) => boolean): () => FaultStream | undefined {
    return () => this.requests.find(matches)
  }

  #toImpatience(what: unknown, timeout: number): Error {
    const seen = this.ledger.slice(-SHOWN).join(', ') || 'no request'
    const problems = this.problems.length === 0 ? '' : `; not HTTP/2: ${this.problems.join('; ')}`
    return new Error(`Waited ${timeout} ms for: ${what}. Last requests: ${seen}${problems}`)
  }
}

/** What the server does with a request that no rule matches. */
const POLITE: RequestRule = {
  matches: () => true,
  script: (stream) => {
    if (stream.hasBegun) return null
    return stream.respond(stream.method === 'CONNECT' ? { status: 501, body: null } : {})
  },
  at: 'whole',
  name: 'polite',
  times: Number.POSITIVE_INFINITY,
  isExpected: false,
  runs: 0,
}

/**
 * Starts a fault server, by default on a free port of the loopback interface.
 *
 * @param options `{ h2c: true }`, or `{ key, cert }` for TLS
 * @throws TypeError for invalid options; Node's own error if it can't listen
 * @example
 * ```ts
 * await using server = await createFaultServer({ h2c: true })
 * server.onRequest('/orders', (stream) => stream.reset('REFUSED_STREAM'), { times: 1 })
 * ```
 */
export function createFaultServer(options: FaultServerOptions): Promise<FaultServer> {
  return FaultServer.listen(options)
}
