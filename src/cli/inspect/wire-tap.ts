/**
 * Looks at the bytes of a connection while they pass.
 *
 * @module
 */

import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { FrameType, PREFACE } from '../../protocol/frames.ts'
import type { Field } from '../request-options.ts'
import { FieldBlocks } from './field-blocks.ts'
import type { Frame } from './frame-scanner.ts'
import { FrameScanner } from './frame-scanner.ts'
import { StreamRules } from './stream-rules.ts'

export type Direction = 'sent' | 'received'

/** A frame that has passed. */
export interface ObservedFrame extends Frame {
  readonly direction: Direction
  /** By `performance.now()`. */
  readonly at: number
  /** Of the frame that completes a field block; null for any other, and when it can't be decoded. */
  readonly fields: readonly Field[] | null
}

/** Hears what passes. */
export interface TapListener {
  onFrame(frame: ObservedFrame): void
  /** The server began with something that is no HTTP/2. @param protocol what it looks like; null for unknown */
  onForeign(protocol: 'HTTP/1.1' | 'TLS' | null): void
}

/** So many bytes tell what a server speaks: the header of a frame is as long. */
const GREETING_SIZE = 9

/**
 * Stands in for the socket of a session. It never changes a byte, and holds back as the socket does. Engine `wire`
 * takes any Duplex; engine `node` takes this one by `permitNodeEngine()`.
 */
export class WireTap extends Duplex {
  readonly #socket: Socket
  readonly #listener: TapListener
  /** At a malformed frame the tap ends the connection itself: on Node 20, node:http2 goes on without a word. */
  readonly #endsAtFault: boolean
  readonly #rules = new StreamRules()
  readonly #sent: FrameScanner
  readonly #received: FrameScanner
  /** What is missing of the client's preface (RFC 9113 §3.4). Octets. */
  #preface = PREFACE.length
  /** The server's first bytes; null once they are judged. */
  #greeting: Buffer | null = Buffer.alloc(0)
  #isForeign = false

  constructor(socket: Socket, listener: TapListener, endsAtFault: boolean) {
    super({ allowHalfOpen: true })
    this.#socket = socket
    this.#listener = listener
    this.#endsAtFault = endsAtFault
    this.#sent = this.#toScanner('sent')
    this.#received = this.#toScanner('received')
    socket.on('data', (chunk: Buffer) => this.#onData(chunk))
    socket.on('end', () => {
      this.#judge()
      this.push(null)
    })
    socket.on('error', (error) => this.destroy(error))
    // Behind its end, what was not read yet can still be read.
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
    this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#onSent(chunk)
    this.#socket.write(chunk, callback)
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#socket.end(callback)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#socket.destroy()
    callback(error)
  }

  #onSent(chunk: Buffer): void {
    const skipped = Math.min(this.#preface, chunk.length)
    this.#preface -= skipped
    this.#sent.scan(chunk.subarray(skipped))
  }

  #onData(chunk: Buffer): void {
    this.#onReceived(chunk)
    if (!this.push(chunk)) this.#socket.pause()
  }

  #onReceived(chunk: Buffer): void {
    if (this.#isForeign) return
    if (this.#greeting === null) {
      this.#received.scan(chunk)
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
      this.#received.scan(greeting)
      return
    }
    this.#listener.onForeign(protocol)
    this.#endSoon('The server speaks no HTTP/2')
  }

  #toScanner(direction: Direction): FrameScanner {
    const isServer = direction === 'received'
    const blocks = new FieldBlocks(isServer)
    return new FrameScanner(isServer, (frame) => {
      const at = performance.now()
      const { fields, fault: blockFault } = blocks.take(frame)
      let fault = frame.fault ?? blockFault
      if (isServer) fault ??= this.#rules.onReceived(frame, fields)
      else this.#rules.onSent(frame)
      this.#listener.onFrame({ ...frame, direction, at, fields, fault })
      if (isServer && fault !== null && this.#endsAtFault) this.#endSoon(fault)
    })
  }

  /** After the engine has had the chunk: its own error is better, where it has one. */
  #endSoon(message: string): void {
    setImmediate(() => this.destroy(new Error(message)))
  }
}

/**
 * What the first bytes of a server are; undefined for a frame. A first frame of a higher type than PRIORITY_UPDATE is
 * taken for something else.
 */
function toForeign(greeting: Buffer): 'HTTP/1.1' | 'TLS' | null | undefined {
  if (greeting.toString('latin1', 0, 5) === 'HTTP/') return 'HTTP/1.1'
  // RFC 8446 §5.1: an alert or a handshake record.
  if ((greeting[0] === 0x15 || greeting[0] === 0x16) && greeting[1] === 0x03) return 'TLS'
  return (greeting[3] ?? 0) > FrameType.PRIORITY_UPDATE ? null : undefined
}
