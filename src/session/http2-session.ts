/**
 * The session: its states, whether a stream may be opened, and when it is verified, drained or given up. Its engine
 * makes the connection.
 *
 * @module
 */

import type { SessionFacts } from '../../types/channels.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { EndReason, OpenReason, SessionStats } from '../../types/stats.ts'
import type { Carrier } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { ConnectTimeoutError, DodiciError, SocketError, toError } from '../errors/errors.ts'
import { ConnectAlarm } from './connect/connect-alarm.ts'
import { ConnectionAttempt } from './connect/connection-attempt.ts'
import { tuneSocket } from './connect/socket.ts'
import type { ConnectionOwner, Engine, EngineConnection, EngineStream, StreamOwner } from './engine.ts'
import { toForeignPeerError, toSilence } from './foreign-peer.ts'
import type { KeepaliveTarget } from './keepalive.ts'
import { Keepalive } from './keepalive.ts'
import { Linger } from './linger.ts'
import type { Goaway } from './loss.ts'
import { destroyLost, isAbove, isOfHttp1, isOfPings, toLatest, toLossError } from './loss.ts'
import type { AnnouncedSettings } from './peer-settings.ts'
import { ProcessRef } from './process-ref.ts'
import type { SendWindowOwner } from './send-window-watch.ts'
import { SendWindowWatch } from './send-window-watch.ts'
import type {
  Capacity,
  Session,
  SessionContext,
  SessionFactory,
  SessionNeed,
  SessionState,
} from './session.ts'
import { canMove } from './session.ts'
import { SessionCarrier, toTransportInfo } from './session-carrier.ts'
import { SessionReport } from './session-report.ts'
import type { ResetPing } from './stream/reset-confirmation.ts'
import type { SessionStreamsOwner } from './stream/session-streams.ts'
import { SessionStreams } from './stream/session-streams.ts'
import type { Transport } from './transport.ts'

/** One connection, from the first SYN to the last event. */
export class Http2Session
  implements Session, ConnectionOwner, SessionStreamsOwner, KeepaliveTarget, SendWindowOwner
{
  heapIndex = -1
  readonly id: number
  requests = 0
  responded = 0
  readyAt = Number.POSITIVE_INFINITY
  endedFor: EndReason | null = null
  goaway: Goaway | null = null
  readonly #context: SessionContext
  readonly #report: SessionReport
  readonly #carrier: SessionCarrier
  readonly #streams: SessionStreams
  #state: SessionState = { name: 'connecting' }
  /** Null before `start()`. */
  #attempt: ConnectionAttempt | null = null
  /** These three are null until there is a socket. */
  #connection: EngineConnection | null = null
  #keepalive: Keepalive | null = null
  #sendWindow: SendWindowWatch | null = null
  /** Fires unless the peer's SETTINGS arrive in time. Null before there is a socket, and without a `connectTimeout`. */
  #settingsAlarm: ConnectAlarm | null = null
  readonly #processRef: ProcessRef
  readonly #linger: Linger
  /** Whether `close()` was called while streams are left. */
  #isGoawayDue = false
  /** How many calls it may get; Infinity: no limit. */
  readonly #maxRequests: number

  constructor(context: SessionContext, id: number, openedFor: OpenReason) {
    this.id = id
    this.#context = context
    this.#maxRequests = context.options.session.maxSessionRequests || Number.POSITIVE_INFINITY
    this.#report = new SessionReport(context, id, openedFor)
    this.#carrier = new SessionCarrier(this.#report.session.protocol, id)
    this.#streams = new SessionStreams(context, this)
    this.#processRef = new ProcessRef(context)
    this.#linger = new Linger(context.clock, () => this.#connection?.destroy())
  }

  start(socket: Transport | null = null): void {
    this.#report.open()
    // A subscriber that was told may have ended the session, and so may the caller's own connector.
    if (this.#state.name !== 'connecting') {
      socket?.destroy()
      return
    }
    // Before the dial: nothing would hear of the end of a socket that waits for its engine.
    this.#context.engine.use(
      (engine) => this.#connect(engine, socket),
      (error) => this.#close(error),
    )
  }

  #connect(engine: Engine, socket: Transport | null): void {
    // Its caller may have ended it while the engine was loaded.
    if (this.#state.name !== 'connecting') {
      socket?.destroy()
      return
    }
    const { startedAt = this.#context.clock.now() } = this.#context
    if (socket !== null) {
      this.#start(engine, socket, startedAt)
      return
    }
    this.#attempt = new ConnectionAttempt(this.#context, (result) => {
      if ('error' in result) this.#close(result.error)
      else this.#start(engine, result.socket, startedAt)
    })
    if (this.#state.name !== 'connecting') this.#attempt.cancel()
    else this.updateRef()
  }

  get state(): SessionState {
    return this.#state
  }

  get carrier(): Carrier {
    return this.#carrier
  }

  /** What the channels publish about it. */
  get facts(): SessionFacts {
    return this.#report.session
  }

  get streams(): number {
    return this.#streams.size
  }

  get liveStreams(): number {
    return this.#streams.live
  }

  get hasSettings(): boolean {
    return this.#streams.settings.peerLimit !== null
  }

  get isSettled(): boolean {
    return this.#streams.settings.areSettled
  }

  get offersExtendedConnect(): boolean {
    return this.#streams.settings.offersExtendedConnect
  }

  get idleAt(): number {
    return this.#keepalive?.idleAt ?? Number.POSITIVE_INFINITY
  }

  get isCrowded(): boolean {
    return this.#streams.isCrowded
  }

  get isNeeded(): boolean {
    return this.#processRef.isNeeded
  }

  get socket(): Transport | null {
    return this.#connection?.socket ?? null
  }

  get maxHeaderListSize(): number {
    const { enforceMaxHeaderListSize } = this.#context.options
    return enforceMaxHeaderListSize ? this.#streams.settings.maxHeaderListSize : Number.POSITIVE_INFINITY
  }

  canTake(need: SessionNeed): Capacity {
    const connection = this.#connection
    if (this.#state.name === 'connecting') return 'soon'
    if (this.#state.name !== 'ready' || connection === null) return 'never'
    const isTrusted = this.#keepalive?.isTrusted !== false
    const capacity = this.requests < this.#maxRequests ? this.#streams.canTake() : 'full'
    if (isTrusted && capacity === 'yes' && connection.canTake) {
      // The credit of a stream that has just ended is under way, or the watch retires the session within a second.
      if (need !== 'any' && this.isShut()) return 'soon'
      return this.#meets(need) ? 'yes' : 'soon'
    }
    if (connection.isDestroyed && !connection.isDestroyedByUs) return 'lost'
    if (!isTrusted) return 'stale'
    return capacity === 'full' ? 'full' : 'soon'
  }

  isShut(): boolean {
    return this.#sendWindow?.look() === true
  }

  #meets(need: SessionNeed): boolean {
    if (need === 'any' || need === 'upload') return true
    return this.isSettled || (need === 'settled-or-idle' && this.streams === 0)
  }

  destroyIfLost(): boolean {
    const isUsed = this.#state.name === 'ready' || this.liveStreams > 0
    const isLost = isUsed && this.#connection?.isDestroyed === true && !this.#connection.isDestroyedByUs
    if (isLost) destroyLost(this)
    return isLost
  }

  verify(): void {
    this.#keepalive?.verify()
  }

  requireVerification(): void {
    this.#keepalive?.requireVerification()
  }

  /** @param owner is told about the stream: not this session if several origins share it */
  open(call: Call, owner: StreamOwner = this): void {
    if (this.#connection === null) throw new DodiciError(`A ${this.#state.name} session accepts no calls`)
    this.requests++
    const stream = this.#connection.toStream(call, owner)
    if (this.#streams.add(stream)) this.#connection.sendWindows()
    this.#context.owner.onSessionLoad(this, stream)
    if (!this.#processRef.isHeld) this.updateRef()
    stream.open()
  }

  updateRef(): void {
    const mayServe = this.#state.name === 'connecting' || this.#state.name === 'ready'
    const isNeeded = this.liveStreams > 0 || (mayServe && this.#context.owner.waiting() > 0)
    if (this.#state.name === 'connecting') this.#attempt?.setRef(isNeeded)
    const isLeft = isNeeded && this.#context.owner.waiting() === 0 && this.#streams.areIdle()
    if (!this.#processRef.update(isNeeded, isLeft)) return
    if (isNeeded) this.#keepalive?.onBusy()
    else this.#keepalive?.onIdle()
  }

  toStats(): SessionStats {
    const isVerifying = this.#state.name === 'ready' && this.#keepalive?.isVerifying === true
    return this.#report.toStats(this, isVerifying, this.#streams, this.#connection)
  }

  close(reason: EndReason, isAwaited = false): void {
    this.endedFor ??= reason
    if (this.#state.name === 'connecting') {
      this.destroy(null)
    } else if (this.#connection !== null && this.#state.name !== 'closed') {
      if (isAwaited) this.#processRef.await()
      this.#isGoawayDue = true
      if (this.liveStreams === 0) this.#sayGoaway()
      this.#drain()
    }
  }

  destroy(cause: Error | null): void {
    if (this.#state.name === 'closed') return
    this.endedFor ??= 'closed'
    this.#attempt?.cancel()
    this.#streams.fail(cause)
    // Its `close` event tells the owner; without a socket there will be none.
    if (this.#connection === null) this.#close(cause)
    else this.#connection.destroy()
  }

  fail(cause: Error): void {
    this.onError(cause)
  }

  onStreamClosed(stream: EngineStream): void {
    if (!this.#streams.delete(stream)) return
    if (stream.hasUpload) this.#sendWindow?.look()
    this.onRoom()
    this.#onFewer()
  }

  onResponded(headers: IncomingHttpHeaders): void {
    this.responded++
    this.#context.memory.onResponse(headers['content-type'])
  }

  onMisdirected(): void {
    this.close('misdirected')
  }

  onStall(streamId: number, sessionWindow: number): void {
    this.#report.stall(streamId, sessionWindow)
  }

  reset(stream: EngineStream): void {
    this.#streams.resets.add(stream)
    this.#onFewer()
  }

  toLossError(streamId: number | null, error: Error | null): DodiciError {
    const cause = this.#state.name === 'closed' ? this.#state.cause : null
    const silence = this.hasSettings ? '' : toSilence(this.#context.origin)
    const lastAcceptedId = this.#connection?.lastAcceptedId ?? 0
    return toLossError(streamId, this.goaway, lastAcceptedId, cause ?? this.#explain(error), silence)
  }

  isLeftOut(streamId: number | null): boolean {
    const { goaway } = this
    if (goaway === null || !isAbove(streamId, goaway) || this.isLost()) return false
    return this.#streams.hasLiveUpTo(goaway.lastStreamId)
  }

  isLost(): boolean {
    return this.#state.name === 'closed' || this.#connection?.isDestroyed === true
  }

  onPong(rtt: number): void {
    this.#report.ping(rtt)
    this.#streams.resets.confirmation.onPong()
  }

  onTrustChange(): void {
    if (this.#keepalive?.isVerifying === true) this.#report.late()
    this.onRoom()
  }

  get areFramesSent(): boolean {
    return this.#connection?.areFramesSent === true
  }

  pingAfterReset(isUrgent: boolean): ResetPing {
    return this.#keepalive?.onReset(isUrgent) ?? 'refused'
  }

  get hasStuckUploads(): boolean {
    return this.#streams.toStuck().length > 0
  }

  get isPingShy(): boolean {
    return this.#context.memory.isPingShy
  }

  onCredit(): void {
    this.#sendWindow?.onCredit()
  }

  onSendWindowOpen(): void {
    this.onRoom()
  }

  onSendWindowShut(): void {
    if (this.#state.name === 'ready') this.#context.owner.onSessionShut(this)
  }

  onUploadsStuck(): void {
    for (const stream of this.#streams.toStuck()) {
      const message =
        'The server returns no credit for request bodies of streams that have ended: ' +
        "the connection's send window is used up for ever (RFC 9113 §6.9)"
      stream.giveUp(new SocketError(message, { processed: 'maybe' }))
    }
  }

  onRoom(): void {
    if (this.#state.name === 'ready') this.#context.owner.onSessionRoom(this)
  }

  onIdleTimeout(): void {
    if (this.#state.name === 'ready') this.#context.owner.onSessionIdle(this)
  }

  /** @param startedAt when the connection attempt began, in the clock's time */
  #start(engine: Engine, socket: Transport, startedAt: number): void {
    const { clock, options, owner, deadlines, memory } = this.#context
    try {
      const { windows } = this.#streams
      windows.begin(owner.waiting())
      this.#connection = engine.connect(this.#context, socket, windows, this)
      tuneSocket(socket, options.connect)
      // A connector may have paused it. Its substitute for a socket may lack this method.
      socket.resume?.()
      this.#carrier.transport = toTransportInfo(socket)
    } catch (thrown) {
      // The caller's connector has given something that isn't a socket.
      socket.destroy()
      this.#close(toError(thrown))
      return
    }
    if (!this.#move({ name: 'ready' })) return
    this.readyAt = clock.now()
    this.#processRef.connect(this.#connection)
    this.#sendWindow = new SendWindowWatch(this, this.#connection, deadlines)
    this.#keepalive = new Keepalive(this, this.#connection, options.session, deadlines, memory)
    if (options.connectTimeout > 0)
      this.#settingsAlarm = new ConnectAlarm(clock, startedAt, options.connectTimeout, () => this.#onMute())
    this.#report.ready(this.#connection, clock.now() - startedAt)
    try {
      owner.onSessionReady(this)
    } finally {
      this.updateRef()
    }
  }

  /** The peer has accepted a connection, but has sent nothing in HTTP/2: the connection attempt has failed. */
  #onMute(): void {
    const { origin, options } = this.#context
    const message = `${origin.href} sent no SETTINGS within connectTimeout (${options.connectTimeout} ms)`
    this.onError(new ConnectTimeoutError(message))
  }

  onSettings(settings: AnnouncedSettings): void {
    const isFirst = !this.hasSettings
    const { resets, settings: known } = this.#streams
    known.update(settings)
    this.#report.settings(settings)
    this.#settingsAlarm?.cancel()
    if (isFirst) this.#streams.greet()
    resets.onLoad()
    // A peer that shuts down may send GOAWAY right after SETTINGS: calls that wait for SETTINGS must see both.
    if (!known.areSettled) known.settleLater(() => this.onRoom())
    this.onRoom()
  }

  onGoaway(code: number, lastStreamId: number, debugData: Buffer | null): void {
    this.goaway = toLatest(this.goaway, { code, lastStreamId, debugData })
    this.#report.goaway({ code, lastStreamId, debugData })
    this.endedFor ??= 'goaway'
    const { memory, options } = this.#context
    if (isOfPings({ code, lastStreamId, debugData })) {
      memory.onTooManyPings()
    } else {
      this.#keepalive?.onGoaway()
      memory.onGoaway(code, this.#streams.resets.sent)
    }
    if (isOfHttp1(code) && options.fallback !== null) memory.onHttp1('required')
    this.#drain()
  }

  onOrigins(origins: readonly string[]): void {
    this.#context.owner.onSessionOrigins?.(this, origins)
  }

  #drain(): void {
    if (this.#move({ name: 'draining' })) {
      this.#report.draining(this.goaway, this.endedFor)
      this.#context.owner.onSessionDraining(this)
    }
    this.#lingerWhenIdle()
  }

  #onFewer(): void {
    if (this.liveStreams > 0 && !this.#streams.mayBeIdle) return
    this.updateRef()
    this.#lingerWhenIdle()
  }

  /**
   * Sends GOAWAY after the last stream: nghttp2 sends it before HEADERS that wait, and a server may refuse those
   * then.
   */
  #sayGoaway(): void {
    if (!this.#isGoawayDue) return
    this.#isGoawayDue = false
    this.#connection?.close()
  }

  /** Without live streams, the session waits only for the peer's end and for cancelled streams. */
  #lingerWhenIdle(): void {
    if (this.#state.name !== 'draining' || this.liveStreams > 0) return
    this.#sayGoaway()
    this.#linger.start()
    if (this.#streams.size === 0) this.#connection?.end()
  }

  /** The first error is the cause; the `close` event after it carries none. */
  onError(error: Error | null): void {
    try {
      this.#close(this.#explain(error))
    } finally {
      this.#connection?.destroy()
    }
  }

  onClose(): void {
    this.onError(null)
  }

  /** Explains an error from a peer that may not speak HTTP/2. */
  #explain(error: Error | null): Error | null {
    return error === null || this.hasSettings ? error : toForeignPeerError(error, this.#context.origin)
  }

  /** The only exit. */
  #close(cause: Error | null): void {
    const wasReady = this.#state.name !== 'connecting'
    this.endedFor ??= wasReady ? 'lost' : 'unconnected'
    if (!this.#move({ name: 'closed', cause })) return
    this.#linger.stop()
    this.#settingsAlarm?.cancel()
    this.#keepalive?.stop()
    this.#sendWindow?.stop()
    this.#processRef.stop()
    this.#streams.onLost()
    this.#report.closed(cause, wasReady, this.endedFor)
    this.#context.owner.onSessionClosed(this, cause, wasReady)
  }

  #move(state: SessionState): boolean {
    if (!canMove(this.#state, state)) return false
    this.#state = state
    return true
  }
}

/** Creates sessions for HTTP/2 over a socket. */
export const toHttp2Session: SessionFactory = (context, id, openedFor) =>
  new Http2Session(context, id, openedFor)
