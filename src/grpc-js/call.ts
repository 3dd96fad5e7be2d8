/**
 * One call on a channel: grpc-js' `Call` on one side, a handler for `dispatch()` on the other.
 *
 * @module
 */

import type { CallCredentials, Metadata } from '@grpc/grpc-js'
import type { DispatchController, DispatchHandler, IncomingHttpHeaders } from '../index.ts'
import type { CallSettings } from './call-settings.ts'
import { toMetadataFields } from './call-settings.ts'
import { toDelay, toTimeoutField } from './deadline.ts'
import { Status } from './grpc.ts'
import type { IncomingOwner } from './incoming-messages.ts'
import { IncomingMessages } from './incoming-messages.ts'
import type { WriteCallback } from './message-source.ts'
import type { OutgoingOwner } from './outgoing-messages.ts'
import { OutgoingMessages } from './outgoing-messages.ts'
import type { Outcome } from './status.ts'
import {
  NO_STATUS,
  toCredentialsOutcome,
  toFailureOutcome,
  toFieldsOutcome,
  toHttpOutcome,
} from './status.ts'
import { splitHostPort } from './target.ts'

/** grpc-js' `StatusObject`. */
interface StatusObject extends Outcome {
  readonly metadata: Metadata
}

/** grpc-js' `InterceptingListener`. */
export interface CallListener {
  onReceiveMetadata(metadata: Metadata): void
  onReceiveMessage(message: Buffer): void
  onReceiveStatus(status: StatusObject): void
}

/** A server's call, which passes on its deadline and its cancellation. */
export interface ParentCall {
  on(event: 'cancelled', listener: () => void): unknown
  off?(event: 'cancelled', listener: () => void): unknown
}

/** The channel, as its calls see it. */
export interface CallOwner {
  readonly settings: CallSettings
  readonly target: string
  readonly isReady: boolean
  /** Whether the last attempt to connect has failed. */
  readonly isUnreachable: boolean
  /**
   * The call starts.
   *
   * @returns false if the channel is closed
   */
  admit(call: GrpcCall): boolean
  /** The call is about to be sent, so the channel connects. */
  onSending(): void
  /** Calls the call's `onReady()` once there is a connection. */
  awaitReady(call: GrpcCall): void
  onEnded(call: GrpcCall): void
}

/** `grpc.WriteFlags.NoCompress`. */
const NO_COMPRESS = 2

/**
 * What the call waits for before it may be dispatched:
 *
 * - `start`: for its metadata
 * - `credentials`: for what they add to the metadata
 * - `ready`: for a connection, because of `waitForReady`, or of `round_robin`
 * - `tick`: for the tick after `start()`, or for all its messages
 * - `none`: it was dispatched, or ended before that
 */
type Wait = 'start' | 'credentials' | 'ready' | 'tick' | 'none'

/**
 * Settles once: with what the server says, or with the first failure. A local end wins over an OK that wasn't reported.
 */
export class GrpcCall implements DispatchHandler, IncomingOwner, OutgoingOwner {
  readonly #owner: CallOwner
  readonly #settings: CallSettings
  readonly #method: string
  readonly #authority: string
  readonly #number: number
  /** Milliseconds since the epoch; Infinity for none. */
  readonly #deadline: number
  readonly #startedAt = Date.now()
  /** Null without a deadline, and once the call has ended. */
  #timer: NodeJS.Timeout | null = null
  /** Null without a parent that may cancel this call. */
  #parent: ParentCall | null
  /** Null without a parent. */
  #onParentCancelled: (() => void) | null = null
  #credentials: CallCredentials | null = null
  #wait: Wait = 'start'
  /** Null until `start()`. */
  #listener: CallListener | null = null
  #metadata: string[] = []
  /** Whether it waits for a connection through failures, too. */
  isWaitingForReady = false
  readonly #outgoing: OutgoingMessages
  readonly #incoming: IncomingMessages
  /** Null until the call was dispatched. */
  #controller: DispatchController | null = null
  #httpStatus = 200
  /** The response's header; null before. */
  #header: IncomingHttpHeaders | null = null
  /** Whether the response is over, or isn't wanted any more. */
  #isOver = false
  /** Null until the call has a status. */
  #status: StatusObject | null = null
  /** Whether the listener is about to be told the status, or was told: nothing can change it any more. */
  #isTelling = false

  /**
   * @param deadline milliseconds since the epoch; Infinity for none
   * @param parent the call that may cancel this one; null for none
   */
  constructor(
    owner: CallOwner,
    method: string,
    authority: string,
    deadline: number,
    parent: ParentCall | null,
    number: number,
  ) {
    const { settings } = owner
    this.#owner = owner
    this.#settings = settings
    this.#method = method
    this.#authority = authority
    this.#deadline = deadline
    this.#parent = parent
    this.#number = number
    this.#outgoing = new OutgoingMessages(this, settings.encoding)
    this.#incoming = new IncomingMessages(this, settings.maxReceived)
    if (parent !== null) {
      const onCancelled = (): void => this.cancelWithStatus(Status.CANCELLED, 'Cancelled by parent call')
      this.#onParentCancelled = onCancelled
      parent.on('cancelled', onCancelled)
    }
    if (deadline === Number.POSITIVE_INFINITY) return
    const delay = toDelay(deadline)
    if (delay !== Number.POSITIVE_INFINITY) this.#timer = setTimeout(onDeadline, delay, this)
  }

  /** Whether the request, or a part of it, may have been sent. */
  get hasBegun(): boolean {
    return this.#controller !== null && this.#controller.connection !== null
  }

  get #hasDeadline(): boolean {
    return this.#deadline !== Number.POSITIVE_INFINITY
  }

  // Called by grpc-js.

  setCredentials(credentials: CallCredentials): void {
    this.#credentials = credentials
  }

  getCallNumber(): number {
    return this.#number
  }

  getPeer(): string {
    const { remoteAddress, remotePort } = this.#controller?.transport ?? {}
    if (remoteAddress === undefined || remoteAddress === null) return this.#owner.target
    return remoteAddress.includes(':') ? `[${remoteAddress}]:${remotePort}` : `${remoteAddress}:${remotePort}`
  }

  getAuthContext(): object | null {
    const transport = this.#controller?.transport
    if (transport === undefined || transport === null) return null
    if (transport.tls?.authorized !== true) return {}
    return { transportSecurityType: 'ssl', sslPeerCertificate: transport.tls.peerCertificate }
  }

  start(metadata: Metadata, listener: CallListener): void {
    this.#listener = listener
    if (this.#status !== null) {
      this.#tell()
      return
    }
    if (!this.#owner.admit(this)) {
      this.onChannelClosed()
      return
    }
    this.#metadata = toMetadataFields(metadata, this.#hasDeadline)
    this.isWaitingForReady = metadata.getOptions().waitForReady === true
    const credentials = this.#settings.toCredentials(this.#credentials)
    if (credentials === null) {
      this.#prepare()
      return
    }
    this.#wait = 'credentials'
    this.#generate(credentials).then(
      (added) => this.#onCredentials(added),
      (error) => this.#end(toCredentialsOutcome(error)),
    )
  }

  sendMessageWithContext(context: { callback?: WriteCallback; flags?: number }, message: Buffer): void {
    const { maxSent } = this.#settings
    if (maxSent !== -1 && message.length > maxSent && this.#status === null) {
      const details = `Attempted to send message with a size larger than ${maxSent}`
      this.cancelWithStatus(Status.RESOURCE_EXHAUSTED, details)
    }
    const mayCompress = ((context.flags ?? 0) & NO_COMPRESS) === 0
    this.#outgoing.send(message, context.callback, mayCompress)
  }

  halfClose(): void {
    this.#outgoing.end()
  }

  startRead(): void {
    this.#incoming.want()
  }

  cancelWithStatus(code: number, details: string): void {
    this.#end({ code, details })
  }

  // Called by the channel.

  onReady(): void {
    if (this.#wait === 'ready') this.#awaitTick()
  }

  /** No address can be reached. If there are any, the call meets their failure itself. */
  onUnreachable(): void {
    if (this.#wait !== 'ready') return
    const { unresolved } = this.#settings.connections
    if (unresolved === null) {
      this.#awaitTick()
      return
    }
    const details = `Name resolution failed for target ${this.#owner.target}: ${unresolved.message}`
    this.#end({ code: Status.UNAVAILABLE, details })
  }

  onChannelClosed(): void {
    if (!this.hasBegun) this.cancelWithStatus(Status.UNAVAILABLE, 'Channel closed before call started')
  }

  onDeadline(): void {
    this.#timer = null
    const seconds = ((Date.now() - this.#startedAt) / 1_000).toFixed(3)
    const waited: Readonly<Record<Wait, string>> = {
      start: 'not started',
      credentials: 'waiting for credentials',
      ready: this.isWaitingForReady ? 'wait_for_ready' : 'waiting for a connection',
      tick: 'waiting for messages',
      none: this.hasBegun ? `remote_addr=${this.getPeer()}` : 'waiting for a connection',
    }
    const details = `Deadline exceeded after ${seconds}s,${waited[this.#wait]}`
    this.cancelWithStatus(Status.DEADLINE_EXCEEDED, details)
  }

  // Before the request.

  /** In a separate promise, because a plugin may throw at once. */
  async #generate(credentials: CallCredentials): Promise<Metadata> {
    const host = splitHostPort(this.#authority)?.host ?? 'localhost'
    const service = this.#method.split('/')[1] ?? ''
    return credentials.generateMetadata({
      method_name: this.#method,
      service_url: `https://${host}/${service}`,
    })
  }

  #onCredentials(added: Metadata): void {
    if (this.#wait !== 'credentials') return
    this.#metadata.push(...toMetadataFields(added, this.#hasDeadline))
    const isDouble = this.#metadata.filter((name, at) => at % 2 === 0 && name === 'authorization').length > 1
    if (isDouble)
      this.#end({ code: Status.INTERNAL, details: '"authorization" metadata cannot have multiple values' })
    else this.#prepare()
  }

  #prepare(): void {
    if (!this.#owner.isReady && this.#mustWait) {
      this.#wait = 'ready'
      this.#owner.awaitReady(this)
    } else {
      this.#awaitTick()
    }
  }

  /** Whether a call that finds no connection waits. */
  get #mustWait(): boolean {
    if (this.isWaitingForReady) return true
    return this.#settings.connections.isChosenByCalls && !this.#owner.isUnreachable
  }

  #awaitTick(): void {
    this.#wait = 'tick'
    if (this.#outgoing.isWhole) this.#dispatch()
    else process.nextTick(beginStream, this)
  }

  onWhole(): void {
    if (this.#wait === 'tick') this.#dispatch()
  }

  onTick(): void {
    if (this.#wait === 'tick') this.#dispatch()
  }

  onCompressionFailed(error: Error): void {
    this.#end({ code: Status.INTERNAL, details: `Failed to compress a message: ${error.message}` })
  }

  #dispatch(): void {
    this.#wait = 'none'
    const settings = this.#settings
    const headers = settings.toFields(this.#authority, this.#outgoing.encoding)
    if (this.#hasDeadline) {
      const timeout = toTimeoutField(this.#deadline)
      if (timeout !== null) headers.push('grpc-timeout', timeout)
    }
    headers.push(...this.#metadata)
    this.#owner.onSending()
    // The channel's state has changed: a watcher may have cancelled the call.
    if (this.#status !== null) return
    const body = this.#outgoing.open()
    settings.connections.dispatch({ path: this.#method, method: 'POST', headers, body }, this)
  }

  // Called by Dodici.

  onRequestStart(controller: DispatchController): void {
    this.#controller = controller
  }

  onResponseStart(controller: DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    if (statusCode < 200 || this.#isOver) return
    this.#httpStatus = statusCode
    this.#header = headers
    if (controller.isHeaderOnly === true) return
    const { Metadata } = this.#settings
    const metadata = Metadata.fromHttp2Headers(headers)
    const encoding = headers['grpc-encoding']
    if (typeof encoding === 'string') {
      this.#incoming.encoding = encoding
      metadata.remove('grpc-encoding')
    }
    const accepted = headers['grpc-accept-encoding']
    if (typeof accepted === 'string') {
      this.#settings.learnEncodings(accepted)
      metadata.remove('grpc-accept-encoding')
    }
    try {
      this.#listener?.onReceiveMetadata(metadata)
    } catch (thrown) {
      throwLater(thrown)
    }
  }

  onResponseData(_controller: DispatchController, chunk: Buffer): void {
    // A proxy's error page contains no messages.
    if (!this.#isOver && this.#httpStatus === 200) this.#incoming.write(chunk)
  }

  onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#isOver) return
    this.#isOver = true
    const fields = controller.isHeaderOnly === true ? (this.#header ?? trailers) : trailers
    const outcome = this.#toOutcome(fields)
    this.#settle(outcome, this.#toStatusMetadata(fields), true)
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#httpStatus !== 200) {
      this.#end(toHttpOutcome(this.#httpStatus))
      return
    }
    const outcome = toFailureOutcome(error)
    // A server that reaches the deadline first may reset the stream.
    const isLate = outcome.code === Status.CANCELLED && Date.now() >= this.#deadline
    this.#settle(isLate ? { ...outcome, code: Status.DEADLINE_EXCEEDED } : outcome, null, true)
  }

  #toOutcome(fields: IncomingHttpHeaders): Outcome {
    const outcome = toFieldsOutcome(fields) ?? toFieldsOutcome(this.#header ?? {})
    if (outcome === null) {
      if (this.#httpStatus !== 200) return toHttpOutcome(this.#httpStatus)
      return Object.keys(fields).length === 0 ? NO_STATUS : toHttpOutcome(200)
    }
    if (outcome.code !== Status.OK || !this.#incoming.isWithinMessage) return outcome
    return { code: Status.INTERNAL, details: 'The response ended within a message' }
  }

  #toStatusMetadata(fields: IncomingHttpHeaders): Metadata {
    const { Metadata } = this.#settings
    // The usual trailers.
    if (hasOnlyStatus(fields)) return new Metadata()
    const metadata = Metadata.fromHttp2Headers(fields)
    for (const name of ['grpc-status', 'grpc-message', 'grpc-encoding', 'grpc-accept-encoding'])
      if (Object.hasOwn(fields, name)) metadata.remove(name)
    return metadata
  }

  // About its messages.

  deliver(message: Buffer): void {
    try {
      this.#listener?.onReceiveMessage(message)
    } catch (thrown) {
      throwLater(thrown)
    }
  }

  onBadMessage(outcome: Outcome): void {
    this.#end(outcome)
  }

  hold(): void {
    this.#controller?.pause()
  }

  flow(): void {
    this.#controller?.resume()
  }

  onDrained(): void {
    if (this.#status !== null) this.#tell()
  }

  // Its end.

  /** Ends the call, unless the listener is about to be told another end. */
  #end(outcome: Outcome): void {
    this.#settle(outcome, null, false)
  }

  /** @param isByPeer the response, or its stream, has ended: messages that came before may still be read */
  #settle({ code, details }: Outcome, metadata: Metadata | null, isByPeer: boolean): void {
    if (this.#isTelling || (this.#status !== null && this.#status.code !== Status.OK)) return
    this.#status = { code, details, metadata: metadata ?? new this.#settings.Metadata() }
    this.#wait = 'none'
    if (!this.#isOver) {
      this.#isOver = true
      this.#controller?.abort()
    }
    this.#outgoing.stop()
    const mayRead = code === Status.OK || isByPeer
    if (!mayRead) this.#incoming.stop()
    if (!mayRead || this.#incoming.isDrained) this.#tell()
    else if (code !== Status.OK) this.#linger()
  }

  /** A caller that reads on gets the messages before the failure; one that doesn't isn't waited for. */
  #linger(): void {
    setImmediate(goOn, this, this.#incoming.delivered)
  }

  /** @param delivered how many messages the caller had one turn of the event loop ago */
  static goOn(call: GrpcCall, delivered: number): void {
    if (call.#isTelling) return
    if (call.#incoming.delivered > delivered || call.#incoming.isInflating) {
      call.#linger()
      return
    }
    call.#incoming.stop()
    call.#tell()
  }

  /** In a later tick: an error that the listener throws must not reach Dodici's callers. */
  #tell(): void {
    if (this.#listener === null || this.#isTelling) return
    this.#isTelling = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#onParentCancelled !== null) this.#parent?.off?.('cancelled', this.#onParentCancelled)
    this.#parent = null
    this.#owner.onEnded(this)
    process.nextTick(tellStatus, this)
  }

  static tellStatus(call: GrpcCall): void {
    if (call.#status !== null) call.#listener?.onReceiveStatus(call.#status)
  }
}

function hasOnlyStatus(fields: IncomingHttpHeaders): boolean {
  for (const name in fields) if (name !== 'grpc-status' && name !== 'grpc-message') return false
  return true
}

function beginStream(call: GrpcCall): void {
  call.onTick()
}

function onDeadline(call: GrpcCall): void {
  call.onDeadline()
}

function goOn(call: GrpcCall, delivered: number): void {
  GrpcCall.goOn(call, delivered)
}

function tellStatus(call: GrpcCall): void {
  GrpcCall.tellStatus(call)
}

/** What a listener throws is its own error: it must not look like the call's failure. */
function throwLater(thrown: unknown): void {
  process.nextTick(rethrow, thrown)
}

function rethrow(thrown: unknown): never {
  throw thrown
}
