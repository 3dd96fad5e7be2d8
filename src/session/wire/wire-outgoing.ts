/**
 * The data that an engine 'wire' stream sends after its header section: a request's body, or a tunnel's data.
 *
 * @module
 */

import type { Call } from '../../call/call.ts'
import { StreamError, toError } from '../../errors/errors.ts'
import type { ClientConnection } from '../../protocol/connection.ts'
import { COPIED_SIZE } from '../../protocol/frame-writer.ts'
import type { Http2Stream } from '../../protocol/stream.ts'
import { canSend } from '../../protocol/stream-state.ts'
import type { SendableBody } from '../../request/body-source.ts'
import type { WireHeaders } from '../../request/wire-headers.ts'
import type { StreamOwner } from '../engine.ts'
import { toLostMemoryError } from '../stream/stream-failure.ts'
import type { TunnelSide } from '../stream/tunnel.ts'
import { Upload } from '../stream/upload.ts'
import type { SinkListener, UploadSink } from '../stream/upload-sink.ts'
import type { Transport } from '../transport.ts'

type Callback = (error?: Error | null) => void

const NOTHING = new Uint8Array(0)

/**
 * Opens a call's stream.
 *
 * @returns false if the header section can't be encoded: then this call has failed, and no other call on the session is
 *   affected
 */
export function openStream(
  http2: ClientConnection,
  stream: Http2Stream,
  call: Call,
  wire: WireHeaders,
  isEnd: boolean,
): boolean {
  try {
    http2.open(stream, wire, isEnd, call.request.sensitiveHeaders)
    return true
  } catch (thrown) {
    call.fail(toError(thrown))
    return false
  }
}

/**
 * Ends a call's body with trailers.
 *
 * @returns as `openStream()` does
 */
function sendTrailers(
  http2: ClientConnection,
  stream: Http2Stream,
  call: Call,
  trailers: WireHeaders,
): boolean {
  try {
    http2.sendTrailers(stream, trailers, call.request.sensitiveHeaders)
    return true
  } catch (thrown) {
    call.fail(toError(thrown))
    return false
  }
}

/** How many bytes an upload passes on at once: as many as the connection may frame at a time. */
const SLICE_SIZE = 1_048_576

/** An upload waits while this many of its bytes, or more, wait here. */
const MAX_WAITING = 65_536

/** Pieces that arrive while another one waits are sent as one, up to about this size, in bytes. */
const GATHERED_SIZE = 16_384

/**
 * The connection has one piece at a time, and takes as much of it as the windows and the socket allow. Pieces that
 * arrive meanwhile are gathered: many small ones share one frame.
 */
export class WireOutgoing implements UploadSink, TunnelSide {
  readonly sliceSize = SLICE_SIZE
  readonly #stream: Http2Stream
  readonly #http2: ClientConnection
  readonly #call: Call
  readonly #owner: StreamOwner
  /** Resets the stream. */
  readonly #reset: () => void
  /** Null for a tunnel. */
  #upload: Upload | null = null
  /** The listener that is told when more of an upload is wanted; null for none. */
  #listener: SinkListener | null = null
  /** The callback of the tunnel's last write, until that write was accepted. */
  #callback: Callback | null = null
  /** Slices after the piece that the connection has; null for none. */
  #gathered: Uint8Array[] | null = null
  /** Their size in bytes. */
  #size = 0
  /** Whether END_STREAM goes with the last slice. */
  #isEnding = false
  /** Whether the body's end, or its trailers, wait for the pieces before them. */
  #isEndDue = false

  constructor(
    stream: Http2Stream,
    http2: ClientConnection,
    call: Call,
    owner: StreamOwner,
    reset: () => void,
  ) {
    this.#stream = stream
    this.#http2 = http2
    this.#call = call
    this.#owner = owner
    this.#reset = reset
  }

  get socket(): Transport | null {
    return this.#owner.socket
  }

  get isGone(): boolean {
    return this.#stream.isCancelled || !canSend(this.#stream.state)
  }

  /** Sends a body at once, or when it may be sent. */
  upload(body: SendableBody): void {
    this.#upload = new Upload(body, this, this.#call)
    this.#upload.start()
  }

  /** The server has asked for the waiting body with a 100 (Continue). */
  proceed(): void {
    this.#upload?.proceed()
  }

  listen(listener: SinkListener): void {
    this.#listener = listener
  }

  onDue(): void {
    this.#http2.expectUpload()
  }

  onTurn(): void {
    this.#http2.onUploadTurn()
  }

  write(slice: Uint8Array, isLast: boolean): boolean {
    this.#isEnding = isLast && this.#call.request.trailers === null
    if (slice.byteLength === 0 && !this.#isEnding) return true
    if (!this.#stream.isSending && this.#gathered === null) {
      this.#http2.send(this.#stream, slice, this.#isEnding)
    } else {
      this.#gathered ??= []
      this.#gathered.push(slice)
      this.#size += slice.byteLength
    }
    return this.#size + slice.byteLength < MAX_WAITING
  }

  end(): void {
    if (this.#isEnding) return
    if (!this.#stream.isSending && this.#gathered === null) this.#end()
    else this.#isEndDue = true
  }

  unlisten(): void {
    this.#listener = null
  }

  reportStall(): void {
    this.#owner.onStall(this.#stream.id, this.#http2.sendWindow)
  }

  /** Some of the piece was framed, or all of it. */
  onSent(isTaken: boolean): void {
    const callback = this.#callback
    if (!isTaken) {
      if (callback === null) this.#call.sent(null)
    } else if (callback !== null) {
      this.#callback = null
      callback(null)
    } else if (this.#gathered !== null) {
      this.#sendGathered(this.#gathered)
      if (this.#listener === null) this.#call.sent(null)
      else this.#listener.onDrain()
    } else if (this.#isEnding) {
      this.#call.uploaded()
    } else if (this.#isEndDue) {
      this.#end()
    } else {
      this.#listener?.onDrain()
    }
  }

  /** Drops the rest, for example because the stream is gone: unsent bytes stay unsent. */
  stop(): void {
    this.#upload?.stop()
    const callback = this.#callback
    this.#callback = null
    callback?.(new StreamError('The stream was closed before everything was sent'))
  }

  readTunnel(unread: number): void {
    const taken = this.#stream.held - unread
    if (taken > 0) this.#http2.flow.release(this.#stream, taken)
  }

  writeTunnel(chunk: Uint8Array, callback: Callback): void {
    // Once it was called back, the writer may use the memory again, before the socket has written the frame.
    this.#sendTunnel(chunk.byteLength > COPIED_SIZE ? Buffer.from(chunk) : chunk, false, callback)
  }

  endTunnel(callback: Callback): void {
    this.#sendTunnel(NOTHING, true, callback)
  }

  closeTunnel(): void {
    this.readTunnel(0)
  }

  resetTunnel(): void {
    this.#reset()
  }

  refTunnel(): void {
    this.#owner.updateRef()
  }

  /** Sends the first slice, joined with the following ones that are small enough. */
  #sendGathered(slices: Uint8Array[]): void {
    let count = 1
    let size = slices[0]?.byteLength ?? 0
    for (let next = slices[1]; next !== undefined; next = slices[++count]) {
      if (size + next.byteLength > GATHERED_SIZE) break
      size += next.byteLength
    }
    const pieces = slices.splice(0, count)
    if (slices.length === 0) this.#gathered = null
    this.#size -= size
    if (this.#gathered === null && this.#size > 0) {
      this.#call.fail(toLostMemoryError())
      return
    }
    const piece = count === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces, size)
    this.#http2.send(this.#stream, piece, this.#isEnding && this.#gathered === null)
  }

  #sendTunnel(piece: Uint8Array, isLast: boolean, callback: Callback): void {
    this.#callback = callback
    if (this.isGone) this.stop()
    else this.#http2.send(this.#stream, piece, isLast)
  }

  #end(): void {
    const { trailers } = this.#call.request
    const fields = trailers === null ? [] : this.#call.toTrailers()
    // The caller's function for the trailers has ended the call.
    if (fields === null) return
    this.#isEnding = true
    if (fields.length === 0) this.#http2.send(this.#stream, NOTHING, true)
    else if (sendTrailers(this.#http2, this.#stream, this.#call, fields)) this.#call.uploaded()
  }
}
