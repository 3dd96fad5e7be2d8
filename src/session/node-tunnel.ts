/**
 * A tunnel over one stream of node:http2.
 *
 * @module
 */

import type { ClientHttp2Stream } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { StreamError } from '../errors.ts'
import { read } from './node-events.ts'

type Callback = (error?: Error | null) => void

/**
 * Either side ends by itself: `end()` sends END_STREAM, and reading goes on. What breaks the stream breaks the tunnel,
 * in words of ours: a reset that node tells by `close` alone as well. `destroy()` resets the stream with CANCEL.
 */
export class NodeTunnel extends Duplex {
  /** What lies below: undici's WebSocket tells HTTP/2 from HTTP/1.1 by it, and asks it for an address. */
  readonly session: { readonly socket: Socket | null }
  readonly #stream: ClientHttp2Stream
  readonly #reset: () => void
  /** The callback of a write that has failed: what the stream died of comes with its end. */
  #failedWrite: Callback | null = null
  #hasPeerEnded = false
  /** Node's stream is. */
  #isGone = false

  /**
   * @param allowHalfOpen whether our side goes on when the peer has ended its own
   * @param reset resets the stream, as soon as the peer won't mind
   */
  constructor(stream: ClientHttp2Stream, socket: Socket | null, allowHalfOpen: boolean, reset: () => void) {
    super({ allowHalfOpen })
    this.session = Object.freeze({ socket })
    this.#stream = stream
    this.#reset = reset
  }

  /** The local address of the connection, as that of a socket. */
  address(): AddressInfo | Record<string, never> {
    return this.session.socket?.address() ?? {}
  }

  /** The peer has ended its side properly. */
  onPeerEnd(): void {
    if (this.#hasPeerEnded) return
    this.#hasPeerEnded = true
    this.push(null)
  }

  /** The stream is gone: with an error, or because both sides have ended. */
  close(error: Error | null): void {
    const failedWrite = this.#failedWrite
    this.#failedWrite = null
    this.#isGone = true
    const failure = error ?? (failedWrite === null ? null : toClosedError(null))
    if (failure !== null) {
      this.destroy(failure)
      failedWrite?.(failure)
    } else if (!this.destroyed) {
      // What has come must still be read.
      if (this.readableEnded) this.destroy()
      else this.once('end', () => this.destroy())
    }
  }

  /** Whether the peer has ended its side properly. */
  get hasPeerEnded(): boolean {
    return this.#hasPeerEnded
  }

  override _read(): void {
    read(this.#stream)
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, callback: Callback): void {
    this.#stream.write(chunk, (error) => this.#onWritten(error, callback))
  }

  override _final(callback: Callback): void {
    this.#stream.end((error?: Error | null) => this.#onWritten(error, callback))
  }

  override _destroy(error: Error | null, callback: Callback): void {
    // Both sides have ended: what is left of ours is on its way, and node's stream closes by itself.
    if (error !== null || !this.writableFinished || !this.#hasPeerEnded) this.#reset()
    callback(error)
  }

  /** Of a write on a stream that is destroyed meanwhile node says that it went well. */
  #onWritten(error: Error | null | undefined, callback: Callback): void {
    if ((error === null || error === undefined) && !this.#stream.destroyed) callback()
    else if (this.#isGone) callback(this.errored ?? toClosedError(error))
    else this.#failedWrite = callback
  }
}

function toClosedError(cause: unknown): StreamError {
  return new StreamError('The peer has closed the tunnel', { cause, processed: 'yes' })
}
