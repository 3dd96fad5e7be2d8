/**
 * PINGs that we have sent (RFC 9113 §6.7).
 *
 * @module
 */

/** One connection's PINGs that wait for their ACK, in any order. */
export class SentPings {
  /** The listener for each ACK, by the PING's last four octets. */
  readonly #waiting = new Map<number, () => void>()
  #lastId = 0

  /**
   * A PING is sent.
   *
   * @returns its last four octets; the first four are 0
   */
  add(onAck: () => void): number {
    const id = ++this.#lastId
    this.#waiting.set(id, onAck)
    return id
  }

  /**
   * An ACK has arrived.
   *
   * @param id its last four octets
   * @returns false if no PING with these octets was sent
   */
  acknowledge(id: number): boolean {
    const onAck = this.#waiting.get(id)
    if (onAck === undefined) return false
    this.#waiting.delete(id)
    onAck()
    return true
  }
}
