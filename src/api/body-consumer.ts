/**
 * Consumers of a body, which bypass the buffer and the events of a Readable.
 *
 * @module
 */

import type { Readable } from 'node:stream'
import { CallerContext } from '../core/caller-context.ts'
import type { KeptPieces } from '../core/kept-pieces.ts'
import { toListener } from '../core/listener.ts'
import { originalNextTick } from '../core/original-timers.ts'
import { failAwaited, rejectAwaited } from '../errors/awaited-stack.ts'

/** Receives a whole body as it arrives, bypassing the buffer and the events of a Readable. */
export interface Consumer {
  take(chunk: Buffer): void
  /** @param isQuiet whether the stream has no listener for its end */
  onEnd(isQuiet: boolean): void
  onError(error: Error): void
}

/** Collects the pieces for `text()` and similar methods. `convert` also gets the owner, so that it needs no closure. */
export class Collector<T, TOwner> implements Consumer {
  readonly #kept: KeptPieces
  readonly #convert: (kept: KeptPieces, owner: TOwner) => T
  readonly #owner: TOwner
  readonly #resolve: (value: T | Promise<never>) => void
  readonly #reject: (error: unknown) => void

  constructor(
    kept: KeptPieces,
    convert: (kept: KeptPieces, owner: TOwner) => T,
    owner: TOwner,
    resolve: (value: T | Promise<never>) => void,
    reject: (error: unknown) => void,
  ) {
    this.#kept = kept
    this.#convert = convert
    this.#owner = owner
    this.#resolve = resolve
    this.#reject = reject
  }

  take(chunk: Buffer): void {
    this.#kept.gather(chunk)
  }

  onEnd(): void {
    try {
      this.#resolve(this.#convert(this.#kept, this.#owner))
    } catch (thrown) {
      // For example, the bytes aren't JSON.
      this.#resolve(failAwaited(thrown))
    }
  }

  onError(error: unknown): void {
    rejectAwaited(this.#resolve, this.#reject, error)
  }
}

/** For `dump()`: drops each piece, and aborts the body at the first piece above the limit. */
export class Dump implements Consumer {
  readonly #body: Readable
  /** How many bytes have arrived. */
  #received: number
  readonly #limit: number
  readonly #signal: AbortSignal | undefined
  /** The signal's listener; null without a signal. */
  readonly #onAbort: (() => void) | null
  /** Null without a signal. */
  readonly #context: CallerContext | null
  readonly #resolve: () => void
  readonly #reject: (reason: unknown) => void

  constructor(
    body: Readable,
    received: number,
    limit: number,
    signal: AbortSignal | undefined,
    resolve: () => void,
    reject: (reason: unknown) => void,
  ) {
    this.#body = body
    this.#received = received
    this.#limit = limit
    this.#signal = signal
    this.#context = signal === undefined ? null : new CallerContext()
    this.#resolve = resolve
    this.#reject = reject
    this.#onAbort = signal === undefined ? null : toListener(this)
    if (this.#onAbort !== null) signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** The signal has fired. */
  handleEvent(): void {
    this.#context?.runInAsyncScope(this.#body.destroy, this.#body, this.#signal?.reason)
  }

  take(chunk: Buffer): void {
    this.#received += chunk.length
    this.check(this.#received)
  }

  /** @param received in bytes */
  check(received: number): void {
    if (received > this.#limit) this.#body.destroy()
  }

  onEnd(isQuiet: boolean): void {
    if (isQuiet) this.#body.destroy()
    this.onError()
  }

  /** The caller doesn't want the body, so its failure isn't reported either. */
  onError(): void {
    if (this.#onAbort !== null) this.#signal?.removeEventListener('abort', this.#onAbort)
    // A tick later: the body is closed by then.
    originalNextTick(settleDump, this)
  }

  settle(): void {
    if (this.#signal?.aborted === true) this.#reject(this.#signal.reason)
    else this.#resolve()
  }
}

function settleDump(dump: Dump): void {
  dump.settle()
}
