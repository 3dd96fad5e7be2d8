/** The link between a client and the peer of a round: a Duplex that stands in for a socket, or a real one. */

import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { ConnectionPlan } from './plan-peer.ts'
import type { VirtualTime } from './virtual-time.ts'

/** The peer's end of a connection. */
export interface Link {
  /** The client's socket is still there, or may be. */
  readonly isOpen: boolean
  write(bytes: Buffer): void
  /** FIN. */
  end(): void
  /** A TCP reset. */
  reset(): void
}

/** The reader at the peer's end. */
export interface LinkListener {
  onBytes(bytes: Buffer): void
  onEnd(): void
  onClose(): void
}

type Callback = (error?: Error | null) => void

/** Bytes after which a Duplex takes no more. */
const LITTLE = 30_000

/** The Duplex that a connector yields instead of a socket. */
export class StandIn extends Duplex {
  readonly #listener: LinkListener
  readonly #time: VirtualTime
  readonly #takes: ConnectionPlan['takes']
  #taken = 0

  constructor(listener: LinkListener, time: VirtualTime, takes: ConnectionPlan['takes']) {
    super({ allowHalfOpen: false })
    this.#listener = listener
    this.#time = time
    this.#takes = takes
  }

  get isOpen(): boolean {
    return !this.destroyed
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: BufferEncoding, callback: Callback): void {
    this.#time.touch()
    this.#taken += bytes.length
    this.#listener.onBytes(Buffer.from(bytes))
    switch (this.#takes) {
      case 'at once':
        callback()
        break
      case 'in a tick':
        process.nextTick(callback)
        break
      case 'in a turn':
        setImmediate(callback)
        break
      case 'slowly':
        this.#time.after(3, callback)
        break
      default:
        if (this.#taken < LITTLE) callback()
    }
  }

  override _final(callback: Callback): void {
    this.#time.touch()
    this.#listener.onEnd()
    callback()
  }

  override _destroy(error: Error | null, callback: Callback): void {
    this.#time.touch()
    this.#listener.onClose()
    callback(error)
  }

  /** By the peer; `end()` is the client's. */
  deliver(bytes: Buffer): void {
    this.#time.touch()
    if (!this.destroyed && !this.readableEnded) this.push(bytes)
  }

  deliverEnd(): void {
    this.#time.touch()
    if (!this.destroyed && !this.readableEnded) this.push(null)
  }

  reset(): void {
    this.#time.touch()
    this.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' }))
  }
}

/** The peer's end of a {@link StandIn}. */
export class StandInLink implements Link {
  readonly #standIn: StandIn
  #hasEnded = false

  constructor(standIn: StandIn) {
    this.#standIn = standIn
  }

  get isOpen(): boolean {
    return this.#standIn.isOpen
  }

  write(bytes: Buffer): void {
    if (!this.#hasEnded) this.#standIn.deliver(bytes)
  }

  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#standIn.deliverEnd()
  }

  reset(): void {
    this.#standIn.reset()
  }
}

/** The server's socket of a real connection. */
export class SocketLink implements Link {
  readonly #socket: Socket
  readonly #time: VirtualTime
  /** Bytes that were written. */
  written = 0
  /** The client's end has been heard. */
  hasHeardEnd = false

  constructor(socket: Socket, listener: LinkListener, time: VirtualTime) {
    this.#socket = socket
    this.#time = time
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      time.touch()
      listener.onBytes(bytes)
    })
    socket.on('end', () => {
      time.touch()
      this.hasHeardEnd = true
      listener.onEnd()
    })
    socket.on('close', () => {
      time.touch()
      listener.onClose()
    })
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed
  }

  write(bytes: Buffer): void {
    if (!this.isOpen || this.#socket.writableEnded) return
    this.#time.touch()
    this.written += bytes.length
    this.#socket.write(bytes)
  }

  end(): void {
    this.#time.touch()
    this.#socket.end()
  }

  reset(): void {
    this.#time.touch()
    this.#socket.resetAndDestroy()
  }
}
