/**
 * Engine 'node': a session over node:http2.
 *
 * @module
 */

import type { ClientHttp2Session, Settings } from 'node:http2'
import { connect, constants } from 'node:http2'
import type { Socket } from 'node:net'
import type { Alarm, Clock } from '../core/clock.ts'
import type { Origin, ResolvedClientOptions } from '../core/options.ts'
import { MAX_HEADER_SIZE, MAX_HEADERS_COUNT } from '../core/options.ts'
import { ClientDestroyedError, DodiciError, SocketError, toError, toErrorCodeName } from '../errors.ts'
import type { Call } from '../handler/call.ts'
import type { ConnectionResult } from './connector.ts'
import { ConnectionAttempt } from './connector.ts'
import { UploadBuffer } from './node-body-writer.ts'
import type { NodeStreamOwner } from './node-stream.ts'
import { NodeStream } from './node-stream.ts'
import type { Session, SessionOwner, SessionState } from './session.ts'
import { canMove } from './session.ts'

/** Streams that may be open before the peer has told its limit: RFC 9113 §6.5.2 recommends no limit below this. */
const LIMIT_BEFORE_SETTINGS = 100

/**
 * Bytes. With node's default of 64 KiB our own side refuses larger requests, in the words of a peer's REFUSED_STREAM. Far
 * above what `core/headers.ts` lets through, as nghttp2 compares a generous estimate with it.
 */
const MAX_HEADER_BLOCK = 1_048_576

/** Megabytes. Node's default of 10 makes an unrelated request fail while a large upload waits. */
const MAX_SESSION_MEMORY = 1_024

/** The largest value of a setting: nghttp2 must not queue above a limit of its own, since we hold calls back ourselves. */
const UNLIMITED = 2 ** 32 - 1

/** How long the peer may take to close its side once we have closed ours, in milliseconds. */
const LINGER = 1_000

/** What a peer's GOAWAY said. */
interface Goaway {
  readonly code: number
  readonly lastStreamId: number
  readonly debugData: Buffer | null
}

/** One connection of node:http2, from the first SYN to the last event. */
export class NodeSession implements Session, NodeStreamOwner {
  readonly #origin: Origin
  readonly #options: ResolvedClientOptions
  readonly #owner: SessionOwner
  readonly #connection: ConnectionAttempt
  readonly #streams = new Set<NodeStream>()
  readonly uploadBuffer = new UploadBuffer()
  #state: SessionState = { name: 'connecting' }
  /** Null until there is a socket. */
  #http2: ClientHttp2Session | null = null
  /** Null until it is connected. */
  #socket: Socket | null = null
  #peerLimit: number | null = null
  #offersExtendedConnect = false
  /** How many streams may be open now: the peer's limit or, until it is known, ours; never more than the option says. */
  #limit: number
  #goaway: Goaway | null = null
  /** Whether the session keeps the process alive: while it has streams, or calls that wait for one. */
  #isReferenced = true
  readonly #clock: Clock
  /** Armed while a closed session has no streams left, and its socket is still there. */
  #linger: Alarm | null = null

  constructor(origin: Origin, options: ResolvedClientOptions, clock: Clock, owner: SessionOwner) {
    this.#origin = origin
    this.#options = options
    this.#clock = clock
    this.#owner = owner
    this.#limit = Math.min(LIMIT_BEFORE_SETTINGS, options.maxConcurrentStreams)
    this.#connection = new ConnectionAttempt(origin, options, clock, (result) => this.#onConnection(result))
  }

  get state(): SessionState {
    return this.#state
  }

  get streams(): number {
    return this.#streams.size
  }

  get peerLimit(): number | null {
    return this.#peerLimit
  }

  get offersExtendedConnect(): boolean {
    return this.#offersExtendedConnect
  }

  hasRoom(): boolean {
    if (this.#state.name !== 'ready' || this.#streams.size >= this.#limit) return false
    // node knows of a GOAWAY, and of a death, some ticks before it tells.
    return this.#http2 !== null && !this.#http2.closed && !this.#http2.destroyed
  }

  open(call: Call): void {
    if (this.#http2 === null) throw new DodiciError(`A ${this.#state.name} session takes no calls`)
    const stream = new NodeStream(this, call)
    this.#streams.add(stream)
    if (!this.#isReferenced) this.updateRef()
    stream.open(this.#http2)
  }

  updateRef(): void {
    if (this.#state.name !== 'ready') return
    const isNeeded = this.#streams.size > 0 || this.#owner.hasWaiting()
    if (isNeeded === this.#isReferenced) return
    this.#isReferenced = isNeeded
    if (isNeeded) this.#http2?.ref()
    else this.#http2?.unref()
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
    if (this.#state.name === 'ready') this.#owner.onSessionRoom(this)
    else this.#lingerWhenIdle()
    if (this.#streams.size === 0) this.updateRef()
  }

  toLossError(streamId: number | null, error: Error | null): DodiciError {
    const goaway = this.#goaway
    const isUnprocessed = streamId === null || (goaway !== null && streamId > goaway.lastStreamId)
    const processed = isUnprocessed ? 'no' : 'maybe'
    const cause = (this.#state.name === 'closed' ? this.#state.cause : null) ?? error
    if (goaway !== null && goaway.code !== constants.NGHTTP2_NO_ERROR) {
      const message = `The peer sent GOAWAY with ${toErrorCodeName(goaway.code)}`
      const { code, debugData } = goaway
      return new SocketError(message, { cause, processed, http2ErrorCode: code, goawayDebugData: debugData })
    }
    const message = cause === null ? 'The connection was closed' : `The connection was lost: ${cause.message}`
    return new SocketError(message, { cause, processed, goawayDebugData: goaway?.debugData ?? null })
  }

  isLost(): boolean {
    return this.#state.name === 'closed' || this.#http2?.destroyed === true
  }

  retire(): void {
    this.close()
  }

  isAboveGoaway(streamId: number): boolean {
    return this.#goaway !== null && streamId > this.#goaway.lastStreamId
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
    socket.on('error', (error) => this.#onError(error))
    let http2: ClientHttp2Session
    try {
      http2 = this.#connect(socket)
    } catch (thrown) {
      // Not a socket after all: a connector may yield anything.
      socket.destroy()
      this.#close(toError(thrown))
      return
    }
    http2.on('error', (error) => this.#onError(error))
    http2.on('close', () => this.#onClose())
    http2.on('goaway', (code, lastStreamId, debugData) => this.#onGoaway(code, lastStreamId, debugData))
    http2.on('remoteSettings', (settings) => this.#onSettings(settings))
    this.#http2 = http2
    if (!this.#move({ name: 'ready' })) return
    this.#owner.onSessionReady(this)
    this.updateRef()
  }

  #connect(socket: Socket): ClientHttp2Session {
    const { initialWindowSize, connectionWindowSize } = this.#options
    const http2 = connect(this.#origin.href, {
      createConnection: () => socket,
      // Above either of the two node resets the stream with a bare ENHANCE_YOUR_CALM: the call's own limits trip first.
      settings: { enablePush: false, initialWindowSize, maxHeaderListSize: MAX_HEADER_SIZE },
      maxHeaderListPairs: MAX_HEADERS_COUNT,
      maxSessionMemory: MAX_SESSION_MEMORY,
      maxSendHeaderBlockLength: MAX_HEADER_BLOCK,
      maxReservedRemoteStreams: 0,
      peerMaxConcurrentStreams: UNLIMITED,
    })
    if (http2.destroyed) throw new SocketError('The socket was closed before a session could begin')
    http2.setLocalWindowSize(connectionWindowSize)
    return http2
  }

  #onSettings({ maxConcurrentStreams = UNLIMITED, enableConnectProtocol = false }: Settings): void {
    this.#offersExtendedConnect = enableConnectProtocol
    this.#peerLimit = maxConcurrentStreams
    this.#limit = Math.min(maxConcurrentStreams, this.#options.maxConcurrentStreams)
    if (this.hasRoom()) this.#owner.onSessionRoom(this)
  }

  #onGoaway(code: number, lastStreamId: number, debugData: Buffer | undefined): void {
    this.#goaway = { code, lastStreamId, debugData: debugData === undefined ? null : Buffer.from(debugData) }
    this.#drain()
    this.#lingerWhenIdle()
  }

  #drain(): void {
    if (this.#move({ name: 'draining' })) this.#owner.onSessionDraining(this)
  }

  /** node:http2 has ended its side then, and would wait for the peer's end for ever. */
  #lingerWhenIdle(): void {
    if (this.#state.name !== 'draining' || this.#streams.size > 0) return
    this.#linger ??= this.#clock.after(LINGER, () => this.#cut())
  }

  /** A session of node's that was closed gracefully counts as destroyed while its socket still waits for the peer. */
  #cut(): void {
    const isClosing = this.#http2?.closed === true
    if (this.#http2?.destroyed === false) this.#http2.destroy()
    if (isClosing) this.#socket?.destroy()
  }

  /** The first error is the cause; the `close` that follows it has none to tell. */
  #onError(error: Error): void {
    this.#close(error)
    this.#http2?.destroy()
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
    for (const stream of [...this.#streams]) stream.lose()
    this.#owner.onSessionClosed(this, cause, wasReady)
  }

  #move(state: SessionState): boolean {
    if (!canMove(this.#state, state)) return false
    this.#state = state
    return true
  }
}
