/**
 * gRPC over Dodici, below `@grpc/grpc-js`: its clients, generated code and interceptors stay as they are.
 *
 * @module
 */

import type { Channel, ChannelCredentials, ChannelOptions } from '@grpc/grpc-js'
import type { PoolOptions } from '../index.ts'

/**
 * The part of `@grpc/grpc-js` that the channels use: the module itself has it. It is a structural type, so that any
 * copy of the package fits.
 */
export interface GrpcLibrary {
  /** The class of the channels that serve what Dodici doesn't. */
  readonly Channel: new (
    target: string,
    credentials: never,
    options: never,
  ) => unknown
  /** The class of metadata. */
  readonly Metadata: {
    /** Metadata without an entry. */
    new (): unknown
  }
  /** Makes credentials for a single call. */
  readonly credentials: {
    /** Call credentials that add nothing. */
    createEmpty(): unknown
  }
}

/** The options of {@link channelFactory}. */
export interface ChannelFactoryOptions {
  /**
   * The copy of `@grpc/grpc-js` that the clients come from: `import * as grpc from '@grpc/grpc-js'`. Google's clients
   * may carry a copy of their own, as `grpc` of google-gax.
   *
   * @default the copy that is installed beside Dodici
   */
  grpc?: GrpcLibrary | undefined

  /**
   * The engine of the connections.
   *
   * @default 'wire'
   */
  engine?: PoolOptions['engine']

  /**
   * How many connections a target gets, at most; with `round_robin`, each of its addresses. Another one is opened while
   * all have as many streams as the server allows. `null`: any number.
   *
   * @default null
   */
  connections?: PoolOptions['connections']

  /**
   * Options of the Pools, for what gRPC's channel options have no name for: `maxSessionAge`, `initialWindowSize` and so
   * on. Channel options win. What the channel itself decides, such as `connect` and the clocks of a call, is refused.
   *
   * @default { connectTimeout: 20_000, keepAliveTimeout: 1_800_000 }
   */
  pool?:
    | Omit<
        PoolOptions,
        | 'engine'
        | 'connections'
        | 'connect'
        | 'fallback'
        | 'h2c'
        | 'allowH2'
        | 'headersTimeout'
        | 'bodyTimeout'
        | 'uploadTimeout'
        | 'queueTimeout'
        | 'requestTimeout'
      >
    | undefined
}

/**
 * Makes a channel, in the place of `new grpc.Channel(…)`: what `channelFactoryOverride` of a client takes. Targets and
 * options that Dodici doesn't serve get a real `grpc.Channel`.
 */
export type ChannelFactoryOverride = (
  target: string,
  credentials: ChannelCredentials,
  options: ChannelOptions,
) => Channel

/**
 * Makes a factory of channels. The channels of one factory share connections: one Pool for equal targets, credentials
 * and options.
 *
 * @example
 * ```ts
 * import { credentials } from '@grpc/grpc-js'
 * import { channelFactory } from 'dodici/grpc-js'
 *
 * const client = new Greeter('localhost:50051', credentials.createInsecure(), {
 *   channelFactoryOverride: channelFactory(),
 * })
 * ```
 *
 * @throws Error if `grpc` isn't given and `@grpc/grpc-js` isn't installed
 */
export declare function channelFactory(options?: ChannelFactoryOptions): ChannelFactoryOverride
