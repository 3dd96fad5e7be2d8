/**
 * The replays of one origin's calls, and the counts that bound them.
 *
 * @module
 */

import type { SchedulerNotes } from '../call/scheduler-notes.ts'
import type { DodiciError } from '../errors/errors.ts'
import type { FailedCall, ReplayTerms, ReplayVerdict } from './replay-verdict.ts'
import { toReplayCounts, toReplayVerdict } from './replay-verdict.ts'

/** Asks for the verdict, which is pure, and writes its counts to the calls. */
export class Replays {
  readonly #terms: ReplayTerms
  #progress = 0

  constructor(terms: ReplayTerms) {
    this.#terms = terms
  }

  /** Calls of which a response has come, so far: replays and reconnects are free while that number grows. */
  get progress(): number {
    return this.#progress
  }

  /** A call has settled that had got its response's header section. */
  recordResponse(): void {
    this.#progress++
  }

  /**
   * An attempt of a call has failed without a response.
   *
   * @param isLeftOut as of an {@link Attempt}
   * @returns null: the call must not be sent again
   */
  judge(call: FailedCall & SchedulerNotes, error: DodiciError, isLeftOut: boolean): ReplayVerdict | null {
    const counts = toReplayCounts(call.failures, error, this.#progress, isLeftOut)
    const verdict = toReplayVerdict(call, error, counts, this.#terms)
    // A failure that leads to the fallback isn't counted: it can't happen again and again.
    if (verdict !== 'http/1.1') {
      call.failures = { ...call.failures, ...counts }
    }
    if (verdict === 'safe') call.failures = { ...call.failures, wasRepeated: true }
    return verdict
  }
}
