/**
 * Observes a connection's bytes as they pass.
 *
 * @module
 */

import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { FrameType } from '../../protocol/frames.ts'
import type { ObservedFrame } from '../../protocol/inspect/frame-observer.ts'
import { FrameObserver } from '../../protocol/inspect/frame-observer.ts'
import { HpackDecoder } from '../../testing/hpack.ts'
import { StreamRules } from './stream-rules.ts'

/** Is told what passes. */
export interface TapListener {
  onFrame(frame: ObservedFrame): void
  /**
   * The server began with something other than HTTP/2.
   *
   * @param protocol what it looks like; null for unknown
   */
  onForeign(protocol: 'HTTP/1.1' | 'TLS' | null): void
}

/** So many bytes show what a server speaks: a frame header has the same size. */
const GREETING_SIZE = 9

const ANY_TABLE_SIZE = 2 ** 32 - 1

/**
 * Takes the place of a session's socket. It never changes a byte, and applies back-pressure as the socket does. Engine
 * `wire` accepts any Duplex; engine `node` accepts this one because of `permitNodeEngine()`.
 */
export class WireTap extends Duplex {
  readonly #socket: Socket
  readonly #listener: TapListener
  /** At a malformed frame, the tap itself ends the connection: on Node 20, node:http2 continues silently. */
  readonly #endsAtFault: boolean
  readonly #room: () => Promise<void> | null
  /** Whether the engine accepts more. */
  #isWanted = false
  /** Whether what was shown must be read first. */
  #isHeld = false
  readonly #rules = new StreamRules()
  readonly #frames: FrameObserver
  /** The server's first bytes; null once they have been judged. */
  #greeting: Buffer | null = Buffer.alloc(0)
  #isForeign = false

  /** @param room settles when more may be shown; null: now */
  constructor(
    socket: Socket,
    listener: TapListener,
    endsAtFault: boolean,
    room: () => Promise<void> | null = () => null,
  ) {
    super({ allowHalfOpen: true })
    this.#socket = socket
    this.#listener = listener
    this.#endsAtFault = endsAtFault
    this.#room = room
    // The decoders aren't the client's, so what they show doesn't share the client's mistakes.
    const sent = new HpackDecoder()
    // The client has read what the server allows.
    sent.allow(ANY_TABLE_SIZE)
    this.#frames = new FrameObserver({ sent, received: new HpackDecoder() }, true, (frame) =>
      this.#onFrame(frame),
    )
    socket.on('data', (chunk: Buffer) => this.#onData(chunk))
    socket.on('end', () => {
      this.#judge()
      this.push(null)
    })
    socket.on('error', (error) => this.destroy(error))
    // After its end, unread data can still be read.
    socket.on('close', () => {
      if (!socket.readableEnded) this.destroy()
    })
    socket.pause()
  }

  ref(): this {
    this.#socket.ref?.()
    return this
  }

  unref(): this {
    this.#socket.unref?.()
    return this
  }

  override _read(): void {
    this.#isWanted = true
    if (!this.#isHeld) this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    const room = this.#room()
    if (room === null) this.#send(chunk, callback)
    else void room.then(() => this.#send(chunk, callback))
  }

  #send(chunk: Buffer, callback: (error?: Error | null) => void): void {
    this.#frames.sent(chunk)
    this.#socket.write(chunk, callback)
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#socket.end(callback)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#socket.destroy()
    callback(error)
  }

  #onData(chunk: Buffer): void {
    this.#onReceived(chunk)
    this.#isWanted = this.push(chunk)
    const room = this.#room()
    if (room !== null) this.#hold(room)
    if (!this.#isWanted || this.#isHeld) this.#socket.pause()
  }

  #hold(room: Promise<void>): void {
    this.#isHeld = true
    void room.then(() => {
      this.#isHeld = false
      if (this.#isWanted) this.#socket.resume()
    })
  }

  #onReceived(chunk: Buffer): void {
    if (this.#isForeign) return
    if (this.#greeting === null) {
      this.#frames.received(chunk)
      return
    }
    this.#greeting = Buffer.concat([this.#greeting, chunk])
    if (this.#greeting.length >= GREETING_SIZE || toForeign(this.#greeting)) this.#judge()
  }

  #judge(): void {
    const greeting = this.#greeting
    this.#greeting = null
    if (greeting === null || greeting.length === 0) return
    const protocol = toForeign(greeting)
    this.#isForeign = protocol !== undefined
    if (protocol === undefined) {
      this.#frames.received(greeting)
      return
    }
    this.#listener.onForeign(protocol)
    this.#endSoon("The server doesn't speak HTTP/2")
  }

  #onFrame(frame: ObservedFrame): void {
    if (frame.direction === 'sent') {
      this.#rules.onSent(frame)
      this.#listener.onFrame(frame)
      return
    }
    const fault = frame.fault ?? this.#rules.onReceived(frame, frame.fields)
    this.#listener.onFrame({ ...frame, fault })
    if (fault !== null && this.#endsAtFault) this.#endSoon(fault)
  }

  /** After the engine has got the chunk: its own error is better, if it has one. */
  #endSoon(message: string): void {
    setImmediate(() => this.destroy(new Error(message)))
  }
}

/**
 * What a server's first bytes are; undefined for a frame. A first frame with a type above PRIORITY_UPDATE counts as
 * something else.
 */
function toForeign(greeting: Buffer): 'HTTP/1.1' | 'TLS' | null | undefined {
  if (greeting.toString('latin1', 0, 5) === 'HTTP/') return 'HTTP/1.1'
  // RFC 8446 §5.1: an alert or a handshake record.
  if ((greeting[0] === 0x15 || greeting[0] === 0x16) && greeting[1] === 0x03) return 'TLS'
  return (greeting[3] ?? 0) > FrameType.PRIORITY_UPDATE ? null : undefined
}
