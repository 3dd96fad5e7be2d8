/**
 * Opens connections for the fallback, which speaks HTTP/1.1, with the options of Dodici's own connections.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { Connector, ConnectorCallback, ConnectorOptions } from '../../../types/client.ts'
import type { Clock } from '../../core/clock.ts'
import { originalNextTick } from '../../core/original-timers.ts'
import { AlpnError, toError } from '../../errors/errors.ts'
import type { DialListener } from './dial.ts'
import type { DialerOptions, DialTarget } from './dialer.ts'
import { Dialer } from './dialer.ts'
import { destroySocket, tuneSocket } from './socket.ts'
import type { Http2Taker, SocketExchange } from './socket-exchange.ts'

/**
 * HTTP/2 isn't offered if no session would take the connection: the fallback would speak HTTP/1.1 to the server all
 * the same.
 */
const HTTP1 = ['http/1.1']
const EITHER_PROTOCOL = ['h2', 'http/1.1']

/**
 * Creates a connector like undici's: it calls back once, in any case, and never during the call.
 *
 * @param exchange belongs to the origin's sessions, and may provide the first connection; null for none
 */
export function toHttp1Connector(
  options: DialerOptions,
  clock: Clock,
  exchange: SocketExchange | null = null,
): Connector {
  const dialer = new Dialer(options, clock)
  return (asked: ConnectorOptions, callback: ConnectorCallback): void => {
    const name = asked.host ?? asked.hostname
    const { connect } = options
    const taker = exchange?.find() ?? null
    const target = toTarget(asked, name, taker === null ? HTTP1 : EITHER_PROTOCOL)
    const attempt =
      taker === null || exchange === null
        ? new Http1Attempt(name, connect, callback)
        : new EitherAttempt(name, connect, callback, exchange, taker)
    const spare = exchange?.takeHttp1() ?? null
    if (spare === null) dialer.dial(target, attempt)
    else
      originalNextTick(() => {
        if (spare.destroyed) dialer.dial(target, attempt)
        else attempt.onConnected(spare)
      })
  }
}

function toTarget(asked: ConnectorOptions, name: string, alpnProtocols: string[]): DialTarget {
  const { hostname, protocol } = asked
  const port = asked.port === '' ? (protocol === 'https:' ? 443 : 80) : Number(asked.port)
  // undici may say null.
  return { name, asked, port, alpnProtocols, tls: { servername: asked.servername ?? hostname } }
}

function isOfHttp2(socket: Socket): boolean {
  return 'alpnProtocol' in socket && socket.alpnProtocol === 'h2'
}

/** A connection that is being opened. */
class Http1Attempt implements DialListener {
  protected readonly name: string
  readonly #connect: DialerOptions['connect']
  readonly #callback: ConnectorCallback

  constructor(name: string, connect: DialerOptions['connect'], callback: ConnectorCallback) {
    this.name = name
    this.#connect = connect
    this.#callback = callback
  }

  toRefusal(socket: Socket): Error | null {
    if (!isOfHttp2(socket)) return null
    const message = `${this.name} needs HTTP/1.1, but the connect function offered it HTTP/2`
    return Object.assign(new AlpnError(message), { alpnProtocol: 'h2' })
  }

  onConnected(socket: Socket): void {
    try {
      tuneSocket(socket, this.#connect)
    } catch (thrown) {
      // Not a socket after all: a connector may yield anything.
      destroySocket(socket)
      this.onFailed(thrown)
      return
    }
    this.#callback(null, socket)
  }

  onFailed(cause: unknown): void {
    this.#callback(toError(cause), null)
  }
}

/** A connection that is being opened and may choose HTTP/2. */
class EitherAttempt extends Http1Attempt {
  readonly #exchange: SocketExchange
  readonly #taker: Http2Taker

  constructor(
    name: string,
    connect: DialerOptions['connect'],
    callback: ConnectorCallback,
    exchange: SocketExchange,
    taker: Http2Taker,
  ) {
    super(name, connect, callback)
    this.#exchange = exchange
    this.#taker = taker
  }

  override toRefusal(): null {
    return null
  }

  override onConnected(socket: Socket): void {
    if (!isOfHttp2(socket)) {
      this.#taker.onHttp1Chosen()
      super.onConnected(socket)
      return
    }
    const error = new AlpnError(`${this.name} now speaks HTTP/2: it chose 'h2' in ALPN`)
    error.alpnProtocol = 'h2'
    this.#exchange.noteTaken(error)
    try {
      this.#taker.takeHttp2(socket)
    } finally {
      // A listener of `connect` may have thrown: the fallback would wait for this connection for ever.
      this.onFailed(error)
    }
  }
}
