/**
 * gzip and Brotli as connect-es expects them.
 *
 * @module
 */

import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { Code, ConnectError } from '@connectrpc/connect'
import type { Compression } from '@connectrpc/connect/protocol'
import type * as declared from './declarations.ts'

type Transform = (bytes: Uint8Array, options: { maxOutputLength?: number }) => Promise<Buffer>

/** The errors of zlib and the Brotli decoder for bytes that aren't in the compression's format. */
const MALFORMED = /^(Z_DATA_ERROR|Z_BUF_ERROR|ERR_PADDING_2|ERR__ERROR_FORMAT_.*)$/

export const compressionGzip: typeof declared.compressionGzip = toCompression(
  'gzip',
  promisify(zlib.gzip),
  promisify(zlib.gunzip),
)

export const compressionBrotli: typeof declared.compressionBrotli = toCompression(
  'br',
  promisify(zlib.brotliCompress),
  promisify(zlib.brotliDecompress),
)

function toCompression(name: string, compress: Transform, decompress: Transform): Compression {
  return {
    name,
    compress: async (bytes) => toBytes(await compress(bytes, {})),
    async decompress(bytes, readMaxBytes) {
      // A message without bytes may be sent as it is, although it is marked as compressed.
      if (bytes.length === 0) return new Uint8Array(0)
      try {
        return toBytes(await decompress(bytes, { maxOutputLength: readMaxBytes }))
      } catch (error) {
        throw toDecompressionError(error, readMaxBytes)
      }
    },
  }
}

function toDecompressionError(error: unknown, readMaxBytes: number): ConnectError {
  const code = String(Object(error).code)
  if (code === 'ERR_BUFFER_TOO_LARGE') {
    const message = `message is larger than configured readMaxBytes ${readMaxBytes} after decompression`
    return new ConnectError(message, Code.ResourceExhausted, undefined, undefined, error)
  }
  const status = MALFORMED.test(code) ? Code.InvalidArgument : Code.Internal
  return new ConnectError('decompression failed', status, undefined, undefined, error)
}

/** The bytes without a Buffer's methods, because the value of a `bytes` field is a part of them. */
function toBytes({ buffer, byteOffset, length }: Buffer): Uint8Array<ArrayBuffer> {
  return buffer instanceof ArrayBuffer
    ? new Uint8Array(buffer, byteOffset, length)
    : new Uint8Array(new Uint8Array(buffer, byteOffset, length))
}
