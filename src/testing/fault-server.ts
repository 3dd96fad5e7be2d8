/**
 * A server that misbehaves on demand: it speaks HTTP/2 by the frame, does what its scripts say, and keeps all that
 * reached it.
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

/** What is done about a request. It may be asynchronous. */
export type RequestScript = (stream: FaultStream, connection: FaultConnection) => unknown

/**
 * What is done about a socket ahead of TLS and HTTP/2. It may be asynchronous: the server goes on when it has
 * settled.
 */
export type SocketScript = (socket: FaultSocket) => unknown

/** What a rule for requests is for. */
export type RequestMatch = Match<FaultStream> | string | RegExp

/** When a rule for requests runs. */
export interface RequestRuleOptions {
  /**
   * `whole`: once the request has come with its body and trailers. A request that expects a 100 response gets one.
   * `header`: once its header section has. A CONNECT, plain or extended, has no end that one could wait for: its rules
   * run then in any case.
   *
   * @default 'whole'
   */
  readonly at?: 'whole' | 'header'
  /** How often the rule runs, 1 at least; then it is as if it weren't there. @default without limit */
  readonly times?: number
}

/** A bundle of rules. {@link presets} has some. */
export type Preset = (server: FaultServer) => void

interface RequestRule extends Rule<FaultStream, RequestScript> {
  readonly at: 'whole' | 'header'
}

const DEFAULT_TIMEOUT = 5_000
/** How many requests the message of an impatient wait shows. */
const SHOWN = 20

/**
 * A listening server, its rules, its connections, and what each of them has seen. By itself it is polite: it responds
 * to each request by a 200 with the request's method and path.
 */
export class FaultServer {
  /** Every connection so far, in the order in which they came. */
  readonly connections: FaultConnection[] = []
  /** Every request so far, in the order of their header sections. */
  readonly requests: FaultStream[] = []
  /** Every frame so far, in the order in which they came. */
  readonly frames: RecordedFrame[] = []
  /** What clients have done that isn't HTTP/2, as text. */
  readonly problems: string[] = []
  readonly #options: FaultServerOptions
  #listener: Listener | null = null
  readonly #waiters = new Waiters()
  readonly #counts = new Map<string, number>()
  /** Errors of scripts that nobody has been told of. */
  readonly #failures: unknown[] = []
  #isClosed = false
  /** Rules that are added now are a preset's. */
  #isInPreset = false
  #socketRules: Rule<FaultSocket, SocketScript>[] = []
  #connectionRules: Rule<{ readonly index: number }, ConnectionScript>[] = []
  #requestRules: RequestRule[] = []
  /** Requests that aren't whole, and what is done about them once they are. */
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

  /** `http://127.0.0.1:PORT`, or `https://localhost:PORT` with TLS. */
  get origin(): string {
    return this.#listener?.origin ?? ''
  }

  /** The port that the server listens on; 0 while it doesn't listen. */
  get port(): number {
    return this.#listener?.port ?? 0
  }

  /** Every GOAWAY of the clients'. */
  get goaways(): RecordedGoAway[] {
    return this.connections.flatMap((connection) => connection.goaways)
  }

  /** Every PING of the clients' own. */
  get pings(): RecordedFrame[] {
    return this.connections.flatMap((connection) => connection.pings)
  }

  /** The requests as text, such as `'0/1 GET /path'`: the connection's index, the stream's id, the request. */
  get ledger(): string[] {
    return this.requests.map((stream) => `${stream.connection.index}/${stream.id} ${stream}`)
  }

  /** How often each request came: `{ 'GET /': 2 }`. */
  get counts(): Record<string, number> {
    return Object.fromEntries(this.#counts)
  }

  /** One of its connections. @throws Error where there is none yet */
  connection(index: number): FaultConnection {
    const connection = this.connections[index]
    if (connection === undefined) throw new Error(`There are only ${this.connections.length} connections`)
    return connection
  }

  /** The newest request that matches. @throws Error where there is none yet */
  request(match: RequestMatch): FaultStream {
    const stream = this.requests.findLast(toRequestPredicate(match))
    if (stream === undefined) throw new Error(`There is no ${match} among ${this.ledger.join(', ')}`)
    return stream
  }

  /**
   * Adds a rule for requests. Of all rules that match a request the newest runs, and no other. What the script throws
   * is thrown by {@link FaultServer.waitFor} or by {@link FaultServer.close}, and the request is reset.
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

  /** The next so many requests get RST_STREAM(REFUSED_STREAM): the server has done nothing about them. */
  refuse(times: number, match: RequestMatch = '*'): this {
    return this.onRequest(match, (stream) => stream.refuse(), { times, at: 'header' })
  }

  /**
   * Adds a rule for connections. All rules that match a connection apply, in the order in which they were added; where
   * two set the same option, the last one counts.
   *
   * @param script a function runs behind the server's first SETTINGS
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
   * Adds a rule for sockets, before anything was said: the newest that matches runs. If the script decides nothing
   * about the socket, the server goes on with TLS and HTTP/2 when it has settled.
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

  /** Adds the rules of a preset. {@link FaultServer.assertAllRulesMet} doesn't expect them to run. */
  use(preset: Preset): this {
    this.#isInPreset = true
    try {
      preset(this)
    } finally {
      this.#isInPreset = false
    }
    return this
  }

  /** Takes all rules away. What has come, and the connections, stay. */
  clear(): this {
    this.#socketRules = []
    this.#connectionRules = []
    this.#requestRules = []
    return this
  }

  /**
   * Forgets the requests, frames, problems and counts so far: `requests`, `frames`, `problems`, `counts`, `ledger`,
   * `goaways` and `pings` begin anew, and so do the indices of requests, which rules may be for. Rules and connections
   * stay, and open requests go on.
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
   * Checks that each rule has run: as often as its `times` say, or once at least. Rules of presets, and those that
   * {@link FaultServer.clear} has taken away, needn't.
   *
   * @throws Error that names those that haven't
   */
  assertAllRulesMet(): void {
    const rules = [...this.#socketRules, ...this.#connectionRules, ...this.#requestRules]
    const unmet = rules.filter((rule) => !isMet(rule))
    if (unmet.length === 0) return
    const seen = this.ledger.slice(-SHOWN).join(', ') || 'no request'
    throw new Error(`Rules that haven't run: ${unmet.map(toRuleText).join(', ')}. Last requests: ${seen}`)
  }

  /**
   * Waits until something has come: for a request by what its rules would be for, or until a condition holds, which is
   * looked at whenever something comes or a connection closes, and every 10 ms.
   *
   * @returns the request, or what the condition has returned
   * @throws Error after {@link FaultServerOptions.timeout}, or when the server closes; it says what has come. The
   *   error of a script, at once
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
   * A connection without a socket, for a client whose connector yields any Duplex: the next one of the server, in the
   * clear. What either side writes comes in a later turn of the event loop.
   *
   * @returns the client's end. The server's is `transport` of the newest of {@link FaultServer.connections}
   */
  connect(): Duplex {
    const [near, far] = PairedDuplex.toPair()
    this.#onConnection({ transport: near, link: near, alert: null })
    return far
  }

  /**
   * Breaks its connections off, and takes no more.
   *
   * @throws the error of a script that {@link FaultServer.waitFor} hasn't thrown; an AggregateError of several. With
   *   {@link FaultServerOptions.expectsAllRules}, the error of {@link FaultServer.assertAllRulesMet}
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

  /** {@link FaultServer.close}, for `await using`. */
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

  /** A request's header section has come: its rule is found. */
  #onRequest(stream: FaultStream, connection: FaultConnection): void {
    // GOAWAY has said that nothing is done about it.
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

  /** A request is whole. */
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

  /** A request won't be whole, or nothing is done about it: its rule may run for another. */
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
   * Runs a script, the part of it that is synchronous at once. Settles with it; an error is kept for whoever
   * awaits.
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

  /** Whether a rule matches. An error of its own is kept as one of a script, and it doesn't. */
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

/** What is done about a request that no rule matches. */
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
 * Starts a server on a free port of the loopback interface.
 *
 * @param options `{ h2c: true }`, or `{ key, cert }` for TLS
 * @throws TypeError for bad options; node's own error where it can't listen
 * @example
 * ```ts
 * await using server = await createFaultServer({ h2c: true })
 * server.onRequest('/orders', (stream) => stream.reset('REFUSED_STREAM'), { times: 1 })
 * ```
 */
export function createFaultServer(options: FaultServerOptions): Promise<FaultServer> {
  return FaultServer.listen(options)
}
