/**
 * What a connection has to send, and when.
 *
 * @module
 */

import type { ByteSink } from './frame-writer.ts'
import { FrameWriter } from './frame-writer.ts'
import { DEFAULT_FRAME_SIZE } from './frames.ts'
import { HpackEncoder } from './hpack/encoder.ts'

/** Who flushes. */
export interface OutputListener {
  /**
   * Something waits for `flush()`. Said once for each kind of hurry, until that is called.
   *
   * @param isPatient whether it may wait a little: more of the same is likely to come
   */
  onOutput(isPatient: boolean): void
}

/**
 * `none`: nothing waits. `patient`: what waits may wait a little. `urgent`: it goes as soon as may be. The listener
 * knows.
 */
type Hurry = 'none' | 'patient' | 'urgent'

/** The frames that wait to be sent, and whether the listener knows that they do. */
export class Output {
  readonly encoder = new HpackEncoder()
  readonly writer = new FrameWriter(this.encoder, DEFAULT_FRAME_SIZE)
  readonly #listener: OutputListener
  #hurry: Hurry = 'none'

  constructor(listener: OutputListener) {
    this.#listener = listener
  }

  /** Something waits, and goes as soon as may be. */
  requestFlush(): void {
    if (this.#hurry === 'urgent') return
    this.#hurry = 'urgent'
    this.#listener.onOutput(false)
  }

  /** Something waits, and may wait a little for more of the same. */
  requestPatientFlush(): void {
    if (this.#hurry !== 'none') return
    this.#hurry = 'patient'
    this.#listener.onOutput(true)
  }

  /** Hands over everything. */
  flush(sink: ByteSink): void {
    this.#hurry = 'none'
    this.writer.flush(sink)
  }
}
