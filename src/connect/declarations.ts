/**
 * The declarations of `dodici/connect`. The build copies this file: it has declarations alone, and names packages
 * that each consumer has of its own.
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
 * The options of {@link createTransport}. Where connect-node has an option of the same name, the meaning is
 * connect-node's.
 */
export interface TransportOptions {
  /** The URL that the path of each method is appended to, such as `'https://example.com/api'`. */
  baseUrl: string

  /** What is spoken: Connect's own protocol, gRPC, or gRPC-Web. */
  protocol: 'connect' | 'grpc' | 'grpc-web'

  /**
   * What carries the requests: an Agent, or a Client, a Pool or an UpstreamPool of the origin of `baseUrl`.
   * Connections, TLS, PINGs and proxies are its options.
   *
   * @default the global dispatcher, as it is when a call starts
   */
  dispatcher?: Dispatcher | undefined

  /** Whether messages are sent as binary protobuf; `false`: as JSON. @default true */
  useBinaryFormat?: boolean | undefined

  /** What each call goes through. They may change the fields and the URL of a request. @default [] */
  interceptors?: Interceptor[] | undefined

  /** How the server may compress messages, the preferred way first. @default [compressionGzip, compressionBrotli] */
  acceptCompression?: Compression[] | undefined

  /** How messages are compressed; `null`: not at all, since some servers can't read that. @default null */
  sendCompression?: Compression | null | undefined

  /** Smaller messages aren't compressed. Bytes. @default 1024 */
  compressMinBytes?: number | undefined

  /**
   * How large a received message may be, before and after it was decompressed. A larger one fails with
   * RESOURCE_EXHAUSTED. Bytes.
   *
   * @default 4_294_967_295
   */
  readMaxBytes?: number | undefined

  /** How large a sent message may be. A larger one fails with RESOURCE_EXHAUSTED. Bytes. @default 4_294_967_295 */
  writeMaxBytes?: number | undefined

  /** For JSON. Unknown fields are ignored unless it says otherwise. */
  jsonOptions?: Partial<JsonReadOptions & JsonWriteOptions> | undefined

  /** For binary protobuf. */
  binaryOptions?: Partial<BinaryReadOptions & BinaryWriteOptions> | undefined

  /**
   * Whether unary methods without side effects (`idempotency_level = NO_SIDE_EFFECTS`) are called by GET. Only
   * `protocol: 'connect'` can do that.
   *
   * @default false
   */
  useHttpGet?: boolean | undefined

  /** The deadline of calls that have no `timeoutMs`. Milliseconds. @default none */
  defaultTimeoutMs?: number | undefined
}

/**
 * Makes a transport for `createClient()` of `@connectrpc/connect`. It opens no connection before the first call, and
 * has nothing that must be closed: the dispatcher has.
 *
 * @throws InvalidArgumentError for an option that it doesn't know, such as connect-node's `nodeOptions`: the
 * dispatcher has those
 * @throws ConnectError of `@connectrpc/connect` for a limit that is out of range
 */
export declare function createTransport(options: TransportOptions): Transport

/** gzip, for `acceptCompression` and `sendCompression`. It doesn't block the event loop. */
export declare const compressionGzip: Compression

/** Brotli, likewise. */
export declare const compressionBrotli: Compression
