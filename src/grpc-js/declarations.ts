/**
 * gRPC over Dodici, underneath `@grpc/grpc-js`: clients, generated code and interceptors stay as they are.
 *
 * @module
 */

import type { Channel, ChannelCredentials, ChannelOptions } from '@grpc/grpc-js'
import type { PoolOptions } from '../index.ts'

/**
 * The part of the module `@grpc/grpc-js` that the channels use. It is a structural type, so any copy of the package
 * fits.
 */
export interface GrpcLibrary {
  /** The channel class for what Dodici doesn't serve. */
  readonly Channel: new (
    target: string,
    credentials: never,
    options: never,
  ) => unknown
  /** The metadata class. */
  readonly Metadata: {
    /** Creates empty metadata. */
    new (): unknown
  }
  /** Creates credentials for a call. */
  readonly credentials: {
    /** Creates call credentials that add nothing. */
    createEmpty(): unknown
  }
}

/** The options of {@link channelFactory}. */
export interface ChannelFactoryOptions {
  /**
   * The copy of `@grpc/grpc-js` that your clients use: `import * as grpc from '@grpc/grpc-js'`. Google's clients may
   * have another copy: google-gax exports it as `grpc`.
   *
   * @default the copy that is installed next to Dodici
   */
  grpc?: GrpcLibrary | undefined

  /**
   * The HTTP/2 implementation of the connections: see `ClientOptions.engine`.
   *
   * @default 'wire'
   */
  engine?: PoolOptions['engine']

  /**
   * How many connections a target gets at most; with `round_robin`, how many each of its addresses gets. Dodici opens
   * another one when all have as many streams as the server allows. `null`: no limit.
   *
   * @default null
   */
  connections?: PoolOptions['connections']

  /**
   * Pool options that gRPC's channel options have no name for: `maxSessionAge`, `initialWindowSize` and so on. Channel
   * options override them. Options that the channel itself sets, such as `connect` and a call's timeouts, are errors.
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
 * Creates a channel instead of `new grpc.Channel(…)`: pass it to a client as `channelFactoryOverride`. Targets and
 * options that Dodici doesn't serve get a real `grpc.Channel`.
 */
export type ChannelFactoryOverride = (
  target: string,
  credentials: ChannelCredentials,
  options: ChannelOptions,
) => Channel

/**
 * Creates a channel factory. Its channels share connections: equal targets, credentials and options use the same Pool.
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
