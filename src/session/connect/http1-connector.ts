/**
 * Makes connections for the fallback, which speaks HTTP/1.1, with the options of our own connections.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { Connector, ConnectorCallback, ConnectorOptions } from '../../../types/client.ts'
import type { Clock } from '../../core/clock.ts'
import { AlpnError, toError } from '../../errors.ts'
import type { DialListener } from './dial.ts'
import type { DialerOptions, DialTarget } from './dialer.ts'
import { Dialer } from './dialer.ts'
import { discardSocket, tuneSocket } from './socket.ts'

/** HTTP/2 isn't offered: the fallback would speak HTTP/1.1 to the server all the same. */
const HTTP1 = ['http/1.1']

/** A connector of undici's kind: it calls back once, in any case, and never from within. */
export function toHttp1Connector(options: DialerOptions, clock: Clock): Connector {
  const dialer = new Dialer(options, clock)
  return (asked: ConnectorOptions, callback: ConnectorCallback): void => {
    const name = asked.host ?? asked.hostname
    dialer.dial(toTarget(asked, name), new Http1Attempt(name, options.connect, callback))
  }
}

function toTarget(asked: ConnectorOptions, name: string): DialTarget {
  const { hostname, protocol } = asked
  const port = asked.port === '' ? (protocol === 'https:' ? 443 : 80) : Number(asked.port)
  // undici may say null.
  return { name, asked, port, alpnProtocols: HTTP1, tls: { servername: asked.servername ?? hostname } }
}

/** One connection on its way. */
class Http1Attempt implements DialListener {
  readonly #name: string
  readonly #connect: DialerOptions['connect']
  readonly #callback: ConnectorCallback

  constructor(name: string, connect: DialerOptions['connect'], callback: ConnectorCallback) {
    this.#name = name
    this.#connect = connect
    this.#callback = callback
  }

  toRefusal(socket: Socket): Error | null {
    if (!('alpnProtocol' in socket) || socket.alpnProtocol !== 'h2') return null
    const message = `${this.#name} is to be spoken to in HTTP/1.1, and the connect function has offered it HTTP/2`
    return Object.assign(new AlpnError(message), { alpnProtocol: 'h2' })
  }

  onConnected(socket: Socket): void {
    try {
      tuneSocket(socket, this.#connect)
    } catch (thrown) {
      // Not a socket after all: a connector may yield anything.
      discardSocket(socket)
      this.onFailed(thrown)
      return
    }
    this.#callback(null, socket)
  }

  onFailed(cause: unknown): void {
    this.#callback(toError(cause), null)
  }
}
