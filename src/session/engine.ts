/**
 * The interface of an engine. An engine makes connections of sockets, and a connection makes streams. They tell the
 * session what happens through `StreamOwner` and `ConnectionOwner`.
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

/** One implementation of HTTP/2 over a socket. It has no state of its own: its connections have. */
export interface Engine {
  /**
   * Sends the client connection preface.
   *
   * @param socket connected, with TLS where the origin requires it
   * @param windows the receive windows: their first sizes are chosen
   * @param owner hears of the connection and of its streams
   * @throws when `socket` isn't a socket, or a closed one
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
  /** Calls one of both: within the call once it is loaded, and later before. */
  use(onLoaded: (engine: Engine) => void, onFailed: (error: DodiciError) => void): void
}

/** The part of the client that engines may know. */
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
  /** Bytes read from the socket; null when a caller's stand-in for a socket doesn't count them. */
  readonly bytesRead: number | null
  /** Whether a stream may be opened, as far as the engine knows. */
  readonly canTake: boolean
  readonly isDestroyed: boolean
  /** Whether the system says that the socket has lost its connection. False where the system can't be asked. */
  readonly isDisconnected: boolean
  /**
   * The PINGs that we have sent, as a server that counts them would count. The sender of a PING records it; the engine
   * records HEADERS and DATA that come in.
   */
  readonly pings: PingLedger
  /** Whether `destroy()` has ended it: then nothing was lost. */
  readonly isDestroyedByUs: boolean
  /**
   * The highest stream that the peer has shown to have accepted: by HEADERS, DATA, WINDOW_UPDATE, or RST_STREAM other
   * than REFUSED_STREAM. 0 for none. A GOAWAY with a lower last stream id isn't believed.
   */
  readonly lastAcceptedId: number
  /**
   * Whether no more bodies can be sent: the connection's send window is used up, and next to nothing of it by streams
   * that are open. Only WINDOW_UPDATE for streams that have ended changes that.
   */
  readonly isShut: boolean
  /** Whether no frame waits inside the engine: then a PING that is sent now comes behind all of them. */
  readonly areFramesSent: boolean
  /**
   * Makes a stream for this call. It isn't open yet.
   *
   * @param owner hears of the stream: the session, or one of the origins that share it
   */
  toStream(call: Call, owner: StreamOwner): EngineStream
  /** Sets whether it keeps the process alive. */
  setRef(isNeeded: boolean): void
  /**
   * Sends a PING, or another frame that the peer has to acknowledge.
   *
   * @param onAck not called when `false` is returned, or when the connection ends first
   * @returns false when none can be sent now
   */
  ping(onAck: () => void): boolean
  /** Announces the sizes of receive windows that have changed. A no-op once destroyed. */
  sendWindows(): void
  /** Called now and then while calls need the connection: looks for what no event tells. */
  look(): void
  /** Sends GOAWAY: no further stream is opened. Open streams go on. */
  close(): void
  /** Ends the connection after `close()`, when no stream is left. Idempotent. */
  end(): void
  /** Destroys the connection, in the next turn of the event loop at the latest. */
  destroy(): void
}

/** One stream of a connection, for one attempt of a call. */
export interface EngineStream extends UnorderedItem, Resettable, Windowed {
  /** Null until opened. */
  readonly streamId: number | null
  /**
   * Whether its caller waits for nothing: the stream is over, or all of the request was sent and the reader holds the
   * response back.
   */
  readonly isIdle: boolean
  /** Whether its call has ended, or has left it. */
  readonly isDone: boolean
  /**
   * Whether it has closed otherwise than by END_STREAM of both sides. Then the peer may count it for some time, whoever
   * has reset it.
   */
  readonly isEndedEarly: boolean
  /** Whether its request has a body, or is a tunnel's. */
  readonly hasUpload: boolean
  /** Whether data of its request waits to be sent, and no response has come. */
  readonly isStuck: boolean
  /** Sends its request. If that fails, the call fails. */
  open(): void
  /** The peer's first SETTINGS have come. */
  onConnected(): void
  /** Fails the call, or its tunnel, on behalf of the session's owner, and releases the stream. */
  fail(error: Error): void
  /** Fails the attempt, whose call may be sent again, and resets the stream. */
  giveUp(error: DodiciError): void
  /** The session is gone: the engine may tell no more about this stream. */
  onLost(): void
}

/** The session, as its streams see it. */
export interface StreamOwner extends FailureContext {
  /** What its calls are told of it. */
  readonly carrier: Carrier
  /** Null until connected. */
  readonly socket: Transport | null
  /** The largest section of fields that may be sent, in bytes as RFC 9113 §6.5.2 counts them; Infinity for any. */
  readonly maxHeaderListSize: number
  /** Whether the peer's first SETTINGS have come, with which connecting ends. */
  readonly hasSettings: boolean
  /** The header section of a call's final response has come. */
  onResponded(headers: IncomingHttpHeaders): void
  /** The response is a 421, after which the connection takes no further calls. */
  onMisdirected(request: Request): void
  /** An upload is stalled. @param sessionWindow the connection's send window, in bytes */
  onStall(streamId: number, sessionWindow: number): void
  /** Resets the stream in a later turn, as soon as the reset budget allows. */
  reset(stream: EngineStream): void
  /** The stream no longer counts against the peer's limit. */
  onStreamClosed(stream: EngineStream): void
  /** Whether a stream waits for anything may have changed. */
  updateRef(): void
}

/** The session, as its connection sees it. */
export interface ConnectionOwner extends StreamOwner {
  onError(error: Error): void
  /** The connection is gone. Called at least once, after all other calls. */
  onClose(): void
  onGoaway(code: number, lastStreamId: number, debugData: Buffer | null): void
  onSettings(settings: AnnouncedSettings): void
  /** The peer has returned credit of the connection's send window. Not every engine tells. */
  onCredit(): void
  /** ORIGIN has come (RFC 8336). @param origins as the server writes them, valid or not; 128 at most */
  onOrigins(origins: readonly string[]): void
}
