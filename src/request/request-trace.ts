/**
 * A request as subscribers of diagnostics channels see it, and as `NODE_DEBUG=dodici` shows it.
 *
 * @module
 */

import type { RetryReason } from '../../types/channels.ts'
import type { ConnectionInfo } from '../../types/connection.ts'
import { requestLog, toLogged } from '../core/debug-log.ts'
import { callChannels, requestChannels } from '../core/diagnostics.ts'
import { withoutSecrets } from '../core/validate.ts'
import { DodiciError, NotSupportedError } from '../errors/errors.ts'
import type { HeaderTarget } from './headers.ts'
import { addHeaders } from './headers.ts'

/** What a trace needs from its request. */
export interface TracedRequest extends HeaderTarget {
  readonly origin: { readonly href: string }
  readonly method: string
  readonly path: string
}

/**
 * - `held`: it isn't known yet whether HTTP/2 will serve the request
 * - `announced`: subscribers know about it
 * - `withdrawn`: the fallback serves it, and tells subscribers about it
 */
type TraceState = 'held' | 'announced' | 'withdrawn'

/** Numbers the requests in the log. */
let traced = 0

/** One object for a request's whole life, over all its attempts: instrumentation uses it as a key. */
export class RequestTrace {
  /** As from `URL.origin`. */
  readonly origin: string
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Whether the response has ended. */
  completed = false
  /** Whether the call has failed. */
  aborted = false
  readonly #request: TracedRequest
  /** How many entries `wire` had before subscribers added any. */
  #fields = 0
  #headerSize = 0
  #state: TraceState = 'held'
  readonly #number = ++traced
  /** Why the call is about to be sent again; null if it isn't. */
  #retry: { readonly reason: RetryReason; readonly error: Error | null } | null = null

  constructor(request: TracedRequest) {
    this.origin = request.origin.href
    this.method = request.method
    this.path = request.path
    this.#request = request
  }

  get isAnnounced(): boolean {
    return this.#state === 'announced'
  }

  /** Publishes the request, once, before it is sent or fails. In its caller's context, which has the current span. */
  announce(): void {
    if (this.#state !== 'held') return
    this.#state = 'announced'
    this.#fields = this.#request.wire.length
    this.#headerSize = this.#request.headerSize
    if (requestChannels.create.hasSubscribers) requestChannels.create.publish({ request: this })
  }

  /**
   * The fallback serves the request, with its own trace.
   *
   * @param error why the published attempts have failed; null for no special reason
   */
  withdraw(error: Error | null): void {
    if (this.#state === 'announced') {
      if (requestChannels.error.hasSubscribers) {
        const reason = error ?? new NotSupportedError(`${this.origin} serves this request over HTTP/1.1`)
        requestChannels.error.publish({ request: this, error: reason })
      }
      // The fields that subscribers added belong to the failed attempts. Subscribers can add new ones.
      this.#request.wire.length = this.#fields
      this.#request.headerSize = this.#headerSize
    }
    this.#state = 'withdrawn'
  }

  /** The fallback can't serve the request after all. */
  hold(): void {
    if (this.#state === 'withdrawn') this.#state = 'held'
  }

  /** The request has to wait for a connection, or for room on one. */
  queued(): void {
    if (callChannels.queued.hasSubscribers) callChannels.queued.publish({ request: this })
    this.#log('queued')
  }

  /** An attempt was sent. */
  sent(connection: ConnectionInfo): void {
    if (callChannels.attempt.hasSubscribers) callChannels.attempt.publish({ request: this, connection })
    if (requestLog === null) return
    const { attempts } = connection
    this.#log(`sent ${toWay(connection)}${attempts > 1 ? `, attempt ${attempts}` : ''}`)
  }

  /** Notes why another attempt will follow. {@link retried} reports it. @param error null after a 421 */
  noteRetry(reason: RetryReason, error: Error | null): void {
    this.#retry = { reason, error }
  }

  /** Another attempt will follow. */
  retried(connection: ConnectionInfo | null): void {
    if (this.#retry === null) return
    const { reason, error } = this.#retry
    this.#retry = null
    if (callChannels.retry.hasSubscribers)
      callChannels.retry.publish({ request: this, connection, reason, error })
    if (requestLog === null) return
    const why = error === null ? 'status 421' : toLogged(error)
    this.#log(`again, ${reason}, after attempt ${connection?.attempts ?? 0}: ${why}`)
  }

  /** The header section of the final response has arrived. */
  responded(connection: ConnectionInfo | null, statusCode: number): void {
    if (callChannels.response.hasSubscribers)
      callChannels.response.publish({ request: this, connection, statusCode })
    this.#log(`status ${statusCode}`)
  }

  /** The call has ended. @param error null if the response is complete */
  ended(connection: ConnectionInfo | null, error: Error | null): void {
    if (callChannels.end.hasSubscribers) callChannels.end.publish({ request: this, connection, error })
    if (requestLog === null) return
    const processed = error instanceof DodiciError ? `, processed: ${error.processed}` : ''
    const attempts = connection === null ? '' : `, attempts: ${connection.attempts}`
    this.#log(error === null ? 'complete' : `failed, ${toLogged(error)}${processed}${attempts}`)
  }

  #log(what: string): void {
    if (requestLog === null) return
    // The path of a CONNECT is the authority that the tunnel leads to.
    const target = this.path.startsWith('/') ? this.origin : `${this.origin} `
    requestLog(`request ${this.#number} ${this.method} ${target}${withoutSecrets(this.path)}: ${what}`)
  }

  /** The fields that are sent, as a flat list. Credentials for a proxy are omitted: they aren't the caller's. */
  get headers(): string[] {
    const { wire } = this.#request
    return wire.filter((_, index) => {
      const name = wire[index - (index % 2)]
      return name?.startsWith(':') === false && name !== 'proxy-authorization'
    })
  }

  /**
   * Adds a field, such as `traceparent`, to what is sent from now on.
   *
   * @throws InvalidArgumentError if it isn't a valid field
   */
  addHeader(name: string, value: string): this {
    addHeaders(this.#request, [name, value])
    return this
  }
}

/** What carries an attempt, as a log line shows it. */
function toWay({ protocol, sessionId, streamId }: ConnectionInfo): string {
  return sessionId === null
    ? `over ${protocol}`
    : `on session ${sessionId}, stream ${streamId ?? '?'}, ${protocol}`
}
