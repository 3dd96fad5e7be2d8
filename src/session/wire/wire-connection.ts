/**
 * A socket, and Dodici's own HTTP/2 framing on it.
 *
 * @module
 */

import type { Call } from '../../call/call.ts'
import type { Deadlines } from '../../core/clock.ts'
import { originalNextTick, originalSetImmediate } from '../../core/original-timers.ts'
import { isUint8Array } from '../../core/realms.ts'
import { invalid } from '../../core/validate.ts'
import { SocketError } from '../../errors/errors.ts'
import type { ConnectionListener } from '../../protocol/connection.ts'
import { ClientConnection } from '../../protocol/connection.ts'
import type { ByteSink } from '../../protocol/frame-writer.ts'
import type { FrameObserver } from '../../protocol/inspect/frame-observer.ts'
import type { PingLedger } from '../../protocol/ping-ledger.ts'
import type { ConnectionFault } from '../../protocol/protocol-error.ts'
import type { ReceiveWindows } from '../../protocol/receive-windows.ts'
import type { ServerSettings } from '../../protocol/settings.ts'
import { isDisconnected } from '../connect/socket.ts'
import type { ConnectionOwner, EngineConnection, EngineContext, StreamOwner } from '../engine.ts'
import type { Transport } from '../transport.ts'
import { toBytesRead } from '../transport.ts'
import { toFrameLog } from './frame-log.ts'
import { WireStream } from './wire-stream.ts'

/**
 * How many bytes of data are framed at a time, at first, and while the socket asks to wait for `drain`: about as many
 * as it accepts before that. What waits there can no longer be reset.
 */
const MIN_BATCH = 65_536
/**
 * The same, in bytes, after the socket has accepted several whole batches at once: a write then costs less per byte.
 */
const MAX_BATCH = 1_048_576

/**
 * Gathers a tick's frames and writes them at its end, in one write: requests and the data after them. ACKs go with
 * other frames. While the socket accepts no more, frames wait here, and data stays with its streams.
 */
export class WireConnection implements EngineConnection, ByteSink, ConnectionListener {
  readonly engine = 'wire'
  readonly socket: Transport
  readonly http2: ClientConnection
  readonly #owner: ConnectionOwner
  readonly #deadlines: Deadlines
  /** Observes each frame; null unless `NODE_DEBUG=dodici-frame`. */
  readonly #frames: FrameObserver | null
  #isFlushDue = false
  /** Whether the socket accepts no more before its `drain`. */
  #isBlocked = false
  /** How many bytes of data are framed at a time. */
  #batch = MIN_BATCH
  /** Whether no frame follows those that are due now. */
  #isLast = false
  #isDestroyedByUs = false

  /** @throws if `socket` isn't a socket, or is closed */
  constructor(context: EngineContext, socket: Transport, windows: ReceiveWindows, owner: ConnectionOwner) {
    this.socket = socket
    this.#owner = owner
    this.#deadlines = context.deadlines
    this.#frames = toFrameLog(`session ${owner.carrier.id} ${context.origin.href}`)
    const { settings } = context.options.session
    this.http2 = new ClientConnection({ settings, windows }, this)
    // A caller's connector may return any value.
    if (typeof socket.cork !== 'function')
      throw invalid('connect', socket, 'a function that provides a socket')
    if (socket.destroyed) throw new SocketError('The socket was closed before a session could begin')
    socket.on('error', (error) => owner.onError(error))
    socket.on('close', () => owner.onClose())
    socket.on('end', () => this.#onEnd())
    socket.on('drain', () => this.#onDrain())
    socket.on('data', (chunk: unknown) => this.#onData(chunk))
    this.http2.start()
  }

  get isDisconnected(): boolean {
    return isDisconnected(this.socket)
  }

  get bytesRead(): number | null {
    return toBytesRead(this.socket)
  }

  get canTake(): boolean {
    return this.http2.canTake && !this.isDestroyed
  }

  /** Frames are sent in the order in which they are created. */
  get areFramesSent(): boolean {
    return true
  }

  get isShut(): boolean {
    return this.http2.isShut
  }

  get pings(): PingLedger {
    return this.http2.pings
  }

  get lastAcceptedId(): number {
    return this.http2.lastAcceptedId
  }

  get isDestroyedByUs(): boolean {
    return this.#isDestroyedByUs
  }

  get isDestroyed(): boolean {
    return this.#isDestroyedByUs || this.socket.destroyed
  }

  toStream(call: Call, owner: StreamOwner): WireStream {
    return new WireStream(owner, this.http2, call)
  }

  setRef(isNeeded: boolean): void {
    // A connector's substitute for a socket may lack these methods.
    if (isNeeded) this.socket.ref?.()
    else this.socket.unref?.()
  }

  ping(onAck: () => void): boolean {
    if (this.isDestroyed) return false
    this.http2.ping(onAck)
    return true
  }

  /** Does nothing: every frame is seen as it arrives. */
  look(): void {}

  sendWindows(): void {
    if (!this.isDestroyed) this.http2.sendWindows()
  }

  close(): void {
    if (!this.isDestroyed) this.http2.goaway()
  }

  /**
   * Ends at the end of this tick, with the other frames that are due: more of the peer's frames may still be handled.
   */
  end(): void {
    this.#isLast = true
    this.onOutput(false)
  }

  /** Tries to send the gathered frames first: RST_STREAM, or the GOAWAY with the reason. */
  destroy(): void {
    if (this.#isDestroyedByUs) return
    this.http2.goaway()
    this.http2.stop()
    this.flush()
    this.#isDestroyedByUs = true
    originalSetImmediate(destroyLater, this.socket)
  }

  /** Writes the frames that are due, and as much data as the socket accepts. */
  flush(): void {
    this.#isFlushDue = false
    const { http2, socket } = this
    while (!this.#isBlocked && !this.isDestroyed && !socket.writableEnded) {
      http2.frameUploads(this.#batch)
      const { pieces } = http2
      if (pieces > 1) socket.cork()
      http2.flush(this)
      if (pieces > 1) socket.uncork()
      if (!http2.hasUploads) {
        if (this.#isLast) socket.end()
        return
      }
      // A connector's substitute for a socket may lack this property: then the value isn't known.
      this.#batch = socket.writableLength === 0 ? Math.min(2 * this.#batch, MAX_BATCH) : MIN_BATCH
    }
  }

  write(bytes: Uint8Array): void {
    if (this.#frames !== null) this.#frames.sent(toBuffer(bytes))
    if (!this.socket.write(bytes)) this.#isBlocked = true
  }

  onOutput(isPatient: boolean): void {
    if (isPatient) {
      // Later, so that pieces of a body that arrive in successive ticks share one frame.
      originalSetImmediate(flushLater, this)
    } else if (!this.#isFlushDue) {
      this.#isFlushDue = true
      originalNextTick(flushLater, this)
    }
  }

  onSettings(settings: ServerSettings): void {
    this.#owner.onSettings(settings)
  }

  onGoaway(code: number, lastStreamId: number, debugData: Buffer | null): void {
    this.#owner.onGoaway(code, lastStreamId, debugData)
  }

  onCredit(): void {
    this.#owner.onCredit()
  }

  onOrigins(origins: readonly string[]): void {
    this.#owner.onOrigins(origins)
  }

  onFault(cause: ConnectionFault): void {
    this.#owner.onError(
      new SocketError(cause.message, { cause, http2ErrorCode: cause.code, processed: 'maybe' }),
    )
  }

  now(): number {
    return this.#deadlines.now()
  }

  #onData(chunk: unknown): void {
    if (Buffer.isBuffer(chunk)) this.#receive(chunk)
    // A connector's substitute for a socket may emit a Uint8Array.
    else if (isUint8Array(chunk)) this.#receive(toBuffer(chunk))
    else this.#owner.onError(new SocketError('The socket emits strings instead of bytes'))
  }

  #receive(chunk: Buffer): void {
    if (this.#frames !== null) this.#frames.received(chunk)
    this.http2.receive(chunk)
  }

  #onDrain(): void {
    this.#isBlocked = false
    this.flush()
  }

  /**
   * The peer has ended its side: no more responses can arrive. A connector's substitute for a socket may not close by
   * itself.
   */
  #onEnd(): void {
    // No GOAWAY is sent: the peer may be gone, and the write would fail.
    this.http2.stop()
    this.destroy()
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function flushLater(connection: WireConnection): void {
  connection.flush()
}

function destroyLater(socket: Transport): void {
  socket.destroy()
}
