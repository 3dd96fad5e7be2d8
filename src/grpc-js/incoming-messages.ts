/**
 * A response's messages: found in its pieces, decompressed, and kept until the caller asks for them.
 *
 * @module
 */

import { decompress } from './compression.ts'
import { Status } from './grpc.ts'
import type { MessageSink } from './message-decoder.ts'
import { MessageDecoder } from './message-decoder.ts'
import type { Outcome } from './status.ts'

/** The call, as its incoming messages see it. */
export interface IncomingOwner {
  /** Passes a message to the listener, which may ask for the next one during this call. */
  deliver(message: Buffer): void
  onBadMessage(outcome: Outcome): void
  /** Messages that weren't asked for are kept, so the server must not send more. */
  hold(): void
  /** The kept messages were asked for. */
  flow(): void
  /** Everything that arrived has been delivered. */
  onDrained(): void
}

/** A message that waits for the caller, or until the one before it is decompressed. */
interface Kept {
  readonly message: Buffer
  readonly isCompressed: boolean
}

/**
 * When messages that weren't asked for have this many bytes, the server has to wait. As in grpc-js, whose streams keep
 * a window: a call that never asks for them still gets the status that follows.
 */
const MAX_KEPT = 65_536

/** What a waiting message costs besides its bytes, approximately, so that empty ones count, too. */
const MESSAGE_COST = 64

/** Delivers one message for each that was asked for, in order, and never during the request for it. */
export class IncomingMessages implements MessageSink {
  readonly #owner: IncomingOwner
  readonly #decoder: MessageDecoder
  readonly #maxSize: number
  /** The response's `grpc-encoding`. */
  encoding = 'identity'
  /** How many messages the listener has got. */
  delivered = 0
  /** Null until the first one has to wait. */
  #kept: Kept[] | null = null
  #keptSize = 0
  #isHeld = false
  /** Whether the caller has asked for a message that it hasn't got. */
  #isWanted = false
  /** Whether the first kept message is being decompressed. */
  #isInflating = false
  #isScheduled = false
  #isDelivering = false
  #isStopped = false

  constructor(owner: IncomingOwner, maxSize: number) {
    this.#owner = owner
    this.#maxSize = maxSize
    this.#decoder = new MessageDecoder(this, maxSize)
  }

  /** Whether nothing waits here. */
  get isDrained(): boolean {
    return this.#count === 0 && !this.#isInflating
  }

  /** Whether a message is being decompressed. */
  get isInflating(): boolean {
    return this.#isInflating
  }

  get #count(): number {
    return this.#kept === null ? 0 : this.#kept.length
  }

  get isWithinMessage(): boolean {
    return this.#decoder.isWithinMessage
  }

  write(chunk: Buffer): void {
    if (this.#isStopped) return
    // Not when the limit is reached: the status may follow, and a caller that asks for no more messages waits for it.
    if (this.#keptSize >= MAX_KEPT && !this.#isHeld) {
      this.#isHeld = true
      this.#owner.hold()
    }
    const length = this.#decoder.write(chunk)
    if (length < 0 || this.#isStopped) return
    const details = `Received message larger than max (${length} vs ${this.#maxSize})`
    this.#owner.onBadMessage({ code: Status.RESOURCE_EXHAUSTED, details })
  }

  /** The caller asks for one message. */
  want(): void {
    this.#isWanted = true
    if (this.#count === 0) this.#flow()
    else if (!this.#isDelivering && !this.#isScheduled && !this.#isInflating) {
      this.#isScheduled = true
      process.nextTick(deliverLater, this)
    }
  }

  /** The call has ended: nothing more is delivered. */
  stop(): void {
    this.#isStopped = true
    this.#kept = null
  }

  onMessage(message: Buffer, isCompressed: boolean): void {
    if (this.#isStopped) return
    const mayTell = this.#isWanted && this.#count === 0 && !this.#isDelivering && !this.#isInflating
    if (mayTell && !isCompressed) {
      this.#tell(message)
      return
    }
    this.#kept ??= []
    this.#kept.push({ message, isCompressed })
    this.#keptSize += message.length + MESSAGE_COST
    if (this.#isWanted) this.#deliver()
  }

  #tell(message: Buffer): void {
    this.#isWanted = false
    this.delivered++
    this.#isDelivering = true
    this.#owner.deliver(message)
    this.#isDelivering = false
  }

  /** Delivers kept messages while the caller wants them. */
  #deliver(): void {
    if (this.#isDelivering || this.#isInflating) return
    while (this.#isWanted && !this.#isStopped) {
      const next = this.#kept?.[0]
      if (next === undefined) break
      if (next.isCompressed) {
        this.#inflate(next)
        return
      }
      this.#take(next)
      this.#tell(next.message)
    }
    if (this.#isStopped || this.#count > 0) return
    this.#flow()
    this.#owner.onDrained()
  }

  #take(kept: Kept): void {
    this.#kept?.shift()
    this.#keptSize -= kept.message.length + MESSAGE_COST
  }

  #inflate(kept: Kept): void {
    this.#isInflating = true
    decompress(this.encoding, kept.message, this.#maxSize, (failure, message) => {
      this.#isInflating = false
      if (this.#isStopped) return
      if (failure !== null) {
        this.#owner.onBadMessage(failure)
        return
      }
      this.#take(kept)
      this.#tell(message)
      this.#deliver()
    })
  }

  #flow(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#owner.flow()
  }

  static deliver(it: IncomingMessages): void {
    it.#isScheduled = false
    it.#deliver()
  }
}

function deliverLater(messages: IncomingMessages): void {
  IncomingMessages.deliver(messages)
}
