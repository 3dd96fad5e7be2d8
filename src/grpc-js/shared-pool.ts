/**
 * The connections shared by one factory's channels with equal targets, credentials and options.
 *
 * @module
 */

import type { CallCredentials, ChannelOptions } from '@grpc/grpc-js'
import type { PoolOptions } from '../index.ts'
import { BalancedConnections } from './balanced-connections.ts'
import type { Connections } from './connections.ts'
import { PooledConnections } from './connections.ts'
import { toBackoff } from './connectivity.ts'
import type { ChannelFactoryOptions } from './declarations.ts'
import type { Connector } from './dial.ts'
import { toConnector } from './dial.ts'
import type { Credentials, SecureConnector } from './grpc.ts'
import { toProxy } from './proxy.ts'
import type { Policy } from './service-config.ts'
import type { HostPort, Target } from './target.ts'

/** Channel options that affect only the channel, not its connections. */
const OF_CHANNELS: ReadonlySet<string> = new Set([
  'grpc.default_authority',
  'grpc.default_compression_algorithm',
  'grpc.enable_channelz',
  'grpc.enable_retries',
  'grpc.initial_reconnect_backoff_ms',
  'grpc.max_receive_message_length',
  'grpc.max_reconnect_backoff_ms',
  'grpc.max_send_message_length',
  'grpc.primary_user_agent',
  'grpc.secondary_user_agent',
  'grpc.service_config',
  'grpc.service_config_disable_resolution',
])

/** Channel options that also affect the addresses of `round_robin`. */
const OF_BALANCING: ReadonlySet<string> = new Set([
  'grpc.initial_reconnect_backoff_ms',
  'grpc.max_reconnect_backoff_ms',
])

/** As in grpc-js, in milliseconds. */
const CONNECT_TIMEOUT = 20_000
const MIN_IDLE_TIMEOUT = 1_000
const IDLE_TIMEOUT = 30 * 60_000

/** What a channel was created with. */
export interface PoolKey {
  readonly target: Target
  readonly credentials: Credentials
  readonly options: ChannelOptions
  readonly policy: Policy
}

/** A channel, as its connections see it. */
export interface PoolUser {
  /** The last connection is gone. */
  onDisconnected(): void
}

/** Connections, and the channels that use them. */
export class SharedPool {
  readonly connections: Connections
  /** The call credentials in the channel credentials, which apply to each call. */
  readonly callCredentials: CallCredentials
  readonly #secure: SecureConnector
  readonly #key: PoolKey
  readonly #text: string
  readonly #users = new Set<PoolUser>()

  constructor(key: PoolKey, given: ChannelFactoryOptions) {
    const { target, credentials, options, policy } = key
    this.#key = key
    this.#text = toText(options, policy)
    this.#secure = credentials._createSecureConnector({ scheme: target.scheme, path: target.path }, options)
    this.callCredentials = this.#secure.getCallCredentials()
    this.connections = this.#toConnections(key, given)
    // One listener, however many channels there are, because an emitter warns about more than ten.
    this.connections.onDisconnect(() => {
      if (!this.connections.isConnected) for (const user of [...this.#users]) user.onDisconnected()
    })
  }

  #toConnections(
    { target, credentials, options, policy }: PoolKey,
    given: ChannelFactoryOptions,
  ): Connections {
    const scheme = credentials._isSecure() ? 'https' : 'http'
    const proxy = toProxy(target, options)
    const poolOptions: PoolOptions = {
      connectTimeout: CONNECT_TIMEOUT,
      keepAliveTimeout: IDLE_TIMEOUT,
      ...given.pool,
      engine: given.engine ?? 'wire',
      ...(given.connections === undefined ? {} : { connections: given.connections }),
      ...toPoolOptions(options),
      fallback: null,
    }
    const addresses = target.addresses.filter((address): address is HostPort => 'host' in address)
    // A proxy resolves the name itself, so there is only one way to it.
    if (policy === 'round_robin' && proxy === null && addresses.length > 0) {
      const toOwn = (address: HostPort): Connector => toConnector([address], null, this.#secure)
      const parts = { scheme, addresses, options: poolOptions, ...toBackoff(options) } as const
      return new BalancedConnections({ ...parts, toConnector: toOwn })
    }
    const [{ host, port } = { host: 'localhost', port: 80 }] = addresses
    return new PooledConnections(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`, {
      ...poolOptions,
      connect: toConnector(target.addresses, proxy, this.#secure),
    })
  }

  isFor({ target, credentials, options, policy }: PoolKey): boolean {
    return (
      this.#key.target.text === target.text &&
      this.#key.policy === policy &&
      this.#text === toText(options, policy) &&
      this.#key.credentials._equals(credentials)
    )
  }

  acquire(user: PoolUser): void {
    this.#users.add(user)
  }

  /** @returns whether no channel uses them any more: then they close once its calls are over */
  release(user: PoolUser): boolean {
    this.#users.delete(user)
    if (this.#users.size > 0) return false
    this.connections.close().finally(() => this.#secure.destroy())
    return true
  }
}

/** Only plain values matter to a connection. */
function toText(options: ChannelOptions, policy: Policy): string {
  const matters = (name: string): boolean =>
    !OF_CHANNELS.has(name) || (policy === 'round_robin' && OF_BALANCING.has(name))
  const entries = Object.entries(options).filter(
    ([name, value]) => matters(name) && (typeof value === 'string' || typeof value === 'number'),
  )
  return JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** gRPC's options, as a Pool expects them. A call's only time limit is gRPC's deadline. */
function toPoolOptions(options: ChannelOptions): PoolOptions {
  const keepaliveTime = options['grpc.keepalive_time_ms']
  const keepaliveTimeout = options['grpc.keepalive_timeout_ms']
  const window = options['grpc-node.flow_control_window']
  const idle = options['grpc.client_idle_timeout_ms']
  return {
    headersTimeout: 0,
    bodyTimeout: 0,
    uploadTimeout: 0,
    queueTimeout: 0,
    requestTimeout: 0,
    ...(idle === undefined ? {} : { keepAliveTimeout: Math.max(idle, MIN_IDLE_TIMEOUT) }),
    ...(isAbove(keepaliveTime, 0) ? { pingInterval: keepaliveTime } : {}),
    ...(isAbove(keepaliveTimeout, 0) ? { pingTimeout: keepaliveTimeout } : {}),
    ...(isAbove(window, 65_534) ? { initialWindowSize: window, connectionWindowSize: window } : {}),
  }
}

function isAbove(value: unknown, least: number): value is number {
  return typeof value === 'number' && value > least && value <= 2 ** 31 - 1
}
