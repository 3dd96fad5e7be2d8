/** A connection without a socket: node's own `duplexPair()` is there from Node 22.6 on. */

import { Duplex } from 'node:stream'

/**
 * One end of the connection. What is written to one end is read from the other, in the same pieces and in a later turn
 * of the event loop, as over a network: Node 20's node:http2 aborts the process if data arrives during its own write. A
 * write is done when the other end asks for more. Each half ends separately.
 */
export class PairedDuplex extends Duplex {
  #other: PairedDuplex = this
  /** Calls back for the write that the other end waits with. */
  #onTaken: (() => void) | null = null

  static toPair(): [PairedDuplex, PairedDuplex] {
    const [near, far] = [new PairedDuplex(), new PairedDuplex()]
    near.#other = far
    far.#other = near
    return [near, far]
  }

  /** Like a TCP RST: the other end fails with ECONNRESET. */
  resetAndDestroy(): void {
    const error = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })
    this.#other.destroy(error)
    this.destroy()
  }

  override _read(): void {
    const onTaken = this.#onTaken
    this.#onTaken = null
    onTaken?.()
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, callback: (error?: Error) => void): void {
    const other = this.#other
    if (other.destroyed) {
      callback(Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' }))
    } else if (bytes.length === 0) {
      callback()
    } else {
      other.#onTaken = callback
      setImmediate(() => other.#deliver(bytes))
    }
  }

  override _final(callback: () => void): void {
    setImmediate(() => this.#other.#deliver(null))
    callback()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    const other = this.#other
    // What was written to this end is lost, as in a socket's buffers.
    this._read()
    // So is what it has written itself, if the other end hasn't asked for more: nothing waits for that any more.
    other._read()
    setImmediate(() => other.#deliver(null))
    callback(error)
  }

  #deliver(bytes: Buffer | null): void {
    if (!this.destroyed && !this.readableEnded) this.push(bytes)
  }
}
