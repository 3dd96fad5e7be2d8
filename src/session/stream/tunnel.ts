/**
 * A tunnel over one stream.
 *
 * @module
 */

import type { AddressInfo } from 'node:net'
import { Duplex } from 'node:stream'
import type { CallerContext } from '../../core/caller-context.ts'
import { KeptPieces } from '../../core/kept-pieces.ts'
import { originalNextTick, originalSetImmediate, throwUncaught } from '../../core/original-timers.ts'
import { ReadableFeed } from '../../core/readable-feed.ts'
import { StreamError } from '../../errors/errors.ts'
import type { Request } from '../../request/request.ts'
import type { Transport } from '../transport.ts'

type Callback = (error?: Error | null) => void

/** The call that has become a tunnel: the tunnel's listeners run in the call's async context. */
export interface TunnelCall extends CallerContext {
  readonly request: Pick<Request, 'webSocketKey'>
}

/** An engine's stream, as its tunnel sees it. */
export interface TunnelSide {
  /** The session's socket; null until connected. */
  readonly socket: Transport | null
  /** The tunnel's reader wants more data. @param unread how many bytes of the received data it hasn't read */
  readTunnel(unread: number): void
  /** @param callback called with an error if the chunk will never be sent, otherwise once it was accepted */
  writeTunnel(chunk: Uint8Array, callback: Callback): void
  endTunnel(callback: Callback): void
  /** All received data was read, or will never be read. */
  closeTunnel(): void
  /** Resets the stream, as soon as the reset budget allows. */
  resetTunnel(): void
  /** Whether the tunnel keeps the process alive may have changed. */
  refTunnel(): void
}

/**
 * A tunnel over one stream, as a Duplex. Each direction ends separately: `end()` sends END_STREAM, and reading
 * continues. A stream's error becomes the tunnel's, even a reset that Node reports only with `close`. `destroy()`
 * resets the stream with CANCEL.
 */
export class Tunnel extends Duplex {
  readonly #session: { readonly socket: Transport | null }
  readonly #side: TunnelSide
  /** The context in which the tunnel was requested: listeners run in it. */
  readonly #context: CallerContext
  readonly #feed = new ReadableFeed(this, new KeptPieces())
  /**
   * The callback of a failed write. It is called when the stream's own error is known and, if there is a reader, the
   * data before a clean end was read. Null for none.
   */
  #failedWrite: Callback | null = null
  /**
   * The callback of an end that wasn't sent. If the stream ends well, no data is lost because of that. Null for none.
   */
  #failedEnd: Callback | null = null
  #hasPeerEnded = false
  #isReferenced = true
  /** Whether the stream is gone: `close()` was called. */
  #isClosed = false
  /** Why the stream was lost; null before that, and after the caller's own `destroy()`. */
  #failure: Error | null = null

  /** @param allowHalfOpen whether this side stays open when the peer has ended its own */
  constructor(side: TunnelSide, allowHalfOpen: boolean, context: CallerContext) {
    super({ allowHalfOpen })
    this.#context = context
    this.#session = Object.freeze({ socket: side.socket })
    this.#side = side
  }

  /**
   * Creates the tunnel for a request. A caller with a WebSocket key expects an HTTP/1.1 socket, which ends together
   * with the peer's direction. undici's WebSocket doesn't listen for `error` when it refuses the handshake: if a
   * session is lost meanwhile, that must not end the process.
   */
  static over(side: TunnelSide, call: TunnelCall): Tunnel {
    const { webSocketKey } = call.request
    const tunnel = new Tunnel(side, webSocketKey === null, call)
    return webSocketKey === null ? tunnel : tunnel.on('error', () => {})
  }

  /**
   * The session below: undici's WebSocket recognises HTTP/2 by it, and asks it for an address. It isn't a field,
   * because `util.inspect()` of a tunnel would show Node's session with the headers of all its requests.
   */
  get session(): { readonly socket: Transport | null } {
    return this.#session
  }

  /** The connection's local address, as from `socket.address()`. */
  address(): AddressInfo | Record<string, never> {
    return this.session.socket?.address() ?? {}
  }

  /** Whether it keeps the process alive. */
  get isReferenced(): boolean {
    return this.#isReferenced
  }

  /** As on a socket: from now on, the tunnel keeps the process alive. */
  ref(): this {
    return this.#setRef(true)
  }

  /** As on a socket: the tunnel doesn't keep the process alive by itself. */
  unref(): this {
    return this.#setRef(false)
  }

  #setRef(isReferenced: boolean): this {
    this.#isReferenced = isReferenced
    if (!this.#isClosed) this.#side.refTunnel()
    return this
  }

  /** A piece of data has arrived. Its bytes must not change. @returns whether the reader wants more */
  receive(piece: Buffer): boolean {
    if (this.destroyed) return false
    try {
      return this.#context.runInAsyncScope(this.#feed.receive, this.#feed, piece)
    } catch (thrown) {
      throwUncaught(thrown)
      return this.#feed.hasRoom
    }
  }

  /** The peer has sent END_STREAM. */
  onPeerEnd(): void {
    if (this.#hasPeerEnded) return
    this.#hasPeerEnded = true
    this.#run(this.#endReading)
  }

  #endReading(): void {
    // From now on the tunnel doesn't ask for more data: its `end` event tells that all data was read.
    this.once('end', () => this.#side.closeTunnel())
    this.#feed.end()
  }

  /**
   * The stream is gone.
   *
   * @param error null if both directions have ended
   * @param isQuiet whether the peer has sent no error for the stream, and the connection is open
   */
  close(error: Error | null, isQuiet = error === null): void {
    this.#run(this.#close, error, isQuiet)
  }

  #close(error: Error | null, isQuiet: boolean): void {
    this.#isClosed = true
    if (error === null) this.#passEnd(null)
    const isUnread = this.#hasPeerEnded && !this.readableEnded && !this.destroyed
    if (!isQuiet || !isUnread) {
      this.#conclude(error)
      return
    }
    // The received data must still be read. A write may fail meanwhile: the reader's end is a clean one all the same.
    this.once('end', () => originalNextTick(() => this.#conclude(error)))
    originalSetImmediate(() => this.#endUnlessUnread())
    if (error !== null || this.#failedWrite !== null) this.#requireReader(error)
  }

  /**
   * Without data there is nothing to read, and `end` needs no reader, as on a socket: otherwise `close` would never
   * be emitted. Not in the response's turn, when the caller has no listener yet.
   */
  #endUnlessUnread(): void {
    if (!this.destroyed && this.#feed.size === 0 && this.readableLength === 0) this.read(0)
  }

  /**
   * A failure waits only for a reader that exists at the end of this turn of the event loop: another may never come.
   */
  #requireReader(error: Error | null): void {
    originalSetImmediate(() => {
      if (this.readableFlowing === null) this.#conclude(error)
    })
  }

  #conclude(error: Error | null): void {
    const failure = error ?? (this.#failedWrite === null ? null : toClosedError(null))
    if (failure === null) {
      this.destroy()
      return
    }
    const failedWrite = this.#failedWrite
    this.#failedWrite = null
    this.fail(failure)
    failedWrite?.(failure)
    this.#passEnd(failure)
  }

  #passEnd(error: Error | null): void {
    const failedEnd = this.#failedEnd
    this.#failedEnd = null
    failedEnd?.(error)
  }

  /** The stream, or the session, has failed. The caller is told as soon as it can have a listener. */
  fail(error: Error): void {
    if (!this.destroyed) this.#failure = error
    this.#run(this.destroy, error)
  }

  /** Whether the peer has sent END_STREAM. */
  get hasPeerEnded(): boolean {
    return this.#hasPeerEnded
  }

  override _read(): void {
    this.#feed.onRead()
    this.#readOn()
  }

  override read(size?: number): ReturnType<Duplex['read']> {
    this.#feed.beforeRead(size)
    const chunk: unknown = super.read(size)
    this.#feed.afterRead(size)
    return chunk
  }

  #readOn(): void {
    if (this.#feed.hasRoom) this.#side.readTunnel(this.#feed.size)
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, callback: Callback): void {
    this.#side.writeTunnel(chunk, (error) => this.#run(this.#onWritten, error, callback))
  }

  override _final(callback: Callback): void {
    this.#side.endTunnel((error) => this.#run(this.#onEnded, error, callback))
  }

  /**
   * Runs code that calls the tunnel's listeners. If a listener throws, the engine must not see the exception: it also
   * serves other streams. Node reports it as uncaught, as it does when a socket's listener throws.
   */
  #run<TArguments extends unknown[]>(
    method: (...values: TArguments) => unknown,
    ...values: TArguments
  ): void {
    try {
      this.#context.runInAsyncScope(method, this, ...values)
    } catch (thrown) {
      throwUncaught(thrown)
    }
  }

  override _destroy(error: Error | null, callback: Callback): void {
    this.#side.closeTunnel()
    // Both directions have ended: the rest of our data is on its way, and the stream closes by itself.
    if (error !== null || !this.writableFinished || !this.#hasPeerEnded) this.#side.resetTunnel()
    const failedWrite = this.#failedWrite
    if (this.#isClosed && failedWrite !== null) {
      this.#failedWrite = null
      failedWrite(error ?? toClosedError(null))
    }
    // A tick would run before the continuation of an `await`: a caller that gets this tunnel by a promise couldn't have
    // a listener for `error` yet.
    if (this.#failure === null) callback(error)
    else originalSetImmediate(callback, error)
  }

  #onWritten(error: Error | null | undefined, callback: Callback): void {
    if (error === null || error === undefined) callback()
    else if (this.destroyed) callback(this.errored ?? toClosedError(error))
    else {
      this.#failedWrite = callback
      if (this.#isClosed) this.#requireReader(null)
    }
  }

  /** An end that wasn't sent does no harm if the stream has ended well: all written data was sent before. */
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
  return new StreamError('The peer closed the tunnel', { cause, processed: 'yes' })
}
