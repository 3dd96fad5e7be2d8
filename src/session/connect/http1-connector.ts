/**
 * Connections for HTTP/1.1, which somebody else speaks, made with the options by which ours are made.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type {
  Connector,
  ConnectorCallback,
  ConnectorOptions,
  ConnectTlsOptions,
} from '../../../types/client.ts'
import type { Alarm } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import type { ResolvedClientOptions } from '../../core/options.ts'
import { originalNextTick } from '../../core/original-timers.ts'
import { invalid } from '../../core/validate.ts'
import { AlpnError, ConnectTimeoutError, toError } from '../../errors.ts'
import { askConnector } from './connector.ts'
import { isSocket, openSocket, tuneSocket } from './socket.ts'

/** HTTP/2 isn't offered: its server would get HTTP/1.1. */
const HTTP1 = ['http/1.1']

/** A connector of undici's kind: it calls back once, in any case. */
export function toHttp1Connector({ connect, socketPath, connectTimeout }: ResolvedClientOptions): Connector {
  return (asked: ConnectorOptions, callback: ConnectorCallback): void => {
    const attempt = new Http1Attempt(asked, connect, connectTimeout, callback)
    if (typeof connect === 'function') {
      const options = { ...asked, socketPath, ALPNProtocols: HTTP1, allowH2: false }
      askConnector(
        connect,
        options,
        (socket) => attempt.onSocket(socket),
        (error) => attempt.onError(error),
      )
      return
    }
    const { hostname, protocol, port } = asked
    const isTls = protocol === 'https:'
    const where = { hostname, port: port === '' ? (isTls ? 443 : 80) : Number(port), isTls, socketPath }
    try {
      const socket = openSocket(where, { ...connect, servername: asked.servername ?? hostname }, HTTP1)
      socket.once(isTls ? 'secureConnect' : 'connect', () => attempt.onSocket(socket))
      // It stays: an error of a socket that nobody has taken must not be an unhandled one.
      socket.on('error', (error) => attempt.onError(error))
      attempt.onLate = () => socket.destroy()
    } catch (thrown) {
      originalNextTick(() => attempt.onError(thrown))
    }
  }
}

/** One connection on its way. */
class Http1Attempt {
  /** Lets go of what may still come. */
  onLate: () => void = () => {}
  readonly #asked: ConnectorOptions
  readonly #connect: Connector | ConnectTlsOptions
  readonly #callback: ConnectorCallback
  /** Null without a `connectTimeout`. */
  readonly #alarm: Alarm | null
  #isOver = false

  constructor(
    asked: ConnectorOptions,
    connect: Connector | ConnectTlsOptions,
    connectTimeout: number,
    callback: ConnectorCallback,
  ) {
    this.#asked = asked
    this.#connect = connect
    this.#callback = callback
    this.#alarm =
      connectTimeout === 0 ? null : systemClock.after(connectTimeout, () => this.#onTimeout(connectTimeout))
  }

  onSocket(socket: unknown): void {
    if (!isSocket(socket)) {
      this.onError(invalid('connect', socket, 'a function that yields a socket'))
    } else if (this.#isOver || socket.destroyed) {
      socket.on('error', ignore).destroy()
      this.onError(invalid('connect', 'a destroyed socket', 'a function that yields an open socket'))
    } else if ('alpnProtocol' in socket && socket.alpnProtocol === 'h2') {
      socket.on('error', ignore).destroy()
      const message = `${this.#asked.host} is to be spoken to in HTTP/1.1, and the connect function has offered it HTTP/2`
      this.onError(Object.assign(new AlpnError(message), { alpnProtocol: 'h2' }))
    } else {
      this.#hand(socket)
    }
  }

  #hand(socket: Socket): void {
    try {
      tuneSocket(socket, this.#connect)
    } catch (thrown) {
      // Not a socket after all: a connector may yield anything.
      socket.on('error', ignore).destroy()
      this.onError(thrown)
      return
    }
    this.#settle(null, socket)
  }

  onError(error: unknown): void {
    if (!this.#isOver) this.#settle(toError(error), null)
  }

  #onTimeout(connectTimeout: number): void {
    const message = `Could not connect to ${this.#asked.host} within connectTimeout (${connectTimeout} ms)`
    this.onError(new ConnectTimeoutError(message))
    this.onLate()
  }

  #settle(error: Error | null, socket: Socket | null): void {
    this.#isOver = true
    this.#alarm?.cancel()
    this.#callback(error, socket)
  }
}

function ignore(): void {}
