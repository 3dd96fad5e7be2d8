/**
 * Engine 'node': a session over node:http2.
 *
 * @module
 */

import type { ClientHttp2Session, Settings } from 'node:http2'
import type { Socket } from 'node:net'
import type { OpenReason, SessionStats } from '../../types/client.ts'
import type { Alarm } from '../core/clock.ts'
import { ClientDestroyedError, DodiciError, toError } from '../errors.ts'
import type { Call } from '../handler/call.ts'
import type { ConnectionResult } from './connector.ts'
import { ConnectionAttempt } from './connector.ts'
import type { Kept } from './keepalive.ts'
import { Keepalive } from './keepalive.ts'
import type { Goaway } from './loss.ts'
import { isOfPings, toLossError } from './loss.ts'
import { UploadBuffer } from './node-body-writer.ts'
import { connectHttp2 } from './node-connect.ts'
import type { NodeStreamOwner } from './node-stream.ts'
import { NodeStream } from './node-stream.ts'
import { PeerSettings } from './peer-settings.ts'
import type { Resettable } from './reset-budget.ts'
import { ResetBudget } from './reset-budget.ts'
import type { Session, SessionContext, SessionState } from './session.ts'
import { canMove } from './session.ts'
import { SessionReport } from './session-report.ts'
import { StreamWindow } from './stream-window.ts'

/** How long the peer may take to close its side once we have closed ours, in milliseconds. */
const LINGER = 1_000

/** One connection of node:http2, from the first SYN to the last event. */
export class NodeSession implements Session, NodeStreamOwner, Kept {
  heapIndex = -1
  readonly id: number
  answered = 0
  readonly settings: PeerSettings
  readonly uploadBuffer: UploadBuffer
  readonly #context: SessionContext
  readonly #report: SessionReport
  readonly #connection: ConnectionAttempt
  readonly #streams = new Set<NodeStream>()
  readonly #resets: ResetBudget
  #state: SessionState = { name: 'connecting' }
  /** These three are null until there is a socket. */
  #http2: ClientHttp2Session | null = null
  #socket: Socket | null = null
  #keepalive: Keepalive | null = null
  #window: StreamWindow
  /** Changes of the window that the peer hasn't acknowledged. */
  #retunings = 0
  #rtt: number | null = null
  #goaway: Goaway | null = null
  /** Whether the session keeps the process alive: while somebody waits for its streams, or for one. */
  #isReferenced = true
  /** Armed while a closed session has no streams left, and its socket is still there. */
  #linger: Alarm | null = null

  constructor(context: SessionContext, id: number, openedFor: OpenReason) {
    this.id = id
    this.#context = context
    this.#report = new SessionReport(context, id, openedFor)
    this.uploadBuffer = new UploadBuffer(this.#report)
    this.#resets = new ResetBudget(context.deadlines)
    this.#window = StreamWindow.expecting(1, context.options.session)
    const ownLimit = Math.min(context.options.session.maxConcurrentStreams, this.#window.maxStreams)
    this.settings = new PeerSettings(ownLimit, context.memory)
    this.#report.open()
    this.#connection = new ConnectionAttempt(context, (result) => this.#onConnection(result))
  }

  get state(): SessionState {
    return this.#state
  }

  get streams(): number {
    return this.#streams.size
  }

  get streamWindow(): number {
    return this.#window.size
  }

  get liveStreams(): number {
    return this.#streams.size - this.#resets.waiting
  }

  get bytesRead(): number | null {
    const bytes: unknown = this.#socket?.bytesRead
    return typeof bytes === 'number' ? bytes : null
  }

  get isStale(): boolean {
    return this.#state.name === 'ready' && this.#keepalive?.isTrusted === false
  }

  get isVerifying(): boolean {
    return this.#state.name === 'ready' && this.#keepalive?.isVerifying === true
  }

  hasRoom(): boolean {
    if (this.#state.name !== 'ready' || this.#streams.size >= this.settings.limit || this.isStale)
      return false
    // node knows of a GOAWAY, and of a death, some ticks before it tells.
    return this.#http2 !== null && !this.#http2.closed && !this.#http2.destroyed
  }

  isFull(): boolean {
    const { peerLimit } = this.settings
    if (this.#state.name !== 'ready' || peerLimit === null || this.isStale) return false
    return peerLimit > 0 && this.#streams.size >= this.settings.limit
  }

  verify(): void {
    this.#keepalive?.verify()
  }

  doubt(): void {
    this.#keepalive?.doubt()
  }

  open(call: Call): void {
    if (this.#http2 === null) throw new DodiciError(`A ${this.#state.name} session takes no calls`)
    const stream = new NodeStream(this, call)
    this.#streams.add(stream)
    if (this.#streams.size === 1) this.#keepalive?.onBusy()
    const { size } = this.#streams
    if (size > this.#window.capacity && this.#window.shrink(size)) this.#announceWindow()
    if (!this.#isReferenced) this.updateRef()
    stream.open(this.#http2)
  }

  updateRef(): void {
    const isNeeded = this.liveStreams > 0 || this.#context.owner.waiting() > 0
    if (this.#state.name === 'connecting') this.#connection.setRef(isNeeded)
    if (this.#state.name !== 'ready' || isNeeded === this.#isReferenced) return
    this.#isReferenced = isNeeded
    if (isNeeded) this.#http2?.ref()
    else this.#http2?.unref()
  }

  toStats(): SessionStats {
    const { name } = this.#state
    return {
      state: name === 'closed' ? 'draining' : this.isVerifying ? 'verifying' : name,
      openedFor: this.#report.session.openedFor,
      streams: this.#streams.size,
      peerLimit: this.settings.peerLimit,
      limit: this.settings.limit,
      streamWindow: this.#window.size,
      rtt: this.#rtt,
      bytesRead: this.bytesRead ?? 0,
      bytesWritten: this.#socket?.bytesWritten ?? 0,
    }
  }

  close(): void {
    if (this.#state.name === 'connecting') {
      this.destroy(null)
    } else if (this.#http2 !== null && this.#state.name !== 'closed') {
      // Whoever waits for the close has a right to see it.
      this.#http2.ref()
      this.#http2.close()
      this.#drain()
      this.#lingerWhenIdle()
    }
  }

  destroy(cause: Error | null): void {
    if (this.#state.name === 'closed') return
    this.#connection.cancel()
    for (const stream of [...this.#streams]) stream.fail(cause ?? new ClientDestroyedError())
    // Its `close` event tells the owner; without a socket there will be none.
    if (this.#http2 === null) this.#close(cause)
    else this.#cut()
  }

  onStreamClosed(stream: NodeStream): void {
    if (!this.#streams.delete(stream)) return
    if (this.#resets.waiting > 0) this.#resets.delete(stream)
    if (this.#streams.size === 0) this.#keepalive?.onIdle()
    if (this.#state.name === 'ready') this.#context.owner.onSessionRoom(this)
    else this.#lingerWhenIdle()
    if (this.liveStreams === 0) this.updateRef()
  }

  onAnswered(): void {
    this.answered++
  }

  onLargeAnswer(): void {
    if (this.#retunings === 0 && this.#window.grow(this.#streams.size)) this.#announceWindow()
  }

  reset(stream: Resettable): void {
    if (this.#resets.reset(stream)) this.#keepalive?.onReset()
    else if (this.liveStreams === 0) this.updateRef()
  }

  toLossError(streamId: number | null, error: Error | null): DodiciError {
    return toLossError(
      streamId,
      this.#goaway,
      this.#state.name === 'closed' ? (this.#state.cause ?? error) : error,
    )
  }

  isLost(): boolean {
    return this.#state.name === 'closed' || this.#http2?.destroyed === true
  }

  isAboveGoaway(streamId: number): boolean {
    return this.#goaway !== null && streamId > this.#goaway.lastStreamId
  }

  ping(onAck: () => void): boolean {
    if (this.#http2 === null || this.#http2.destroyed) return false
    return this.#http2.ping((error) => {
      // An error means that the session has ended first: its own event tells.
      if (error === null) onAck()
    })
  }

  onPong(rtt: number): void {
    this.#rtt = rtt
    this.#report.ping(rtt)
  }

  onVerified(): void {
    if (this.#state.name === 'ready') this.#context.owner.onSessionRoom(this)
  }

  onIdleTimeout(): void {
    if (this.#state.name === 'ready') this.#context.owner.onSessionIdle(this)
  }

  #onConnection(result: ConnectionResult): void {
    if ('error' in result) this.#close(result.error)
    else this.#start(result.socket)
  }

  #start(socket: Socket): void {
    this.#socket = socket
    // After a fatal TLS alert node:http2 may emit nothing at all: only the socket tells. A tick later, since node emits
    // the session's `error`, where it does, from a later listener of the same event.
    socket.on('close', () => process.nextTick(() => this.#onClose()))
    socket.on('error', (error) => this.onError(error))
    const { origin, options, owner, deadlines, memory } = this.#context
    this.#window = StreamWindow.expecting(owner.waiting(), options.session)
    let http2: ClientHttp2Session
    try {
      http2 = connectHttp2(origin, options.session, socket, this.#window.size)
    } catch (thrown) {
      // Not a socket after all: a connector may yield anything.
      socket.destroy()
      this.#close(toError(thrown))
      return
    }
    http2.on('error', (error) => this.onError(error))
    http2.on('close', () => this.#onClose())
    http2.on('goaway', (code, lastStreamId, debugData) => this.#onGoaway(code, lastStreamId, debugData))
    http2.on('remoteSettings', (settings) => this.#onSettings(settings))
    this.#http2 = http2
    if (!this.#move({ name: 'ready' })) return
    this.#keepalive = new Keepalive(this, options.session, deadlines, memory)
    this.#report.ready(socket)
    owner.onSessionReady(this)
    this.updateRef()
  }

  #announceWindow(): void {
    if (this.#http2 === null || this.#http2.destroyed) return
    this.#retunings++
    this.#http2.settings({ initialWindowSize: this.#window.size }, () => {
      this.#retunings--
    })
  }

  #onSettings(settings: Settings): void {
    this.settings.update(settings)
    // A peer that is about to leave may greet with a GOAWAY too: calls that wait for its first SETTINGS shall see both.
    if (!this.settings.areSettled) setImmediate(() => this.#onSettled())
    if (this.#state.name === 'ready') this.#context.owner.onSessionRoom(this)
  }

  #onSettled(): void {
    this.settings.settle()
    if (this.#state.name === 'ready') this.#context.owner.onSessionRoom(this)
  }

  #onGoaway(code: number, lastStreamId: number, debugData: Buffer | undefined): void {
    this.#goaway = { code, lastStreamId, debugData: debugData === undefined ? null : Buffer.from(debugData) }
    if (isOfPings(this.#goaway)) this.#context.memory.onTooManyPings()
    this.#drain()
    this.#lingerWhenIdle()
  }

  #drain(): void {
    if (!this.#move({ name: 'draining' })) return
    this.#report.draining(this.#goaway)
    this.#context.owner.onSessionDraining(this)
  }

  /** node:http2 has ended its side then, and would wait for the peer's end for ever. */
  #lingerWhenIdle(): void {
    if (this.#state.name !== 'draining' || this.#streams.size > 0) return
    this.#linger ??= this.#context.clock.after(LINGER, () => this.#cut())
  }

  /** A session of node's that was closed gracefully counts as destroyed while its socket still waits for the peer. */
  #cut(): void {
    const isClosing = this.#http2?.closed === true
    if (this.#http2?.destroyed === false) this.#http2.destroy()
    if (isClosing) this.#socket?.destroy()
  }

  /** The first error is the cause; the `close` that follows it has none to tell. */
  onError(error: Error): void {
    this.#close(error)
    this.#cut()
  }

  #onClose(): void {
    this.#close(null)
    this.#http2?.destroy()
  }

  /** The one exit. */
  #close(cause: Error | null): void {
    const wasReady = this.#state.name !== 'connecting'
    if (!this.#move({ name: 'closed', cause })) return
    this.#linger?.cancel()
    this.#keepalive?.stop()
    this.#resets.stop()
    for (const stream of [...this.#streams]) stream.lose()
    this.#report.closed(cause, wasReady)
    this.#context.owner.onSessionClosed(this, cause, wasReady)
  }

  #move(state: SessionState): boolean {
    if (!canMove(this.#state, state)) return false
    this.#state = state
    return true
  }
}
