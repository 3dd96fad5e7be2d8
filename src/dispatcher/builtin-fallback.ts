/**
 * The default fallback: a dispatcher of the kind that is built into the running Node.
 *
 * @module
 */

import type { Socket } from 'node:net'
import { isIP } from 'node:net'
import type {
  Connector,
  ConnectorCallback,
  ConnectorOptions,
  FallbackDispatcher,
} from '../../types/client.ts'
import type { AnyDispatchHandler } from '../../types/handler.ts'
import type { DispatchOptions } from '../../types/request.ts'
import { systemClock } from '../core/clock.ts'
import type { ResolvedClientOptions } from '../core/options.ts'
import { toOrigin } from '../core/options.ts'
import { invalid } from '../core/validate.ts'
import { ConnectTimeoutError, NotSupportedError, toError } from '../errors.ts'
import { askConnector, isSocket } from '../session/connector.ts'
import type { BuiltinAgent, BuiltinAgentClass } from './builtin.ts'
import { findBuiltinClass, peekBuiltinClass } from './builtin.ts'

/** Made on first use, with the options by which our own connections are made. */
export class BuiltinFallback implements FallbackDispatcher {
  readonly #options: ResolvedClientOptions
  /** As it was when this was made: somebody may put a dispatcher of ours in its place. Null where nobody has used it yet. */
  readonly #seen: BuiltinAgentClass | null
  #agent: BuiltinAgent | null = null
  #isDestroyed = false

  constructor(options: ResolvedClientOptions) {
    this.#options = options
    this.#seen = peekBuiltinClass()
  }

  /** @throws NotSupportedError where none can be made that connects as we do */
  dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean {
    this.#agent ??= this.#make()
    const servername = options.servername ?? this.#toServername(options)
    return this.#agent.dispatch({ ...options, servername }, handler)
  }

  /** Settles when its connections are gone. */
  async destroy(error: Error | null): Promise<void> {
    if (this.#isDestroyed) return
    this.#isDestroyed = true
    await this.#agent?.destroy(error)
  }

  /** The name that our own connections ask for; undici would take that of a `host` field. Null: that of the origin. */
  #toServername({ origin }: DispatchOptions): string | null {
    const { scheme, hostname } = toOrigin(origin)
    if (scheme === 'http') return null
    const { connect } = this.#options
    const given = typeof connect === 'function' ? undefined : connect.servername
    return given ?? (isIP(hostname) === 0 ? hostname : null)
  }

  #make(): BuiltinAgent {
    const { connect, socketPath, connectTimeout, limits } = this.#options
    const agentClass = this.#seen ?? findBuiltinClass()
    if (agentClass === null) {
      throw new NotSupportedError(
        "HTTP/1.1 is needed, and Node's own dispatcher, which would serve it, was replaced before anybody used it: " +
          'set the fallback option, or let install() replace it',
      )
    }
    const isProxy = agentClass.name !== 'Agent'
    if (isProxy && (typeof connect === 'function' || socketPath !== null || connect.lookup !== undefined)) {
      throw new NotSupportedError(
        `HTTP/1.1 is needed, and Node's own dispatcher, which would serve it, is an ${agentClass.name}, ` +
          'which would not connect by the connect function, lookup or socketPath that was given: set the fallback option',
      )
    }
    const tls =
      typeof connect === 'function' ? toCallingBack(connect, socketPath, connectTimeout) : { ...connect }
    return new agentClass({
      connect: tls,
      // Behind a proxy these are for the origin, and the proxy has its own.
      ...(isProxy ? { requestTls: tls } : {}),
      ...(socketPath === null ? {} : { socketPath }),
      // An option of its own there, which would win over that of `connect`.
      ...('localAddress' in tls ? { localAddress: tls.localAddress } : {}),
      connectTimeout,
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: limits.maxHeaderSize,
    })
  }
}

/** undici's dispatchers ask for one callback, believe what it yields, wait for it without a limit, and hear of no path. */
function toCallingBack(connector: Connector, socketPath: string | null, connectTimeout: number): Connector {
  return (options: ConnectorOptions, callback: ConnectorCallback): void => {
    let isOver = false
    const settle = (error: Error | null, socket: Socket | null): void => {
      if (isOver) {
        socket?.on('error', ignore).destroy()
        return
      }
      isOver = true
      alarm?.cancel()
      callback(error, socket)
    }
    const onTimeout = (): void => {
      const message = `The connect function yielded no socket within connectTimeout (${connectTimeout} ms)`
      settle(new ConnectTimeoutError(message), null)
    }
    const alarm = connectTimeout === 0 ? null : systemClock.after(connectTimeout, onTimeout)
    const onSocket = (socket: unknown): void => {
      if (isSocket(socket) && !socket.destroyed) settle(null, socket)
      else settle(invalid('connect', socket, 'a function that yields an open socket'), null)
    }
    askConnector(connector, { ...options, socketPath }, onSocket, (error) => settle(toError(error), null))
  }
}

/** It came too late to be of use. */
function ignore(): void {}
