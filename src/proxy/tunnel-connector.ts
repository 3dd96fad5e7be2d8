/**
 * A connect function whose sockets lead through a proxy.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Connector, ConnectorOptions, ConnectTlsOptions } from '../../types/client.ts'
import type { Clock } from '../core/clock.ts'
import { toError } from '../errors/errors.ts'
import { openSocket, toSecureContext } from '../session/connect/socket.ts'
import { TlsTicket } from '../session/tls-ticket.ts'
import type { Tunnels } from './tunnels.ts'
import { toTunnelTarget } from './tunnels.ts'

/** How many tickets are kept: one for each origin, protocol and server name. */
const MAX_TICKETS = 100

/** The last TLS session tickets of the servers behind one proxy. */
class Tickets {
  readonly #tickets = new Map<string, TlsTicket>()
  readonly #clock: Pick<Clock, 'now'>

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  of(key: string): TlsTicket {
    const ticket = this.#tickets.get(key) ?? new TlsTicket(this.#clock)
    // The one that was asked for last comes last.
    this.#tickets.delete(key)
    this.#tickets.set(key, ticket)
    const [oldest] = this.#tickets.keys()
    if (this.#tickets.size > MAX_TICKETS && oldest !== undefined) this.#tickets.delete(oldest)
    return ticket
  }
}

/**
 * Each connection is a separate tunnel, with TLS inside it for an `https:` origin.
 *
 * @param requestTls the caller's options for TLS with the origin
 */
export function toTunnelConnector(
  tunnels: Tunnels,
  requestTls: ConnectTlsOptions,
  clock: Pick<Clock, 'now'>,
): Connector {
  const tickets = new Tickets(clock)
  return (asked, callback) => {
    const isTls = asked.protocol === 'https:'
    const port = asked.port === '' ? (isTls ? 443 : 80) : Number(asked.port)
    // Others may call it without a signal. None is made beforehand: on Node 20 that replaces a global of node's.
    const signal = asked.signal ?? new AbortController().signal
    tunnels.open(toTunnelTarget(asked.hostname, port), signal, (result) => {
      if ('error' in result) {
        callback(result.error)
        return
      }
      const { tunnel } = result
      try {
        callback(null, isTls ? secure(tunnel, asked, port, requestTls, tickets) : toPlain(tunnel))
      } catch (thrown) {
        tunnel.destroy()
        callback(toError(thrown))
      }
    })
  }
}

/** undici's WebSocket takes a socket with a `session` for an HTTP/2 stream, and its 101 for a refusal. */
function toPlain(tunnel: Duplex): Socket {
  if ('session' in tunnel) Object.defineProperty(tunnel, 'session', { value: undefined })
  return tunnel as Socket
}

function secure(
  tunnel: Duplex,
  asked: ConnectorOptions,
  port: number,
  requestTls: ConnectTlsOptions,
  tickets: Tickets,
): Socket {
  const { hostname, ALPNProtocols = ['http/1.1'] } = asked
  // A request may name a server of its own. Otherwise the name is that of the options, or the origin's host.
  const isNamed = asked.servername !== undefined && asked.servername !== hostname
  const servername = (isNamed ? asked.servername : requestTls.servername) ?? hostname
  const ticket = tickets.of(`${servername} ${hostname}:${port} ${ALPNProtocols.join()}`)
  const secureContext = toSecureContext(requestTls.secureContext)
  const session = requestTls.session ?? ticket.get(secureContext)
  const target = { hostname, port, isTls: true, socketPath: null, over: tunnel }
  const socket = openSocket(
    target,
    { ...requestTls, servername, session, secureContext },
    ALPNProtocols,
  ) as TLSSocket
  ticket.watch(socket, secureContext)
  const forget = (): void => ticket.clear()
  socket.once('error', forget)
  socket.once('secureConnect', () => socket.off('error', forget))
  return withRef(socket, tunnel)
}

/** TLS over a Duplex has no handle that could keep the process alive, but the tunnel's session has one. */
function withRef(socket: TLSSocket, tunnel: Duplex & Partial<Pick<Socket, 'ref' | 'unref'>>): Socket {
  if ('remoteAddress' in tunnel) return socket
  const ref = (): Socket => {
    tunnel.ref?.()
    return socket
  }
  const unref = (): Socket => {
    tunnel.unref?.()
    return socket
  }
  return Object.assign(socket, { ref, unref })
}
