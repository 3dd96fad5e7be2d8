import { EventEmitter, getEventListeners } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { expect } from 'vitest'
import type { Api, End, Setup } from './apis.ts'
import type { BodyKind, Source } from './bodies.ts'
import { Gate, turn } from './gate.ts'
import type { Outcome } from './outcome.ts'
import type { Rig, Sibling } from './rig.ts'
import { Watch } from './watch.ts'

/** The limit of a case, if it has one. Milliseconds of the fake clock. */
export const LIMIT = 1_000

/** More turns of the event loop than anything here takes: what isn't over by then is a failure, and is named. */
const MANY_TURNS = 500_000

/** One cell of the matrix. */
export class Case {
  readonly api: Api
  readonly kind: BodyKind
  readonly outcome: Outcome
  readonly rig: Rig
  readonly watch = new Watch()
  readonly source: Source
  readonly setup: Setup
  readonly reason = new Error('aborted by the case')
  readonly fault = new Error('thrown by the case')
  /** The server has the stream of the case. */
  readonly arrived = new Gate()
  /** The server has read all of the body. */
  readonly hasRead = new Gate()
  /** Of the last attempt; null before the first. */
  stream: ServerHttp2Stream | null = null
  attempts = 0
  received = ''
  /** Uncaught exceptions. */
  readonly uncaught: unknown[] = []

  readonly #abortController = new AbortController()

  /** @param signalKind which kind of signal it is given */
  constructor(
    rig: Rig,
    api: Api,
    kind: BodyKind,
    outcome: Outcome,
    signalKind: 'AbortSignal' | 'EventEmitter',
  ) {
    this.rig = rig
    this.api = api
    this.kind = kind
    this.outcome = outcome
    const { extent = 'whole', limits = {}, throwsIn = null } = outcome
    this.source = kind.make(extent, () => this.#onPull())
    const { client } = rig
    const signal = signalKind === 'AbortSignal' ? this.#abortController.signal : new EventEmitter()
    this.setup = { client, source: this.source, limits, signal, throwsIn, fault: this.fault }
  }

  get name(): string {
    return `${this.api.name} × ${this.kind.name} × ${this.outcome.name}`
  }

  /** How the call must end. */
  get end(): End {
    const { end } = this.outcome
    return typeof end === 'function' ? end(this.kind) : end
  }

  #onPull(): void {
    if (this.outcome.onPull === 'abort') this.abort()
    if (this.outcome.onPull === 'throw') throw this.fault
  }

  /** Aborts in the way of the API. */
  abort(): void {
    const { signal } = this.setup
    if (this.api.kind === 'dispatch') this.watch.abort(this.reason)
    else if (signal instanceof EventEmitter) signal.emit('abort')
    else this.#abortController.abort(this.reason)
  }

  /** Lets the limit pass, repeatedly, since its clock may start late; no time passes behind the end of the call. */
  async passTime(): Promise<void> {
    const { ended } = this.watch
    await this.#wait('the call outlives its limit', () => {
      if (!ended.isOpen) this.rig.clock.advance(LIMIT)
      return ended.isOpen
    })
  }

  /** Waits for an event that takes some turns of the event loop, and no time. */
  async #wait(problem: string, isDone: () => boolean): Promise<void> {
    for (let turns = 0; !isDone(); turns++) {
      if (turns === MANY_TURNS) throw new Error(problem)
      await turn()
    }
  }

  until(gate: Gate): Promise<void> {
    return this.#wait(
      `what was waited for never came; heard: ${this.watch.heard.join(', ')}`,
      () => gate.isOpen,
    )
  }

  /** The server's side of a sibling. */
  async #toStream({ arrived, path }: Sibling): Promise<ServerHttp2Stream> {
    let stream: ServerHttp2Stream | null = null
    arrived.then((arrivedStream) => {
      stream = arrivedStream
    })
    await this.#wait(`${path} never came`, () => stream !== null)
    return await arrived
  }

  async #toSettled({ recorder, path }: Sibling): Promise<void> {
    await this.#wait(`${path} never got a response`, () =>
      recorder.events.some((event) => event === 'end' || event === 'error'),
    )
  }

  async run(): Promise<void> {
    const { rig, outcome, watch } = this
    const sessions = rig.server.sessions.length
    const long = rig.ask('/long')
    const blocker = outcome.stage === 'queued' ? rig.ask('/blocker') : null
    if (outcome.stage !== 'connecting') await this.#begin(long)
    if (blocker !== null) await this.#toStream(blocker)
    rig.serve('/case', (stream) => this.#onStream(stream))
    this.api.start(this.setup, watch)
    this.#checkStage()
    const queued = outcome.death === undefined ? null : await this.#askQueued()
    await outcome.drive?.(this)
    await this.until(watch.ended)
    if (outcome.stage === 'connecting') {
      rig.door.open()
      await this.#begin(long)
    }
    const blocking = await blocker?.arrived
    blocking?.respond({ ':status': 204 }, { endStream: true })
    await this.#checkSiblings(long, queued)
    if (outcome.death === undefined) expect(rig.server.sessions.length).toBe(Math.max(sessions, 1))
    this.checkHeard()
    this.#checkOutcome()
    await this.#checkRemains()
  }

  /** The response of the sibling has begun. */
  async #begin(sibling: Sibling): Promise<void> {
    const stream = await this.#toStream(sibling)
    stream.respond({ ':status': 200 })
    stream.write('begun, ')
    await this.#wait('never came: the sibling', () => sibling.recorder.chunks.length > 0)
  }

  #onStream(stream: ServerHttp2Stream): void {
    this.stream = stream
    this.attempts++
    this.outcome.serve(stream, this)
    this.arrived.open()
  }

  /** The case has reached the stage of its name. */
  #checkStage(): void {
    const { stage } = this.outcome
    const { pending } = this.rig.client.load
    if (stage === 'queued') expect(pending).toBe(1)
    if (stage === 'connecting') expect(pending).toBe(2)
  }

  /** A sibling that waits for the case to make room. */
  async #askQueued(): Promise<Sibling> {
    await this.until(this.arrived)
    const queued = this.rig.ask('/queued')
    expect(this.rig.client.load.pending).toBe(1)
    return queued
  }

  async #checkSiblings(long: Sibling, queued: Sibling | null): Promise<void> {
    const { death } = this.outcome
    if (death !== undefined) {
      await this.#toSettled(long)
      expect(long.recorder.events.filter((event) => event === 'error')).toHaveLength(1)
    }
    if (death === 'client') {
      if (queued !== null) await this.#toSettled(queued)
      expect(queued?.recorder.errors).toHaveLength(1)
      return
    }
    if (queued !== null) {
      await this.#response(queued, 'queued')
      expect(this.rig.requests.get('/queued')).toBe(1)
    }
    await this.#response(this.rig.ask('/after'), 'after')
    if (death !== undefined) return
    const stream = await this.#toStream(long)
    stream.end('ended')
    await this.#toSettled(long)
    expect(long.recorder.text).toBe('begun, ended')
  }

  async #response(sibling: Sibling, text: string): Promise<void> {
    const { recorder } = sibling
    const stream = await this.#toStream(sibling)
    stream.respond({ ':status': 200 })
    stream.end(text)
    await this.#toSettled(sibling)
    expect(recorder.events).toEqual(['start', 'response 200', 'data', 'end'])
    expect(recorder.text).toBe(text)
  }

  /** Checks that the call has settled exactly once up to now. */
  checkHeard(): void {
    expect([...this.watch.heard].sort()).toEqual(this.api.endings[this.end])
    expect(this.uncaught).toEqual(this.outcome.isUncaught === true ? [this.fault] : [])
  }

  #checkOutcome(): void {
    const { watch, outcome, source } = this
    const isUnsent = outcome.stage !== undefined
    expect(this.attempts).toBeLessThanOrEqual(isUnsent ? 0 : (outcome.attempts ?? 1))
    if (this.end === 'response') {
      expect(watch.error).toBe(null)
      expect(watch.text).toBe(outcome.text)
      if (outcome.trailers !== undefined && this.api.kind !== 'pipeline')
        expect({ ...watch.trailers }).toEqual(outcome.trailers)
    } else if (outcome.error === 'reason') {
      // An emitter gives no reason.
      if (this.setup.signal instanceof EventEmitter && this.api.kind !== 'dispatch')
        expect(watch.error).toMatchObject({ code: 'UND_ERR_ABORTED' })
      else expect(watch.error).toBe(this.reason)
    } else if (outcome.error === 'fault') {
      expect(watch.error).toBe(this.fault)
    } else if (outcome.error !== undefined) {
      expect(watch.error).toMatchObject({ code: outcome.error })
    }
    if (outcome.extent === 'held') expect(this.hasRead.isOpen).toBe(false)
    else if (this.hasRead.isOpen) {
      if (typeof source.expected === 'string') expect(this.received).toBe(source.expected)
      else expect(this.received).toMatch(source.expected)
    }
  }

  async #checkRemains(): Promise<void> {
    const { client, streams } = this.rig
    let isLetGo = false
    this.source.letGo().then(() => {
      isLetGo = true
    })
    await this.#wait('the source of the body is left', () => isLetGo)
    await this.#wait('a stream of the server is left', () => streams.size === 0)
    expect(client.load).toEqual({ pending: 0, running: 0, timed: 0 })
    expect(getEventListeners(this.setup.signal as EventTarget, 'abort')).toEqual([])
  }
}
