/**
 * One source of upstreams: when it is asked, and what happens with its answers.
 *
 * @module
 */

import type { UpstreamResolver, UpstreamSource } from '../../../../types/upstream.ts'
import type { Alarm, Clock } from '../../../core/clock.ts'
import { MAX_DELAY } from '../../../core/clock.ts'
import { noop } from '../../../core/noop.ts'
import { throwUncaught } from '../../../core/original-timers.ts'
import { toError } from '../../../errors/errors.ts'
import type { DiscoveryContext, ResolvedAnswer, ResolvedUpstream } from '../resolved-upstream.ts'
import { isAsyncIterable } from './answer.ts'
import { DEFAULT_TTL, MIN_PAUSE, PATIENCE, toNext, toRefresh, toRetry } from './resolution-timing.ts'

/** Is told about one source. */
export interface DiscoveryOwner {
  /** @throws InvalidArgumentError for an invalid answer */
  check(answer: unknown): ResolvedAnswer
  /** The discovery's `upstreams` has been replaced, possibly by an equal list. */
  onAnswer(discovery: Discovery): void
  /** @param isFinal whether the source gives no more answers for now; false: a failure besides an answer */
  onError(discovery: Discovery, error: Error, isFinal: boolean): void
}

/**
 * - `idle`: it hasn't been asked yet
 * - `asking`: a function was asked, and hasn't answered; `alarm` fires when it takes too long
 * - `watching`: an async iterable gives answers whenever it wants
 * - `pausing`: it is asked again when `alarm` fires, at `at`
 * - `over`: there will be no more answers, because the caller's iterable has ended
 * - `stopped`: no more answers are wanted
 */
type DiscoveryState =
  | { readonly kind: 'idle' | 'over' | 'stopped' }
  | { readonly kind: 'asking'; readonly abort: AbortController; readonly alarm: Alarm }
  | { readonly kind: 'watching'; readonly abort: AbortController; readonly answers: AsyncIterator<unknown> }
  | { readonly kind: 'pausing'; readonly alarm: Alarm; readonly at: number }

/** A source of upstreams. It doesn't keep the process alive. */
export class Discovery {
  /** Its name in errors. */
  readonly name: string
  readonly #source: UpstreamSource
  readonly #context: DiscoveryContext
  readonly #clock: Clock
  readonly #random: () => number
  readonly #owner: DiscoveryOwner
  #state: DiscoveryState = { kind: 'idle' }
  /** The latest good answer; null if there was none. */
  #upstreams: readonly ResolvedUpstream[] | null = null
  /** The latest failure since the latest good answer; null if there was none. */
  #error: Error | null = null
  /** Consecutive failures. */
  #failures = 0
  /** When it was last asked. */
  #askedAt = 0
  /** Whether something has happened since it was asked that may make the answer out of date when it arrives. */
  #isOutdated = false

  /** @param random returns a number from 0 to below 1 */
  constructor(
    source: UpstreamSource,
    context: DiscoveryContext,
    clock: Clock,
    random: () => number,
    owner: DiscoveryOwner,
  ) {
    this.name =
      typeof source === 'function' ? source.name || 'the resolver' : 'the async iterable of upstreams'
    this.#source = source
    this.#context = context
    this.#clock = clock
    this.#random = random
    this.#owner = owner
  }

  /** The upstreams in the latest good answer; null if there was none. */
  get upstreams(): readonly ResolvedUpstream[] | null {
    return this.#upstreams
  }

  /** Why there is no newer answer; null if there is one. */
  get error(): Error | null {
    return this.#error
  }

  /** Whether an answer may arrive without another question. */
  get isPending(): boolean {
    const { kind } = this.#state
    return kind === 'asking' || kind === 'watching' || kind === 'idle'
  }

  /** Whether a question is being answered. */
  get isAsking(): boolean {
    return this.#state.kind === 'asking'
  }

  /** Whether there will never be another answer. */
  get isOver(): boolean {
    return this.#state.kind === 'over'
  }

  /** Asks for the first time. */
  start(): void {
    if (this.#state.kind === 'idle') this.#ask()
  }

  /** The answer may be out of date, or a request waits for one: asks again soon. */
  refresh(): void {
    const state = this.#state
    if (state.kind === 'asking') this.#isOutdated = true
    if (state.kind !== 'pausing') return
    const at = toRefresh(this.#askedAt, this.#clock.now(), this.#random())
    if (at >= state.at) return
    state.alarm.cancel()
    this.#pause(at)
  }

  /** The caller has removed an upstream in its answer: it is gone until another answer has it again. */
  forget(name: string): void {
    this.#upstreams = this.#upstreams?.filter((upstream) => upstream.name !== name) ?? null
  }

  /** No more answers are wanted. Idempotent. */
  stop(): void {
    const state = this.#state
    this.#state = { kind: 'stopped' }
    this.#release(state)
  }

  #ask(): void {
    const abort = new AbortController()
    const alarm = this.#clock.after(PATIENCE, () => this.#onLate(abort))
    this.#state = { kind: 'asking', abort, alarm }
    this.#askedAt = this.#clock.now()
    this.#isOutdated = false
    let answer: unknown
    try {
      answer = typeof this.#source === 'function' ? this.#call(this.#source, abort) : this.#source
    } catch (thrown) {
      answer = Promise.reject(thrown)
    }
    if (isAsyncIterable(answer)) {
      this.#watch(answer, abort, alarm)
      return
    }
    Promise.resolve(answer).then(
      (value) => {
        if (!isAsyncIterable(value)) this.#onAnswer(abort, value)
        else if (this.#isOf(abort)) this.#watch(value, abort, alarm)
      },
      (reason) => this.#onFailure(abort, toError(reason)),
    )
  }

  #call(resolver: UpstreamResolver, { signal }: AbortController): unknown {
    return resolver({
      ...this.#context,
      signal,
      report: (error) => {
        if (!signal.aborted) this.#tellError(toError(error), false)
      },
    })
  }

  #onAnswer(abort: AbortController, value: unknown): void {
    if (!this.#isOf(abort)) return
    const ttl = this.#take(abort, value)
    if (ttl === null) return
    this.#release(this.#state)
    const now = this.#clock.now()
    const next = toNext(ttl, now, this.#random())
    this.#pause(this.#isOutdated ? Math.min(next, toRefresh(this.#askedAt, now, this.#random())) : next)
    this.#tellAnswer()
  }

  /**
   * Checks and keeps an answer.
   *
   * @returns how long it is valid; null if it is invalid, which is reported
   */
  #take(abort: AbortController, value: unknown): number | null {
    let answer: ResolvedAnswer
    try {
      answer = this.#owner.check(value)
      const [first] = answer.unusable
      if (answer.upstreams.length === 0) throw first ?? new Error('The answer has no upstreams')
    } catch (thrown) {
      this.#onFailure(abort, toError(thrown))
      return null
    }
    for (const error of answer.unusable) {
      this.#tellError(error, false)
      // A listener may have destroyed the pool.
      if (!this.#isOf(abort)) return null
    }
    this.#upstreams = answer.upstreams
    this.#error = null
    this.#failures = 0
    return Math.max(MIN_PAUSE, answer.ttl ?? DEFAULT_TTL)
  }

  /** The question has failed, or its answer is invalid. An iterable may continue. */
  #onFailure(abort: AbortController, error: Error): void {
    if (!this.#isOf(abort)) return
    this.#error = error
    if (this.#state.kind !== 'watching') this.#retry()
    this.#tellError(error, true)
  }

  #retry(): void {
    this.#release(this.#state)
    this.#failures++
    this.#pause(toRetry(this.#failures, this.#clock.now(), this.#random()))
  }

  #onLate(abort: AbortController): void {
    this.#onFailure(abort, new Error(`No answer came within ${PATIENCE / 1_000} seconds`))
  }

  #watch(iterable: AsyncIterable<unknown>, abort: AbortController, alarm: Alarm): void {
    alarm.cancel()
    // A caller's getter may throw.
    try {
      const answers = iterable[Symbol.asyncIterator]()
      this.#state = { kind: 'watching', abort, answers }
      void this.#read(answers, abort)
    } catch (thrown) {
      this.#onEnd(abort, toError(thrown))
    }
  }

  /** Never rejects. */
  async #read(answers: AsyncIterator<unknown>, abort: AbortController): Promise<void> {
    try {
      for (let next = await answers.next(); next.done !== true; next = await answers.next()) {
        if (!this.#isOf(abort)) return
        if (this.#take(abort, next.value) !== null) this.#tellAnswer()
      }
      this.#onEnd(abort, new Error('The async iterable has ended'))
    } catch (thrown) {
      this.#onEnd(abort, toError(thrown))
    }
  }

  /** An iterable has ended or failed. The function that created it is asked for another one. */
  #onEnd(abort: AbortController, error: Error): void {
    if (!this.#isOf(abort)) return
    this.#error = error
    if (typeof this.#source === 'function') this.#retry()
    else this.#state = { kind: 'over' }
    this.#tellError(error, true)
  }

  /** If one of the caller's listeners throws, that isn't a failure of the source. */
  #tellAnswer(): void {
    try {
      this.#owner.onAnswer(this)
    } catch (thrown) {
      throwUncaught(thrown)
    }
  }

  /** Parameters as in the owner's `onError()`. */
  #tellError(error: Error, isFinal: boolean): void {
    try {
      this.#owner.onError(this, error, isFinal)
    } catch (thrown) {
      throwUncaught(thrown)
    }
  }

  #pause(at: number): void {
    const delay = Math.min(MAX_DELAY, Math.max(0, Math.ceil(at - this.#clock.now())))
    this.#state = { kind: 'pausing', at, alarm: this.#clock.after(delay, () => this.#ask()) }
  }

  #isOf(abort: AbortController): boolean {
    const state = this.#state
    return (state.kind === 'asking' || state.kind === 'watching') && state.abort === abort
  }

  #release(state: DiscoveryState): void {
    if (state.kind === 'asking' || state.kind === 'pausing') state.alarm.cancel()
    if (state.kind === 'asking' || state.kind === 'watching') state.abort.abort()
    // A generator that is waiting for something ends when that arrives; its failure no longer matters.
    if (state.kind === 'watching') letGo(state.answers)
  }
}

function letGo(answers: AsyncIterator<unknown>): void {
  try {
    Promise.resolve(answers.return?.()).catch(noop)
  } catch {
    // The `return()` of the caller's own iterator has failed: it is left alone in any case.
  }
}
