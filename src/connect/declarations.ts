/**
 * The declarations of `dodici/connect`. The build copies this file: it contains only declarations, and imports packages
 * that the consumer has installed.
 *
 * @module
 */

import type {
  BinaryReadOptions,
  BinaryWriteOptions,
  JsonReadOptions,
  JsonWriteOptions,
} from '@bufbuild/protobuf'
import type { Interceptor, Transport } from '@connectrpc/connect'
import type { Compression } from '@connectrpc/connect/protocol'
import type { Dispatcher } from '../index.ts'

/**
 * The options of {@link createTransport}. An option that connect-node also has means the same here.
 */
export interface TransportOptions {
  /** The URL that the path of each method is appended to, such as `'https://example.com/api'`. */
  baseUrl: string

  /** The protocol of the calls: Connect's own, gRPC, or gRPC-Web. */
  protocol: 'connect' | 'grpc' | 'grpc-web'

  /**
   * The dispatcher that sends the requests: an Agent, or a Client, Pool or UpstreamPool for the origin of `baseUrl`.
   * Its options decide about connections, TLS, PINGs and proxies.
   *
   * @default the global dispatcher at the start of each call
   */
  dispatcher?: Dispatcher | undefined

  /** Whether messages are sent as binary protobuf; `false`: as JSON. @default true */
  useBinaryFormat?: boolean | undefined

  /** Functions that each call goes through. They may change a request's fields and URL. @default [] */
  interceptors?: Interceptor[] | undefined

  /** The compressions the server may use, in order of preference. @default [compressionGzip, compressionBrotli] */
  acceptCompression?: Compression[] | undefined

  /** How to compress messages. `null`: not at all, because some servers can't read that. @default null */
  sendCompression?: Compression | null | undefined

  /** How many bytes a message must have to be compressed. @default 1_024 */
  compressMinBytes?: number | undefined

  /**
   * How many bytes a received message may have, before and after decompression. The call of a larger one fails with
   * RESOURCE_EXHAUSTED.
   *
   * @default 4_294_967_295
   */
  readMaxBytes?: number | undefined

  /**
   * How many bytes a sent message may have. The call of a larger one fails with RESOURCE_EXHAUSTED.
   *
   * @default 4_294_967_295
   */
  writeMaxBytes?: number | undefined

  /** Options for JSON. @default { ignoreUnknownFields: true } */
  jsonOptions?: Partial<JsonReadOptions & JsonWriteOptions> | undefined

  /** Options for binary protobuf. @default `@bufbuild/protobuf`'s defaults */
  binaryOptions?: Partial<BinaryReadOptions & BinaryWriteOptions> | undefined

  /**
   * Whether to call unary methods without side effects (`idempotency_level = NO_SIDE_EFFECTS`) with GET. Only with
   * `protocol: 'connect'`.
   *
   * @default false
   */
  useHttpGet?: boolean | undefined

  /** How many milliseconds a call without its own `timeoutMs` may take. @default no limit */
  defaultTimeoutMs?: number | undefined
}

/**
 * Creates a transport for `createClient()` from `@connectrpc/connect`. The first call opens the first connection. There
 * is nothing to close except the dispatcher.
 *
 * @throws InvalidArgumentError for an unknown option, such as connect-node's `nodeOptions`: set those on the dispatcher
 * @throws ConnectError from `@connectrpc/connect` for a limit that is out of range
 *
 * @example
 * ```ts
 * import { createClient } from '@connectrpc/connect'
 * import { createTransport } from 'dodici/connect'
 *
 * const transport = createTransport({ baseUrl: 'https://localhost:8443', protocol: 'grpc' })
 * const client = createClient(ElizaService, transport)
 * ```
 */
export declare function createTransport(options: TransportOptions): Transport

/** Compression with gzip, for `acceptCompression` and `sendCompression`. It doesn't block the event loop. */
export declare const compressionGzip: Compression

/** Compression with Brotli, for `acceptCompression` and `sendCompression`. It doesn't block the event loop. */
export declare const compressionBrotli: Compression
