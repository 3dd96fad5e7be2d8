/**
 * The entry `dodici/grpc-js`.
 *
 * @module
 */

import type { Channel, ChannelCredentials, ChannelOptions } from '@grpc/grpc-js'
import type { PoolOptions } from '../index.ts'
import { errors } from '../index.ts'
import { GrpcChannel } from './channel.ts'
import type { ChannelFactoryOptions, ChannelFactoryOverride } from './declarations.ts'
import { toCredentials, toGrpc } from './grpc.ts'
import { toServiceConfig } from './service-config.ts'
import type { PoolKey } from './shared-pool.ts'
import { SharedPool } from './shared-pool.ts'
import { toTarget } from './target.ts'

/** See `declarations.ts`. */
export function channelFactory(given: ChannelFactoryOptions = {}): ChannelFactoryOverride {
  const grpc = toGrpc(given.grpc)
  refuseOwnOptions(given.pool)
  const pools: SharedPool[] = []

  return (
    target: string,
    channelCredentials: ChannelCredentials,
    channelOptions: ChannelOptions,
  ): Channel => {
    const options = channelOptions ?? {}
    const own = toTarget(target)
    const credentials = toCredentials(channelCredentials)
    const config = toServiceConfig(options['grpc.service_config'], options['grpc.enable_retries'] !== 0)
    if (own === null || credentials === null || config === null)
      return new grpc.Channel(target, channelCredentials, channelOptions)
    const shared = toShared(pools, { target: own, credentials, options, policy: config.policy }, given)
    const channel = new GrpcChannel({
      ...{ grpc, target: own, options, shared },
      timeouts: config.timeouts,
      onClosed: (closed) => {
        if (shared.release(closed) && pools.includes(shared)) pools.splice(pools.indexOf(shared), 1)
      },
    })
    return channel as unknown as Channel
  }
}

/** The options that are set by the factory, the credentials or the target, and a call's timeouts. */
const OWN_OPTIONS: readonly (keyof PoolOptions)[] = [
  ...(['engine', 'connections', 'connect', 'fallback', 'h2c', 'allowH2'] as const),
  ...(['headersTimeout', 'bodyTimeout', 'uploadTimeout', 'queueTimeout', 'requestTimeout'] as const),
]

/** @throws InvalidArgumentError for an option that would be ignored */
function refuseOwnOptions(pool: PoolOptions | undefined): void {
  for (const name of OWN_OPTIONS) {
    if (pool?.[name] !== undefined)
      throw new errors.InvalidArgumentError(`Invalid pool: the channel sets ${name} itself`)
  }
}

/** A Pool that fits, or a new one. */
function toShared(pools: SharedPool[], key: PoolKey, given: ChannelFactoryOptions): SharedPool {
  if (key.options['grpc.use_local_subchannel_pool'] === 1) return new SharedPool(key, given)
  const known = pools.find((pool) => pool.isFor(key))
  if (known !== undefined) return known
  const made = new SharedPool(key, given)
  pools.push(made)
  return made
}
