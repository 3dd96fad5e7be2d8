/**
 * The streams of a session: which there are, and how many there may be.
 *
 * @module
 */

import { UnorderedList } from '../../core/unordered-list.ts'
import { ClientDestroyedError } from '../../errors.ts'
import type { EngineStream } from '../engine.ts'
import { PeerSettings } from '../peer-settings.ts'
import type { SessionContext } from '../session.ts'
import { ResetBudget } from './reset-budget.ts'
import type { WindowAnnouncer } from './session-windows.ts'
import { SessionWindows } from './session-windows.ts'

/** The session, as the set of its streams sees it. */
export interface SessionStreamsOwner {
  /** Streams were reset. */
  onReset(): void
  /** There may be room for another stream, or a reason to open another session. */
  onRoom(): void
}

/** Has a stream from the moment that it is about to be opened until the peer counts it no more. */
export class SessionStreams {
  /** What the peer has said of them. */
  readonly settings: PeerSettings
  /** Those that no caller wants any more, and that wait for their reset. */
  readonly resets: ResetBudget
  readonly #list = new UnorderedList<EngineStream>()
  readonly #windows: SessionWindows
  /**
   * Where `areIdle()` has found one that isn't. From there on it looks the next time, so that it seldom has to see them
   * all.
   */
  #lookAt = 0

  constructor(context: Pick<SessionContext, 'options' | 'deadlines' | 'memory'>, owner: SessionStreamsOwner) {
    const { session } = context.options
    this.resets = new ResetBudget(
      context.deadlines,
      () => owner.onReset(),
      // Calls that wait here may be for another session now.
      () => owner.onRoom(),
    )
    this.#windows = new SessionWindows(session, this.#list, () => owner.onRoom())
    const ownLimit = Math.min(session.maxConcurrentStreams, this.#windows.maxStreams)
    this.settings = new PeerSettings(ownLimit, context.memory)
  }

  get size(): number {
    return this.#list.size
  }

  /** How many of them aren't waiting for their reset. */
  get live(): number {
    return this.#list.size - this.resets.waiting
  }

  /** The receive window of each stream, as it was announced last. Bytes. */
  get window(): number {
    return this.#windows.size
  }

  /** Whether there may be one more: the peer allows for it, and so does the bound on a session's memory. */
  get hasRoom(): boolean {
    return this.#windows.hasRoom && this.#list.size < this.settings.limit
  }

  /** Whether there may be no more although the peer has told its limit, and allows for some. */
  get isSaturated(): boolean {
    const { peerLimit } = this.settings
    return peerLimit !== null && peerLimit > 0 && !this.hasRoom
  }

  /** Cheap: where it is false, so is `areIdle()`. */
  get mayBeIdle(): boolean {
    return this.#list.items[0]?.isIdle !== false
  }

  /** Whether no caller waits for any of them. */
  areIdle(): boolean {
    const { items, size } = this.#list
    if (this.#lookAt >= size) this.#lookAt = 0
    for (let seen = 0; seen < size; seen++) {
      if (items[this.#lookAt]?.isIdle !== true) return false
      this.#lookAt = (this.#lookAt + 1) % size
    }
    return true
  }

  /**
   * There is a socket now.
   *
   * @param waiting calls that wait for it
   * @returns the first receive window of a stream, in bytes
   */
  begin(waiting: number): number {
    return this.#windows.begin(waiting)
  }

  /** There is a connection now, which has announced that window. */
  connect(connection: WindowAnnouncer): void {
    this.#windows.connect(connection)
  }

  /** It is about to be opened. */
  add(stream: EngineStream): void {
    this.#list.add(stream)
    this.#windows.open(stream)
  }

  /** It is gone. @returns false when it was already */
  delete(stream: EngineStream): boolean {
    if (!this.#list.delete(stream)) return false
    this.#windows.close(stream)
    if (this.resets.waiting > 0) this.resets.delete(stream)
    return true
  }

  /** They would go faster with larger windows. @param bytes that are enough */
  growWindow(bytes: number): void {
    this.#windows.grow(bytes)
  }

  /** Ends them all on behalf of the session's owner. @param cause null for an end of our own */
  fail(cause: Error | null): void {
    for (const stream of this.#toSorted()) stream.fail(cause ?? new ClientDestroyedError())
  }

  /** The session is gone. */
  lose(): void {
    this.resets.stop()
    for (const stream of this.#toSorted()) stream.lose()
  }

  /** As they were opened: in that order calls shall hear of their common end. */
  #toSorted(): EngineStream[] {
    return this.#list.items.toSorted((a, b) => (a.streamId ?? 0) - (b.streamId ?? 0))
  }
}
