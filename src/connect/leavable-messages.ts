/**
 * A stream's messages as the transport gives them to its caller.
 *
 * @module
 */

import { Code, ConnectError } from '@connectrpc/connect'
import type { Leavable } from './protocol.ts'

/** What has to be ended. It has no reference to what the caller holds. */
interface Held {
  readonly messages: AsyncIterator<unknown>
  readonly calls: readonly Leavable[]
}

/**
 * `createClient()` gives its callers an iterable without `return()`, so the transport isn't told when a loop is left.
 * But then nothing refers to the messages: the call ends when they are collected.
 */
const forgotten = new FinalizationRegistry(leave)

function leave({ messages, calls }: Held): void {
  for (const call of calls)
    call.leave(new ConnectError('the caller stopped reading the messages', Code.Canceled))
  // This tells `runStreamingCall()`, whose iterable has no `return()`: the deadline's timer ends, and `return()` is
  // called on the messages to send. The outcome was decided above.
  messages.next().catch(() => {})
}

/** A call ends when its messages are left, not only when they are read to their end. */
export class LeavableMessages<T> implements AsyncIterableIterator<T> {
  readonly #messages: AsyncIterator<T>
  readonly #held: Held
  #isOver = false

  constructor(messages: AsyncIterable<T>, calls: readonly Leavable[]) {
    this.#messages = messages[Symbol.asyncIterator]()
    this.#held = { messages: this.#messages, calls }
    forgotten.register(this, this.#held, this.#held)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined })
    return this.#messages.next().then(this.#onResult, this.#onError)
  }

  readonly #onResult = (result: IteratorResult<T>): IteratorResult<T> => {
    if (result.done === true) this.#end()
    return result
  }

  readonly #onError = (error: unknown): never => {
    this.#end()
    throw error
  }

  async return(): Promise<IteratorResult<T>> {
    if (!this.#isOver) {
      this.#end()
      leave(this.#held)
    }
    return { done: true, value: undefined }
  }

  #end(): void {
    this.#isOver = true
    forgotten.unregister(this.#held)
  }
}
