/**
 * The interface of an engine. An engine creates connections on sockets, and a connection creates streams. They report
 * to the session through `StreamOwner` and `ConnectionOwner`.
 *
 * @module
 */

import type { EngineName } from '../../types/engine.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { Carrier } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import type { Deadlines } from '../core/clock.ts'
import type { UnorderedItem } from '../core/unordered-list.ts'
import type { DodiciError } from '../errors/errors.ts'
import type { Origin, ResolvedClientOptions } from '../options/options.ts'
import type { PingLedger } from '../protocol/ping-ledger.ts'
import type { ReceiveWindows, Windowed } from '../protocol/receive-windows.ts'
import type { Request } from '../request/request.ts'
import type { AnnouncedSettings } from './peer-settings.ts'
import type { Resettable } from './stream/reset-budget.ts'
import type { FailureContext } from './stream/stream-failure.ts'
import type { Transport } from './transport.ts'

/** One implementation of HTTP/2 over a socket. It has no state; its connections have. */
export interface Engine {
  /**
   * Sends the client connection preface.
   *
   * @param socket connected, with TLS if the origin requires it
   * @param windows the receive windows, whose first sizes are chosen
   * @param owner is told about the connection and its streams
   * @throws if `socket` isn't a socket, or is closed
   */
  connect(
    context: EngineContext,
    socket: Transport,
    windows: ReceiveWindows,
    owner: ConnectionOwner,
  ): EngineConnection
}

/** An engine, whose module may be loaded late. */
export interface EngineSource {
  /** Calls one of the two: during the call if it is loaded already, otherwise later. */
  use(onLoaded: (engine: Engine) => void, onFailed: (error: DodiciError) => void): void
}

/** The part of the client that engines may use. */
export interface EngineContext {
  readonly origin: Origin
  readonly options: ResolvedClientOptions
  readonly deadlines: Deadlines
}

/** A socket, and the HTTP/2 connection on it. */
export interface EngineConnection {
  /** The name of its engine. */
  readonly engine: EngineName
  readonly socket: Transport
  /** How many bytes were read from the socket; null if a caller's substitute for a socket doesn't count them. */
  readonly bytesRead: number | null
  /** Whether a stream may be opened, as far as the engine knows. */
  readonly canTake: boolean
  readonly isDestroyed: boolean
  /** Whether the system says that the socket has lost its connection. False if the system can't be asked. */
  readonly isDisconnected: boolean
  /**
   * The PINGs that Dodici has sent, counted as by a server that counts them. The sender of a PING records it; the
   * engine records received HEADERS and DATA.
   */
  readonly pings: PingLedger
  /** Whether `destroy()` has ended it: then nothing was lost. */
  readonly isDestroyedByUs: boolean
  /**
   * The highest stream that the peer has shown to have accepted, with HEADERS, DATA, WINDOW_UPDATE, or RST_STREAM
   * other than REFUSED_STREAM. 0 for none. A GOAWAY with a lower last stream id isn't believed.
   */
  readonly lastAcceptedId: number
  /**
   * Whether no more request bodies can be sent: the connection's send window is used up, and hardly any of it by open
   * streams. Only WINDOW_UPDATE for streams that have ended changes that.
   */
  readonly isShut: boolean
  /** Whether no frame waits inside the engine: then a PING sent now follows all of them. */
  readonly areFramesSent: boolean
  /**
   * Creates a stream for this call. It isn't open yet.
   *
   * @param owner is told about the stream: the session, or one of the origins that share it
   */
  toStream(call: Call, owner: StreamOwner): EngineStream
  /** Sets whether it keeps the process alive. */
  setRef(isNeeded: boolean): void
  /**
   * Sends a PING, or another frame that the peer has to acknowledge.
   *
   * @param onAck not called if it returns `false`, or if the connection ends first
   * @returns false if none can be sent now
   */
  ping(onAck: () => void): boolean
  /** Announces receive windows whose size has changed. Does nothing once destroyed. */
  sendWindows(): void
  /** Called from time to time while calls need the connection: checks for what no event reports. */
  look(): void
  /** Sends GOAWAY: no more streams are opened. Open streams continue. */
  close(): void
  /** Ends the connection after `close()`, when no streams are left. Idempotent. */
  end(): void
  /** Destroys the connection, in the next turn of the event loop at the latest. */
  destroy(): void
}

/** One stream of a connection, for one attempt of a call. */
export interface EngineStream extends UnorderedItem, Resettable, Windowed {
  /** Null until it is opened. */
  readonly streamId: number | null
  /**
   * Whether its caller waits for nothing: the stream is over, or the whole request was sent and the reader holds the
   * response back.
   */
  readonly isIdle: boolean
  /** Whether its call has ended, or has left it. */
  readonly isDone: boolean
  /**
   * Whether it has closed in another way than by END_STREAM from both sides. Then the peer may count it for some
   * time, whoever has reset it.
   */
  readonly isEndedEarly: boolean
  /** Whether its request has a body, or opens a tunnel. */
  readonly hasUpload: boolean
  /** Whether data of its request waits to be sent, and no response has arrived. */
  readonly isStuck: boolean
  /** Sends its request. If that fails, the call fails. */
  open(): void
  /** The peer's first SETTINGS have arrived. */
  onConnected(): void
  /** Fails the call, or its tunnel, on behalf of the session's owner, and releases the stream. */
  fail(error: Error): void
  /** Fails the attempt, whose call may be sent again, and resets the stream. */
  giveUp(error: DodiciError): void
  /** The session is gone: the engine may report nothing more about this stream. */
  onLost(): void
}

/** The session, as its streams see it. */
export interface StreamOwner extends FailureContext {
  /** What its calls learn about it. */
  readonly carrier: Carrier
  /** Null until connected. */
  readonly socket: Transport | null
  /** The largest field section that may be sent, in bytes counted as in RFC 9113 §6.5.2; Infinity: no limit. */
  readonly maxHeaderListSize: number
  /** Whether the peer's first SETTINGS have arrived, which completes the connection. */
  readonly hasSettings: boolean
  /** The header section of a call's final response has arrived. */
  onResponded(headers: IncomingHttpHeaders): void
  /** The response is a 421, after which the connection takes no more calls. */
  onMisdirected(request: Request): void
  /** An upload is stalled. @param sessionWindow the connection's send window, in bytes */
  onStall(streamId: number, sessionWindow: number): void
  /** Resets the stream in a later turn, as soon as the reset budget allows. */
  reset(stream: EngineStream): void
  /** The stream no longer counts against the peer's limit. */
  onStreamClosed(stream: EngineStream): void
  /** Whether the streams are waiting for anything may have changed. */
  updateRef(): void
}

/** The session, as its connection sees it. */
export interface ConnectionOwner extends StreamOwner {
  onError(error: Error): void
  /** The connection is gone. Called at least once, after all other calls. */
  onClose(): void
  onGoaway(code: number, lastStreamId: number, debugData: Buffer | null): void
  onSettings(settings: AnnouncedSettings): void
  /** The peer has returned credit for the connection's send window. Not every engine reports that. */
  onCredit(): void
  /** ORIGIN has arrived (RFC 8336). @param origins as the server writes them, valid or not; at most 128 */
  onOrigins(origins: readonly string[]): void
}
