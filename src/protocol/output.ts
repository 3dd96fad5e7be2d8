/**
 * The frames that a connection has to send, and how soon.
 *
 * @module
 */

import type { ByteSink } from './frame-writer.ts'
import { FrameWriter } from './frame-writer.ts'
import { DEFAULT_FRAME_SIZE } from './frames.ts'
import { HpackEncoder } from './hpack/encoder.ts'
import { SentPings } from './sent-pings.ts'
import { SentSettings } from './sent-settings.ts'
import { toWindowSetting } from './settings.ts'

/** Flushes the output. */
export interface OutputListener {
  /**
   * Frames wait for `flush()`. Called once for each degree of urgency, until `flush()` is called.
   *
   * @param isPatient whether the frames may wait a little, because more are likely to follow
   */
  onOutput(isPatient: boolean): void
}

/**
 * The urgency that the listener knows:
 *
 * - `none`: no frames wait
 * - `patient`: the frames may wait a little
 * - `urgent`: the frames should be sent as soon as possible
 */
type Hurry = 'none' | 'patient' | 'urgent'

/** The frames that wait to be sent, whether the listener knows about them, and what waits for its ACK. */
export class Output {
  readonly encoder = new HpackEncoder()
  readonly writer = new FrameWriter(this.encoder, DEFAULT_FRAME_SIZE)
  readonly sentPings = new SentPings()
  readonly sentSettings = new SentSettings()
  readonly #listener: OutputListener
  #hurry: Hurry = 'none'
  /** How many uploads begin in the next turn of the event loop. */
  #due = 0
  /** Whether one of them has begun, and others follow in the same turn: one write takes the frames of all. */
  #isGathering = false
  /** Whether frames that should be sent as soon as possible wait for the last of these uploads. */
  #isHeld = false

  constructor(listener: OutputListener) {
    this.#listener = listener
  }

  /** Frames wait, and should be sent as soon as possible. */
  requestFlush(): void {
    if (this.#hurry === 'urgent') return
    if (this.#isGathering) {
      this.#isHeld = true
      // The frames wait for one turn at most, however many more uploads become due.
      this.requestPatientFlush()
      return
    }
    this.#hurry = 'urgent'
    this.#listener.onOutput(false)
  }

  /** Frames wait, and may wait a little for more of the same. */
  requestPatientFlush(): void {
    if (this.#hurry !== 'none') return
    this.#hurry = 'patient'
    this.#listener.onOutput(true)
  }

  /**
   * Sends a PING (RFC 9113 §6.7).
   *
   * @param onAck isn't called if the connection ends first
   */
  ping(onAck: () => void): void {
    this.writer.ping(0, this.sentPings.add(onAck), false)
    this.requestFlush()
  }

  /**
   * Sends SETTINGS with another SETTINGS_INITIAL_WINDOW_SIZE.
   *
   * @param size in bytes
   */
  streamWindow(size: number): void {
    this.writer.settings(toWindowSetting(size))
    this.sentSettings.add({ headerTableSize: null, streamWindow: size })
    this.requestFlush()
  }

  /** An upload will begin in the next turn of the event loop. {@link onUploadTurn} follows. */
  expectUpload(): void {
    this.#due++
  }

  /** The turn of an expected upload has come, whether it begins or is over. */
  onUploadTurn(): void {
    this.#due--
    this.#isGathering = this.#due > 0
    if (this.#isHeld && !this.#isGathering) this.requestFlush()
  }

  /** Passes all waiting frames to the sink. */
  flush(sink: ByteSink): void {
    this.#hurry = 'none'
    this.#isGathering = false
    this.#isHeld = false
    this.writer.flush(sink)
  }
}
