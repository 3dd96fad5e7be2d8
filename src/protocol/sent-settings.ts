/**
 * SETTINGS that we have sent (RFC 9113 §6.5.3).
 *
 * @module
 */

import { protocolError } from './protocol-error.ts'

/** What counts from the ACK of one SETTINGS frame on. */
export interface AnnouncedSettings {
  /** SETTINGS_HEADER_TABLE_SIZE, in bytes; null for a frame without it. */
  readonly headerTableSize: number | null
  /** SETTINGS_INITIAL_WINDOW_SIZE, in bytes. */
  readonly streamWindow: number
  /** Called by whoever makes it count; null for nobody. */
  readonly onAck: (() => void) | null
}

/**
 * The SETTINGS of one connection that wait for their ACK. The peer acknowledges them in the order in which they were
 * sent.
 */
export class SentSettings {
  readonly #waiting: AnnouncedSettings[] = []

  /** Another SETTINGS frame goes out. */
  add(announced: AnnouncedSettings): void {
    this.#waiting.push(announced)
  }

  /** An ACK has come. @returns what counts from now on @throws ConnectionFault where no SETTINGS wait */
  acknowledge(): AnnouncedSettings {
    const announced = this.#waiting.shift()
    if (announced === undefined) protocolError('An ACK came without SETTINGS (RFC 9113 §6.5.3)')
    return announced
  }
}
