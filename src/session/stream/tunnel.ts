/**
 * A tunnel over one stream.
 *
 * @module
 */

import type { AddressInfo, Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { originalSetImmediate } from '../../core/original-timers.ts'
import type { Request } from '../../core/request.ts'
import { StreamError } from '../../errors.ts'

type Callback = (error?: Error | null) => void

/** A stream of an engine's, as its tunnel sees it. */
export interface TunnelSide {
  /** The connection below; null before there is one. */
  readonly socket: Socket | null
  /** Whoever reads the tunnel wants more. */
  readTunnel(): void
  /** @param callback called with an error when it will never be sent, otherwise once it was taken */
  writeTunnel(chunk: Uint8Array, callback: Callback): void
  endTunnel(callback: Callback): void
  /** All that has come was read, or never will be. */
  closeTunnel(): void
  /** Resets the stream, as soon as the peer won't mind. */
  resetTunnel(): void
}

/**
 * Either side ends by itself: `end()` sends END_STREAM, and reading goes on. What breaks the stream breaks the tunnel,
 * in words of ours: a reset that node tells by `close` alone as well. `destroy()` resets the stream with CANCEL.
 */
export class Tunnel extends Duplex {
  readonly #session: { readonly socket: Socket | null }
  readonly #side: TunnelSide
  /** The callback of a write that has failed: what the stream died of comes with its end. */
  #failedWrite: Callback | null = null
  /** The callback of an end that wasn't sent: nothing of ours is lost with it, if the stream ends well. */
  #failedEnd: Callback | null = null
  #hasPeerEnded = false
  /** The stream is gone, and `close()` has said so. */
  #isClosed = false
  /** Why the stream was lost; null while it wasn't, and after a `destroy()` of the caller's. */
  #failure: Error | null = null

  /** @param allowHalfOpen whether our side goes on when the peer has ended its own */
  constructor(side: TunnelSide, allowHalfOpen: boolean) {
    super({ allowHalfOpen })
    this.#session = Object.freeze({ socket: side.socket })
    this.#side = side
  }

  /**
   * That of a request: who has a key expects a socket of HTTP/1.1, which ends along with the peer's side, as a
   * WebSocket does.
   */
  static over(side: TunnelSide, { webSocketKey }: Request): Tunnel {
    return new Tunnel(side, webSocketKey === null)
  }

  /**
   * What lies below: undici's WebSocket tells HTTP/2 from HTTP/1.1 by it, and asks it for an address. No field: to
   * inspect a tunnel would show node's session with the headers of all its requests.
   */
  get session(): { readonly socket: Socket | null } {
    return this.#session
  }

  /** The local address of the connection, as that of a socket. */
  address(): AddressInfo | Record<string, never> {
    return this.session.socket?.address() ?? {}
  }

  /** The peer has ended its side properly. */
  onPeerEnd(): void {
    if (this.#hasPeerEnded) return
    this.#hasPeerEnded = true
    // From here on nobody asks for more: what lies unread is told of by its end.
    this.once('end', () => this.#side.closeTunnel())
    this.push(null)
  }

  /** The stream is gone: with an error, or because both sides have ended. */
  close(error: Error | null): void {
    const [failedWrite, failedEnd] = [this.#failedWrite, this.#failedEnd]
    this.#failedWrite = null
    this.#failedEnd = null
    this.#isClosed = true
    const failure = error ?? (failedWrite === null ? null : toClosedError(null))
    if (failure !== null) {
      this.fail(failure)
      failedWrite?.(failure)
      failedEnd?.(failure)
      return
    }
    failedEnd?.()
    if (!this.destroyed) {
      // What has come must still be read.
      if (this.readableEnded) this.destroy()
      else this.once('end', () => this.destroy())
    }
  }

  /** Its stream, or its session, has failed: the caller hears of it once the caller can listen. */
  fail(error: Error): void {
    if (!this.destroyed) this.#failure = error
    this.destroy(error)
  }

  /** Whether the peer has ended its side properly. */
  get hasPeerEnded(): boolean {
    return this.#hasPeerEnded
  }

  override _read(): void {
    this.#side.readTunnel()
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, callback: Callback): void {
    this.#side.writeTunnel(chunk, (error) => this.#onWritten(error, callback))
  }

  override _final(callback: Callback): void {
    this.#side.endTunnel((error) => this.#onEnded(error, callback))
  }

  override _destroy(error: Error | null, callback: Callback): void {
    this.#side.closeTunnel()
    // Both sides have ended: what is left of ours is on its way, and the stream closes by itself.
    if (error !== null || !this.writableFinished || !this.#hasPeerEnded) this.#side.resetTunnel()
    // A tick runs before the continuation of an `await`: the caller who gets this tunnel by a promise couldn't listen
    // for `error` yet.
    if (this.#failure === null) callback(error)
    else originalSetImmediate(callback, error)
  }

  #onWritten(error: Error | null | undefined, callback: Callback): void {
    if (error === null || error === undefined) callback()
    else if (this.#isClosed || this.destroyed) callback(this.errored ?? toClosedError(error))
    else this.#failedWrite = callback
  }

  /** The end of a stream that has ended well is lost without harm: all that was written went out before. */
  #onEnded(error: Error | null | undefined, callback: Callback): void {
    if (error !== null && error !== undefined && !this.destroyed) {
      if (this.#isClosed) callback()
      else this.#failedEnd = callback
    } else {
      this.#onWritten(error, callback)
    }
  }
}

function toClosedError(cause: unknown): StreamError {
  return new StreamError('The peer has closed the tunnel', { cause, processed: 'yes' })
}
