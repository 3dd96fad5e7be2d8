/**
 * The entry `dodici/grpc-js`.
 *
 * @module
 */

import type { Channel, ChannelCredentials, ChannelOptions } from '@grpc/grpc-js'
import { GrpcChannel } from './channel.ts'
import type { ChannelFactoryOptions, ChannelFactoryOverride } from './declarations.ts'
import { toCredentials, toGrpc } from './grpc.ts'
import { toMethodTimeouts } from './service-config.ts'
import type { PoolKey } from './shared-pool.ts'
import { SharedPool } from './shared-pool.ts'
import { toTarget } from './target.ts'

/** See `declarations.ts`. */
export function channelFactory(given: ChannelFactoryOptions = {}): ChannelFactoryOverride {
  const grpc = toGrpc(given.grpc)
  const pools: SharedPool[] = []

  return (
    target: string,
    channelCredentials: ChannelCredentials,
    channelOptions: ChannelOptions,
  ): Channel => {
    const options = channelOptions ?? {}
    const own = toTarget(target)
    const credentials = toCredentials(channelCredentials)
    const timeouts = toMethodTimeouts(options['grpc.service_config'], options['grpc.enable_retries'] !== 0)
    if (own === null || credentials === null || timeouts === null)
      return new grpc.Channel(target, channelCredentials, channelOptions)
    const shared = toShared(pools, { target: own, credentials, options }, given)
    const channel = new GrpcChannel({
      ...{ grpc, target: own, options, timeouts, shared },
      onClosed: () => {
        if (shared.release() && pools.includes(shared)) pools.splice(pools.indexOf(shared), 1)
      },
    })
    return channel as unknown as Channel
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
