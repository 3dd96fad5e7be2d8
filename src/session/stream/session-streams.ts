/**
 * A session's streams, and how many there may be.
 *
 * @module
 */

import { UnorderedList } from '../../core/unordered-list.ts'
import { ClientDestroyedError } from '../../errors/errors.ts'
import { ReceiveWindows } from '../../protocol/receive-windows.ts'
import type { EngineStream } from '../engine.ts'
import { PeerSettings } from '../peer-settings.ts'
import type { Capacity, SessionContext } from '../session.ts'
import type { ResetOwner } from './reset-budget.ts'
import { ResetBudget } from './reset-budget.ts'
import type { ConfirmationOwner, ResetPing } from './reset-confirmation.ts'
import { MAX_UNCONFIRMED } from './reset-confirmation.ts'

/** The session, as its set of streams sees it. */
export interface SessionStreamsOwner extends Pick<ConfirmationOwner, 'areFramesSent' | 'pingAfterReset'> {
  /** For how many calls it has received the header section of a final response. */
  readonly responded: number
  /** There may be room for another stream, or a reason to open another session. */
  onRoom(): void
}

/** Holds each stream from right before it is opened until the peer no longer counts it. */
export class SessionStreams implements ResetOwner {
  /** The peer's settings for streams. */
  readonly settings: PeerSettings
  /** Cancelled streams that wait for their reset. */
  readonly resets: ResetBudget
  readonly #owner: SessionStreamsOwner
  readonly #list = new UnorderedList<EngineStream>()
  /** The receive windows. */
  readonly windows: ReceiveWindows
  /**
   * Where `areIdle()` has found a stream that isn't idle. The next search starts there, so that it rarely has to
   * check all streams.
   */
  #lookAt = 0
  /** The stream that `hasLiveUpTo()` has found last: it answers for all streams that the same GOAWAY excludes. */
  #covered: EngineStream | null = null
  /** For streams up to this one, `hasLiveUpTo()` has found none. No stream with such a low id will be opened. */
  #overUpTo = 0

  constructor(context: Pick<SessionContext, 'options' | 'deadlines' | 'memory'>, owner: SessionStreamsOwner) {
    const { session } = context.options
    this.#owner = owner
    const burst = Math.min(session.resetBurst, context.memory.resetBurst)
    this.resets = new ResetBudget(context.deadlines, session, burst, this)
    this.windows = new ReceiveWindows(session, this.#list, () => owner.onRoom())
    const ownLimit = Math.min(session.maxConcurrentStreams, this.windows.maxStreams)
    this.settings = new PeerSettings(ownLimit, context.memory, session.waitForSettings)
  }

  get size(): number {
    return this.#list.size
  }

  /** How many streams don't wait for their reset. */
  get live(): number {
    return this.#list.size - this.resets.waiting
  }

  /**
   * Whether another stream may be opened: the peer's limit and the limit on a session's memory allow it. A reset
   * stream counts until the peer has read its reset. While the limit is unknown, such a place may be the last one.
   * Such places are free after one round trip, too soon for another session.
   */
  canTake(): Extract<Capacity, 'yes' | 'soon' | 'full'> {
    const { places } = this.resets.confirmation
    const { limit, peerLimit } = this.settings
    const { size } = this.#list
    const hasWindow = this.windows.canTake
    if (hasWindow && size + places < limit && (places === 0 || peerLimit !== null)) return 'yes'
    const isKnown = peerLimit !== null && peerLimit > 0
    return isKnown && (!hasWindow || size >= limit) ? 'full' : 'soon'
  }

  /** Whether calls, or their resets, will soon have to wait for resets. */
  get isCrowded(): boolean {
    return this.resets.isCrowded(this.settings.limit)
  }

  /** How many streams with a response are over; each open one may have a response. */
  get completed(): number {
    return Math.max(0, this.#owner.responded - this.#list.size)
  }

  get areFramesSent(): boolean {
    return this.#owner.areFramesSent
  }

  /** A cheap check: if it is false, so is `areIdle()`. */
  get mayBeIdle(): boolean {
    return this.#list.items[0]?.isIdle !== false
  }

  /** Whether no caller waits for any stream. */
  areIdle(): boolean {
    const { items, size } = this.#list
    if (this.#lookAt >= size) this.#lookAt = 0
    for (let seen = 0; seen < size; seen++) {
      if (items[this.#lookAt]?.isIdle !== true) return false
      this.#lookAt = (this.#lookAt + 1) % size
    }
    return true
  }

  /** The streams whose calls wait to send some of their bodies, and have no response. */
  toStuck(): EngineStream[] {
    return this.#list.items.filter(({ isStuck }) => isStuck)
  }

  /** Whether a call runs on a stream up to this one. @param lastStreamId from a GOAWAY */
  hasLiveUpTo(lastStreamId: number): boolean {
    if (lastStreamId <= this.#overUpTo) return false
    const isLive = ({ streamId, isDone }: EngineStream): boolean =>
      !isDone && streamId !== null && streamId <= lastStreamId
    if (this.#covered === null || !isLive(this.#covered))
      this.#covered = this.#list.items.find(isLive) ?? null
    if (this.#covered === null) this.#overUpTo = lastStreamId
    return this.#covered !== null
  }

  /** A stream is about to be opened. @returns whether the size of a receive window has changed */
  add(stream: EngineStream): boolean {
    this.#list.add(stream)
    const isChanged = this.windows.open(stream)
    if (this.resets.confirmation.places > 0) this.resets.onLoad()
    return isChanged
  }

  /** A stream is gone. @returns false if it was deleted before */
  delete(stream: EngineStream): boolean {
    if (!this.#list.delete(stream)) return false
    this.windows.close(stream)
    if (this.resets.waiting > 0) this.resets.delete(stream)
    if (stream.isEndedEarly) this.resets.onEarlyEnd()
    return true
  }

  /** The peer's first SETTINGS have arrived. */
  greet(): void {
    for (const stream of this.#list.items) stream.onConnected()
  }

  /** Ends all streams on behalf of the session's owner. @param cause null if this side ends them */
  fail(cause: Error | null): void {
    for (const stream of this.#toSorted()) stream.fail(cause ?? new ClientDestroyedError())
  }

  isNearLimit(places: number): boolean {
    return places >= MAX_UNCONFIRMED / 2 || this.#list.size + 2 * places >= this.settings.limit
  }

  toNewestId(): number {
    let newest = 0
    for (const { streamId } of this.#list.items) if (streamId !== null && streamId > newest) newest = streamId
    return newest
  }

  pingAfterReset(isUrgent: boolean): ResetPing {
    return this.#owner.pingAfterReset(isUrgent)
  }

  onConfirmed(): void {
    this.resets.onConfirmed()
    this.#owner.onRoom()
  }

  /** Calls that wait for this session may now use another session. */
  onStuck(): void {
    this.#owner.onRoom()
  }

  /** The session is gone. */
  onLost(): void {
    this.resets.stop()
    for (const stream of this.#toSorted()) stream.onLost()
  }

  /** The streams in the order in which they were opened: in that order, the calls are told of their common end. */
  #toSorted(): EngineStream[] {
    return this.#list.items.toSorted((a, b) => (a.streamId ?? 0) - (b.streamId ?? 0))
  }
}
