/** An engine without HTTP/2: it records what its session calls. */

import type { Socket } from 'node:net'
import { PingLedger } from '../../../src/protocol/ping-ledger.ts'
import type { ReceiveWindows } from '../../../src/protocol/receive-windows.ts'
import type {
  ConnectionOwner,
  Engine,
  EngineConnection,
  EngineContext,
  EngineStream,
} from '../../../src/session/engine.ts'

export class FakeStream implements EngineStream {
  listIndex = -1
  window = 0
  isHeld = false
  isDone = false
  isEndedEarly = false
  hasResponded = false
  hasUpload = false
  isStuck = false
  /** What else happens when it is reset. */
  onReset = (): void => {}
  readonly streamId: number
  /** How often it was asked whether it is idle. */
  looks = 0
  #isIdle = false
  readonly #events: string[]

  constructor(streamId: number, events: string[]) {
    this.streamId = streamId
    this.#events = events
  }

  get isIdle(): boolean {
    this.looks++
    return this.#isIdle
  }

  set isIdle(isIdle: boolean) {
    this.#isIdle = isIdle
  }

  open(): void {
    this.#events.push(`open ${this.streamId}`)
  }

  onConnected(): void {
    this.#events.push(`connected ${this.streamId}`)
  }

  fail(error: Error): void {
    this.#events.push(`fail ${this.streamId}: ${error.name}`)
  }

  giveUp(error: Error): void {
    this.#events.push(`give up ${this.streamId}: ${error.name}`)
  }

  onLost(): void {
    this.#events.push(`lose ${this.streamId}`)
  }

  reset(): void {
    this.#events.push(`reset ${this.streamId}`)
    this.onReset()
  }
}

export class FakeConnection implements EngineConnection {
  readonly engine = 'wire'
  readonly socket: Socket
  readonly owner: ConnectionOwner
  readonly pings = new PingLedger()
  readonly streams: FakeStream[] = []
  readonly events: string[]
  bytesRead: number | null = 0
  canTake = true
  isDestroyed = false
  isDestroyedByUs = false
  isShut = false
  lastAcceptedId = 0

  constructor(socket: Socket, owner: ConnectionOwner, events: string[]) {
    this.socket = socket
    this.owner = owner
    this.events = events
  }

  readonly isDisconnected = false
  areFramesSent = true

  toStream(): FakeStream {
    const stream = new FakeStream(this.streams.length * 2 + 1, this.events)
    this.streams.push(stream)
    return stream
  }

  setRef(isNeeded: boolean): void {
    this.events.push(isNeeded ? 'ref' : 'unref')
  }

  ping(): boolean {
    this.events.push('ping')
    return true
  }

  sendWindows(): void {
    this.events.push('sendWindows')
  }

  look(): void {}

  close(): void {
    this.events.push('close')
  }

  end(): void {
    this.events.push('finish')
  }

  destroy(): void {
    if (this.isDestroyedByUs) return
    this.isDestroyedByUs = true
    this.events.push('cut')
  }
}

export class FakeEngine implements Engine {
  /** All its connections, in their order. */
  readonly events: string[] = []
  readonly connections: FakeConnection[] = []
  /** What `connect()` throws; null for nothing. */
  error: Error | null = null

  connect(
    _context: EngineContext,
    socket: Socket,
    windows: ReceiveWindows,
    owner: ConnectionOwner,
  ): FakeConnection {
    this.events.push(`connect with windows of ${windows.streamWindow}`)
    if (this.error !== null) throw this.error
    const connection = new FakeConnection(socket, owner, this.events)
    this.connections.push(connection)
    return connection
  }
}
