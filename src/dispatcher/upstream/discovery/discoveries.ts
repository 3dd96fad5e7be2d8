/**
 * All upstreams that an UpstreamPool should have: those that its caller has named, and those from its sources.
 *
 * @module
 */

import type { UpstreamSource } from '../../../../types/upstream.ts'
import type { Clock } from '../../../core/clock.ts'
import type { DodiciError } from '../../../errors/errors.ts'
import { ConnectError } from '../../../errors/errors.ts'
import { toLimitError } from '../../../options/limits.ts'
import type { DiscoveryContext, ResolvedAnswer, ResolvedUpstream } from '../resolved-upstream.ts'
import { Discovery } from './discovery.ts'
import type { WaitingCall, WaitLimit } from './waiting-calls.ts'
import { WaitingCalls } from './waiting-calls.ts'

/** The UpstreamPool. */
export interface DiscoveriesOwner {
  /** @throws InvalidArgumentError for an invalid answer */
  check(answer: unknown): ResolvedAnswer
  /** A source's answer may have changed the upstreams. */
  onAnswer(): void
  onError(error: ConnectError): void
}

/** Decides which upstreams there should be, and keeps the calls that wait until there is one. */
export class Discoveries {
  readonly #owner: DiscoveriesOwner
  readonly #discoveries: readonly Discovery[]
  readonly #named = new Map<string, ResolvedUpstream>()
  readonly #waiting: WaitingCalls

  /** @param random returns a number from 0 to below 1 */
  constructor(
    sources: readonly UpstreamSource[],
    context: DiscoveryContext,
    clock: Clock,
    random: () => number,
    owner: DiscoveriesOwner,
  ) {
    this.#owner = owner
    this.#waiting = new WaitingCalls(clock, (limit) => this.#toLateError(limit))
    const listener = {
      check: (answer: unknown) => owner.check(answer),
      onAnswer: () => owner.onAnswer(),
      onError: (discovery: Discovery, error: Error, isFinal: boolean) =>
        this.#onError(discovery, error, isFinal),
    }
    this.#discoveries = sources.map((source) => new Discovery(source, context, clock, random, listener))
  }

  /** Whether calls may wait for an answer. */
  get mayCome(): boolean {
    return this.#discoveries.some(({ isOver }) => !isOver)
  }

  /** Whether there are sources at all. */
  get areNone(): boolean {
    return this.#discoveries.length === 0
  }

  /**
   * All upstreams that there should be, by name. If several have one name, the caller's counts, or the first source's.
   */
  get wanted(): ReadonlyMap<string, ResolvedUpstream> {
    const wanted = new Map(this.#named)
    for (const { upstreams } of this.#discoveries) {
      for (const upstream of upstreams ?? []) {
        if (!wanted.has(upstream.name)) wanted.set(upstream.name, upstream)
      }
    }
    return wanted
  }

  /** Adds one of the caller's upstreams. */
  add(upstream: ResolvedUpstream): void {
    this.#named.set(upstream.name, upstream)
  }

  /** The caller names an upstream that a source has named: it stays when the source no longer names it. */
  keep(name: string): void {
    const upstream = this.wanted.get(name)
    if (upstream !== undefined) this.#named.set(name, upstream)
  }

  /** The caller removes an upstream, until a source names it again. */
  delete(name: string): void {
    this.#named.delete(name)
    for (const discovery of this.#discoveries) discovery.forget(name)
  }

  start(): void {
    for (const discovery of this.#discoveries) discovery.start()
  }

  /** The known upstreams may be out of date. */
  refresh(): void {
    for (const discovery of this.#discoveries) discovery.refresh()
  }

  /** No more answers are wanted. */
  stop(): void {
    for (const discovery of this.#discoveries) discovery.stop()
  }

  /**
   * A call waits for the first upstream.
   *
   * @throws ConnectError if there can't be one any more
   */
  wait(call: WaitingCall, limit: WaitLimit): void {
    if (!this.mayCome) throw this.toError()
    this.#waiting.add(call, limit)
    this.refresh()
  }

  /** The call has ended. */
  unwait(call: WaitingCall): void {
    this.#waiting.delete(call)
  }

  /** There is an upstream. */
  beginWaiting(): void {
    if (this.#waiting.size > 0) this.#waiting.beginAll()
  }

  failWaiting(toOwn: () => Error): void {
    this.#waiting.failAll(toOwn)
  }

  /** Why no upstream is known. */
  toError(): ConnectError {
    const failed = this.#discoveries.find(({ error }) => error !== null)
    if (failed === undefined || failed.error === null) return new ConnectError('No upstream is known')
    return toDiscoveryError(failed.name, failed.error)
  }

  #onError(discovery: Discovery, error: Error, isFinal: boolean): void {
    this.#owner.onError(toDiscoveryError(discovery.name, error, isFinal ? 'the' : 'all'))
    // Another source may still provide some.
    if (isFinal && this.#discoveries.every((one) => !one.isAsking && (one.error !== null || !one.isPending)))
      this.failWaiting(() => this.toError())
  }

  #toLateError(limit: WaitLimit): DodiciError {
    const names = this.#discoveries.map(({ name }) => name).join(', ')
    const failed = this.#discoveries.find(({ error }) => error !== null)
    const rest = failed?.error ? `: ${failed.error.message}` : ''
    const error = toLimitError(limit.name, limit.value, `No upstream was found with ${names} within`, rest)
    return failed?.error ? Object.assign(error, { cause: failed.error }) : error
  }
}

/** With the cause's code, such as one from DNS. */
function toDiscoveryError(name: string, cause: Error, which: 'the' | 'all' = 'the'): ConnectError {
  const error = new ConnectError(`Could not get ${which} upstreams from ${name}: ${cause.message}`, { cause })
  if ('code' in cause && typeof cause.code === 'string') error.code = cause.code
  return error
}
