/**
 * The entry `dodici/connect`: clients of connect-es speak Connect, gRPC and gRPC-Web over a dispatcher.
 *
 * @module
 */

export { compressionBrotli, compressionGzip } from './compression.ts'
export type { TransportOptions } from './declarations.ts'
export { createTransport } from './transport.ts'
