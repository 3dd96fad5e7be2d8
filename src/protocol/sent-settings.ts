/**
 * SETTINGS that we have sent (RFC 9113 §6.5.3).
 *
 * @module
 */

import { protocolError } from './protocol-error.ts'

/** The settings that one SETTINGS frame's ACK puts in force. */
export interface AnnouncedSettings {
  /** SETTINGS_HEADER_TABLE_SIZE, in bytes, in the first SETTINGS; null in later ones, which change the window. */
  readonly headerTableSize: number | null
  /** SETTINGS_INITIAL_WINDOW_SIZE, in bytes. */
  readonly streamWindow: number
}

/**
 * One connection's SETTINGS that wait for their ACK. The peer acknowledges them in the order in which they were sent.
 */
export class SentSettings {
  readonly #waiting: AnnouncedSettings[] = []

  /** A SETTINGS frame is sent. */
  add(announced: AnnouncedSettings): void {
    this.#waiting.push(announced)
  }

  /**
   * An ACK has arrived.
   *
   * @returns the settings that are in force from now on
   * @throws ConnectionFault if no SETTINGS wait for an ACK
   */
  acknowledge(): AnnouncedSettings {
    const announced = this.#waiting.shift()
    if (announced === undefined)
      protocolError('A SETTINGS ACK arrived, but no SETTINGS were waiting for one (RFC 9113 §6.5.3)')
    return announced
  }
}
