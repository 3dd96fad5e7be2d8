/**
 * A call's outgoing messages: in order, framed, and compressed if that is wanted.
 *
 * @module
 */

import type { Encoding } from './compression.ts'
import { compress } from './compression.ts'
import { toFrame } from './message-decoder.ts'
import type { WriteCallback } from './message-source.ts'
import { MessageSource } from './message-source.ts'

/** The call, as its messages see it. */
export interface OutgoingOwner {
  /** All messages are there: the request may be sent in one piece. */
  onWhole(): void
  onCompressionFailed(error: Error): void
}

/** A message that waits for one that is being compressed. */
interface Waiting {
  readonly message: Buffer
  readonly isCompressed: boolean
  readonly callback: WriteCallback | undefined
}

/**
 * Messages are kept until the request is dispatched. If all of them are there by then, its body is bytes, so it can be
 * sent again; otherwise it is a stream.
 */
export class OutgoingMessages {
  readonly #owner: OutgoingOwner
  readonly #encoding: Encoding
  /** The first frame, while the request isn't dispatched; null for none. */
  #first: Buffer | null = null
  /** The frames after it; null for none. */
  #more: Buffer[] | null = null
  /** The callbacks for these frames; null for none. */
  #callbacks: WriteCallback[] | null = null
  /** Null before the request is dispatched, and if its body is bytes. */
  #source: MessageSource | null = null
  /** Messages after the one that is being compressed; null while none is. */
  #behind: Waiting[] | null = null
  #isEnding = false
  #isWhole = false
  #isStopped = false

  constructor(owner: OutgoingOwner, encoding: Encoding) {
    this.#owner = owner
    this.#encoding = encoding
  }

  get encoding(): Encoding {
    return this.#encoding
  }

  /** Whether all messages are here, framed. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  send(message: Buffer, callback: WriteCallback | undefined, mayCompress: boolean): void {
    if (this.#isStopped || this.#isEnding) {
      if (callback !== undefined) process.nextTick(callback)
      return
    }
    const isCompressed = mayCompress && this.#encoding !== 'identity'
    if (this.#behind !== null) this.#behind.push({ message, isCompressed, callback })
    else if (isCompressed) this.#compress(message, callback)
    else this.#add(toFrame(message, false), callback)
  }

  end(): void {
    this.#isEnding = true
    if (this.#behind === null) this.#end()
  }

  /**
   * The request is being dispatched. Without a message, its body is a stream, too: gRPC requires END_STREAM on a DATA
   * frame, and grpc-go waits for one.
   *
   * @returns its body
   */
  open(): Buffer | MessageSource {
    const first = this.#first
    const more = this.#more
    this.#first = null
    this.#more = null
    this.#callBack()
    if (this.#isWhole && first !== null) return more === null ? first : Buffer.concat([first, ...more])
    const source = new MessageSource()
    this.#source = source
    if (first !== null) source.write(first, undefined)
    if (more !== null) for (const frame of more) source.write(frame, undefined)
    if (this.#isWhole) source.end()
    return source
  }

  /** The call has ended: nothing more is sent. */
  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#first = null
    this.#more = null
    this.#callBack()
    for (const { callback } of this.#behind ?? []) if (callback !== undefined) process.nextTick(callback)
    this.#behind = this.#behind && []
    this.#source?.destroy()
  }

  #callBack(): void {
    const callbacks = this.#callbacks
    if (callbacks === null) return
    this.#callbacks = null
    for (const callback of callbacks) process.nextTick(callback)
  }

  #add(frame: Buffer, callback: WriteCallback | undefined): void {
    if (this.#source !== null) {
      this.#source.write(frame, callback)
      return
    }
    if (this.#first === null) {
      this.#first = frame
    } else {
      this.#more ??= []
      this.#more.push(frame)
    }
    if (callback === undefined) return
    this.#callbacks ??= []
    this.#callbacks.push(callback)
  }

  #end(): void {
    this.#isWhole = true
    if (this.#source !== null) this.#source.end()
    else if (!this.#isStopped) this.#owner.onWhole()
  }

  #compress(message: Buffer, callback: WriteCallback | undefined): void {
    this.#behind ??= []
    compress(this.#encoding, message, (error, compressed) => {
      if (this.#isStopped) {
        callback?.()
        return
      }
      if (error === null) this.#add(toFrame(compressed, true), callback)
      else this.#owner.onCompressionFailed(error)
      this.#goOn()
    })
  }

  #goOn(): void {
    for (let next = this.#behind?.shift(); next !== undefined; next = this.#behind?.shift()) {
      if (next.isCompressed) {
        this.#compress(next.message, next.callback)
        return
      }
      this.#add(toFrame(next.message, false), next.callback)
    }
    this.#behind = null
    if (this.#isEnding) this.#end()
  }
}
