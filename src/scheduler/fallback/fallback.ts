/**
 * Who serves the requests of one origin that HTTP/2 can't.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../../types/client.ts'
import { Hold, systemClock } from '../../core/clock.ts'
import type { ResolvedClientOptions } from '../../core/options.ts'
import { UnorderedList } from '../../core/unordered-list.ts'
import type { DodiciError } from '../../errors.ts'
import { ClientDestroyedError, NotSupportedError } from '../../errors.ts'
import type { Call } from '../../handler/call.ts'
import { BuiltinFallback } from './builtin-fallback.ts'
import type { FallbackOwner } from './fallback-attempt.ts'
import { FallbackAttempt } from './fallback-attempt.ts'

/** The caller's dispatcher, or one of the kind that is built into Node, which is ours. */
export class Fallback implements FallbackOwner {
  readonly #dispatcher: FallbackDispatcher | null
  /** Null where it is the caller's. */
  readonly #own: BuiltinFallback | null
  readonly #connect: ResolvedClientOptions['connect']
  readonly #attempts = new UnorderedList<FallbackAttempt>()
  /** While attempts wait for a connection: what connects may hold nothing that would keep the process alive. */
  readonly #hold = new Hold(systemClock)
  /** How many do. */
  #waiting = 0

  constructor(options: ResolvedClientOptions) {
    this.#connect = options.connect
    this.#own = options.fallback === undefined ? new BuiltinFallback(options) : null
    this.#dispatcher = options.fallback ?? this.#own
  }

  /** Whether there is one: by the caller's will there may be none. */
  get isThere(): boolean {
    return this.#dispatcher !== null
  }

  /**
   * Sends the request of a call. The call hears of everything that follows, also of a failure.
   *
   * @param error what became of the attempts before; null where there were none
   */
  open(call: Call, error: DodiciError | null): void {
    if (this.#dispatcher === null) return
    if (call.outer instanceof FallbackAttempt && call.outer.isWithin(this)) {
      call.fail(new NotSupportedError('The fallback leads back to the dispatcher that it is to serve'))
      return
    }
    const { trace } = call.request
    trace?.withdraw(error)
    const attempt = new FallbackAttempt(this, this.#dispatcher, call, this.#toServername(call))
    this.#attempts.add(attempt)
    this.#waiting++
    this.#hold.set(true)
    // Its own trace shall know whose it is: this may be the context of whoever has opened a connection.
    if (trace === null) attempt.open()
    else trace.asCaller(() => attempt.open())
  }

  /** Null where the fallback shall say. A Client's or a Pool's is that of its connections, whatever a request says. */
  #toServername({ request }: Call): string | null {
    return typeof this.#connect === 'function' ? request.servername : (this.#connect.servername ?? null)
  }

  onAttemptBegun(): void {
    if (--this.#waiting === 0) this.#hold.set(false)
  }

  onAttemptDone(attempt: FallbackAttempt): void {
    this.#attempts.delete(attempt)
  }

  /** Fails the calls that are left, and settles when what is ours is gone. */
  async end(error: Error | null): Promise<void> {
    const attempts = this.#attempts.items.toSorted((a, b) => a.sequence - b.sequence)
    for (const attempt of attempts) attempt.fail(error ?? new ClientDestroyedError())
    await this.#own?.destroy(error)
  }
}
