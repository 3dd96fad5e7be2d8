/**
 * A node:http2 session: its options, and its methods for Dodici's session.
 *
 * @module
 */

import type { ClientHttp2Session, Settings } from 'node:http2'
import type { Call } from '../../call/call.ts'
import { loadHttp2 } from '../../core/builtin.ts'
import { originalNextTick, originalSetImmediate } from '../../core/original-timers.ts'
import { RUNTIME } from '../../core/runtime.ts'
import { ErrorCode } from '../../errors/error-codes.ts'
import { InvalidArgumentError, SocketError } from '../../errors/errors.ts'
import { MAX_RESPONSE_HEADERS_COUNT } from '../../options/limits.ts'
import type { Origin } from '../../options/options.ts'
import type { SessionOptions } from '../../options/session-options.ts'
import { PingLedger } from '../../protocol/ping-ledger.ts'
import type { ReceiveWindows } from '../../protocol/receive-windows.ts'
import { isDisconnected, mayRunNodeEngine, setRef } from '../connect/socket.ts'
import type { ConnectionOwner, EngineConnection, EngineContext, StreamOwner } from '../engine.ts'
import { UNLIMITED } from '../peer-settings.ts'
import type { Transport } from '../transport.ts'
import { toBytesRead } from '../transport.ts'
import { NodeSendWindow } from './node-send-window.ts'
import type { NodeStreamConnection } from './node-stream.ts'
import { NodeStream } from './node-stream.ts'
import { UploadBuffer } from './node-upload.ts'
import { toSessionHandle } from './session-handle.ts'
import { spareAcceptedStreams } from './spared-streams.ts'
import { UselessBytes } from './useless-bytes.ts'

/**
 * In bytes. With node's default of 64 KiB, node itself refuses larger requests, with the same error as a peer's
 * REFUSED_STREAM. Far more than `request/headers.ts` allows, because nghttp2 compares a high estimate with it.
 */
const MAX_HEADER_BLOCK = 1_048_576

/**
 * In megabytes, in addition to the memory for responses. With node's default of 10, an unrelated request fails while a
 * large upload waits.
 */
const MAX_SESSION_MEMORY = 1_024
const MEGABYTE = 1_000_000

/**
 * Node keeps every origin from ORIGIN frames (RFC 8336) for the session's life. Node 20 keeps any number; later lines
 * end the session themselves when it exceeds this one.
 */
const MAX_ORIGINS = 128

/** SETTINGS_MAX_FRAME_SIZE if the caller has set none (RFC 9113 §6.5.2), in bytes. */
const DEFAULT_FRAME_SIZE = 16_384

/** SETTINGS_INITIAL_WINDOW_SIZE before the peer's SETTINGS (RFC 9113 §6.9.2), in bytes. */
const DEFAULT_WINDOW = 65_535

/** For a caller who has asked for this engine by name. */
const REFUSED =
  "Invalid engine: got 'node' for a Duplex that is neither a net.Socket nor a TLSSocket (from a connect function, " +
  "or a proxy's tunnel), expected 'wire', or no engine: node:http2 isn't safe there"

/** A server needs two: one that announces the end, and one that names the last stream (RFC 9113 §6.8). */
const MAX_GOAWAYS = 100

/** Node's session and its socket: only the events of both are complete. */
export class NodeConnection implements EngineConnection, NodeStreamConnection {
  readonly engine = 'node'
  readonly http2: ClientHttp2Session
  readonly socket: Transport
  readonly owner: ConnectionOwner
  readonly pings = new PingLedger()
  readonly uploadBuffer: UploadBuffer
  readonly sendWindow: NodeSendWindow
  /** Null once the session and its streams are gone, and if node has none. */
  #handle: object | null
  readonly #useless: UselessBytes
  readonly #windows: ReceiveWindows
  /** The largest SETTINGS_INITIAL_WINDOW_SIZE that the peer has sent, in bytes. */
  #largestPeerWindow = DEFAULT_WINDOW
  #lastAcceptedId = 0
  #isDestroyedByUs = false
  #origins = 0
  #goaways = 0

  /** @throws if `socket` isn't one of node's sockets, or is closed */
  constructor(
    { origin, options: { session: options }, deadlines }: EngineContext,
    socket: Transport,
    windows: ReceiveWindows,
    owner: ConnectionOwner,
  ) {
    if (!mayRunNodeEngine(socket)) throw new InvalidArgumentError(REFUSED)
    this.socket = socket
    this.owner = owner
    this.uploadBuffer = new UploadBuffer(owner)
    const { maxFrameSize = DEFAULT_FRAME_SIZE } = options.settings
    this.#useless = new UselessBytes(socket, () => deadlines.now(), maxFrameSize)
    this.#windows = windows
    // node:http2 doesn't measure the path, so the connection window is large from the start.
    windows.connection.grow(options.connectionWindowSize)
    windows.connection.announce()
    // After a fatal TLS alert, node:http2 may emit nothing: only the socket emits `close`. One tick later, because node
    // may emit the session's `error` from a later listener of the same event.
    socket.on('close', () => originalNextTick(() => owner.onClose()))
    socket.on('error', (error) => owner.onError(error))
    this.http2 = connectHttp2(origin, options, socket, windows.streamWindow)
    this.sendWindow = new NodeSendWindow(this.http2)
    this.#handle = toSessionHandle(this.http2)
    if (RUNTIME === 'Node.js') spareAcceptedStreams(this.http2)
    this.http2.on('error', (error) => owner.onError(error))
    this.http2.on('close', () => owner.onClose())
    this.http2.on('goaway', (code, lastStreamId, data) => this.#onGoaway(code, lastStreamId, data))
    this.http2.on('remoteSettings', (settings) => this.#onSettings(settings))
    this.http2.on('origin', (origins) => this.#onOrigins(origins))
  }

  /** Node knows about a GOAWAY, or a lost connection, some ticks before it emits the event. */
  get canTake(): boolean {
    return !this.#isDestroyedByUs && !this.http2.closed && !this.http2.destroyed
  }

  get lastAcceptedId(): number {
    return this.#lastAcceptedId
  }

  get largestPeerWindow(): number {
    return this.#largestPeerWindow
  }

  get isDestroyedByUs(): boolean {
    return this.#isDestroyedByUs
  }

  get isDestroyed(): boolean {
    return this.#isDestroyedByUs || this.http2.destroyed
  }

  get isDisconnected(): boolean {
    return isDisconnected(this.socket)
  }

  get bytesRead(): number | null {
    return toBytesRead(this.socket)
  }

  get isShut(): boolean {
    return this.sendWindow.isShut
  }

  /** nghttp2 sends PING before the RST_STREAM frames that wait. */
  get areFramesSent(): boolean {
    return (this.http2.state.outboundQueueSize ?? 0) === 0
  }

  toStream(call: Call, owner: StreamOwner): NodeStream {
    return new NodeStream(this, call, owner)
  }

  onHeaderSection(streamId: number): void {
    this.#useless.onHeaderSection()
    this.onAccepted(streamId)
  }

  onAccepted(streamId: number): void {
    if (streamId > this.#lastAcceptedId) this.#lastAcceptedId = streamId
  }

  onResponded(): void {
    this.pings.onNews()
  }

  onData(length: number, received: number): void {
    this.pings.onNews()
    this.#useless.onData(length)
    if (received > this.#windows.streamWindow && this.#windows.grow()) this.sendWindows()
  }

  onTrailers(): void {
    this.pings.onNews()
  }

  onMissingEnd(): void {
    this.#useless.onMissingEnd(this.#windows.largestStreamWindow)
  }

  look(): void {
    // Other runtimes count differently.
    if (RUNTIME !== 'Node.js' || !this.#useless.lookForTooMany()) return
    this.#fail(
      'The peer sends too many frames that carry nothing (RFC 9113 §10.5)',
      ErrorCode.ENHANCE_YOUR_CALM,
    )
  }

  setRef(isNeeded: boolean): void {
    // Not through node:http2: over a Duplex, such as a tunnel, it has a wrapper, whose handle never keeps the process
    // alive.
    setRef(this.socket, isNeeded)
  }

  ping(onAck: () => void): boolean {
    if (this.http2.destroyed) return false
    const onReply = (error: Error | null): void => {
      if (error === null) onAck()
    }
    if (!this.http2.closed) return this.http2.ping(onReply)
    // Node sends no PING after a GOAWAY. SETTINGS does the same job: the peer must acknowledge it, too (RFC 9113
    // §6.5.3).
    this.http2.settings({}, onReply)
    return true
  }

  sendWindows(): void {
    if (this.http2.destroyed) return
    const initialWindowSize = this.#windows.announce()
    const { connection } = this.#windows
    // First, so that no stream finds it used up.
    if (connection.announce() > 0) setConnectionWindow(this.http2, connection.size)
    if (initialWindowSize === null) return
    this.http2.settings({ initialWindowSize }, (error) => {
      if (error === null) this.#windows.acknowledge(initialWindowSize)
    })
  }

  close(): void {
    this.http2.close()
  }

  /** Does nothing: node ends its side itself. It would wait for the peer's end for ever. */
  end(): void {}

  #onSettings(settings: Settings): void {
    this.#largestPeerWindow = Math.max(settings.initialWindowSize ?? DEFAULT_WINDOW, this.#largestPeerWindow)
    this.owner.onSettings(settings)
  }

  #onGoaway(code: number, lastStreamId: number, data: Uint8Array | undefined): void {
    this.#goaways++
    if (this.#goaways === MAX_GOAWAYS + 1) {
      this.#fail(`The peer sends more than ${MAX_GOAWAYS} GOAWAY frames (RFC 9113 §10.5)`)
    }
    if (this.#goaways > MAX_GOAWAYS) return
    // A copy, because node reuses the memory for the next GOAWAY.
    this.owner.onGoaway(code, lastStreamId, data === undefined ? null : Buffer.from(data))
  }

  #onOrigins(origins: readonly string[]): void {
    const before = this.#origins
    this.#origins += origins.length
    if (this.#origins <= MAX_ORIGINS) this.owner.onOrigins(origins)
    if (this.#origins <= MAX_ORIGINS || before > MAX_ORIGINS) return
    this.#fail(`The peer claims more than ${MAX_ORIGINS} origins (RFC 8336)`)
  }

  /** @param http2ErrorCode the code that engine wire would send with its GOAWAY */
  #fail(reason: string, http2ErrorCode: number | null = null): void {
    const error = new SocketError(reason, { http2ErrorCode, processed: 'maybe' })
    // Not during nghttp2's read: calls fail now.
    originalSetImmediate(() => this.owner.onError(error))
  }

  /**
   * Ends the connection, in the next turn of the event loop. The caller may be nghttp2, while it reads: destroying at
   * once would free nghttp2's session while it is running.
   */
  destroy(): void {
    if (this.#isDestroyedByUs) return
    this.#isDestroyedByUs = true
    originalSetImmediate(() => {
      if (!this.http2.destroyed) this.http2.destroy()
      // Node would wait for the peer: to close its side after a graceful close, or to read what is being written.
      this.socket.destroy()
      // In the next turn, node destroys the native halves of the streams.
      originalSetImmediate(keep, this.#handle)
      // Not longer: while the peer hasn't acknowledged SETTINGS, the native half keeps node's callback for that, and so
      // the session and this connection. None of them could ever be collected.
      this.#handle = null
    })
  }
}

/** Does nothing: while a value is the argument of a callback that is due, it can't be collected. */
function keep(_value: unknown): void {}

function connectHttp2(
  origin: Origin,
  { settings, connectionWindowSize, maxSessionBuffer }: SessionOptions,
  socket: Transport,
  streamWindow: number,
): ClientHttp2Session {
  const http2 = loadHttp2().connect(origin.href, {
    createConnection: () => socket,
    settings: { ...settings, initialWindowSize: streamWindow },
    // Above either limit, node resets the stream with ENHANCE_YOUR_CALM and without a reason. The call's own limits are
    // lower.
    maxHeaderListPairs: MAX_RESPONSE_HEADERS_COUNT,
    maxSessionMemory: MAX_SESSION_MEMORY + Math.ceil(maxSessionBuffer / MEGABYTE),
    maxSendHeaderBlockLength: MAX_HEADER_BLOCK,
    maxReservedRemoteStreams: 0,
    peerMaxConcurrentStreams: UNLIMITED,
    // Since Node 22.17 and 24.2: with true, nghttp2 drops fields whose values have white space around them.
    strictFieldWhitespaceValidation: false,
  })
  if (http2.destroyed) throw new SocketError('The socket was closed before a session could begin')
  setConnectionWindow(http2, connectionWindowSize)
  return http2
}

/** On Bun, the connection keeps its 65,535 bytes: with another window, Bun never grows the streams' windows again. */
function setConnectionWindow(http2: ClientHttp2Session, size: number): void {
  if (RUNTIME !== 'Bun') http2.setLocalWindowSize(size)
}
