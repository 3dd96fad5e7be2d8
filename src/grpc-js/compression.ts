/**
 * gzip and deflate for single messages. Node's thread pool does the work, so the event loop continues meanwhile.
 *
 * @module
 */

import { deflate, gunzip, gzip, inflate } from 'node:zlib'
import { Status } from './grpc.ts'
import type { Outcome } from './status.ts'

export type Encoding = 'identity' | 'deflate' | 'gzip'

export const ACCEPTED_ENCODINGS = 'identity,deflate,gzip'

/** By the values in `grpc.compressionAlgorithms`. */
const BY_OPTION: readonly Encoding[] = ['identity', 'deflate', 'gzip']

/** The encoding for the option `grpc.default_compression_algorithm`. An unknown value means none, as in grpc-js. */
export function toEncoding(option: unknown): Encoding {
  return (typeof option === 'number' ? BY_OPTION[option] : undefined) ?? 'identity'
}

export function compress(
  encoding: Encoding,
  message: Uint8Array,
  done: (error: Error | null, compressed: Buffer) => void,
): void {
  if (encoding === 'gzip') gzip(message, done)
  else deflate(message, done)
}

/**
 * @param encoding the response's `grpc-encoding`
 * @param maxSize the largest decompressed message, in bytes; -1: any
 */
export function decompress(
  encoding: string,
  message: Uint8Array,
  maxSize: number,
  done: (failure: Outcome | null, message: Buffer) => void,
): void {
  const what = ENCODINGS[encoding]
  if (what === undefined) {
    const details =
      encoding === 'identity'
        ? 'Received compressed message but "grpc-encoding" header was identity'
        : `Received message compressed with unsupported compression method ${encoding}`
    done({ code: Status.INTERNAL, details }, EMPTY)
    return
  }
  // zlib accepts no limit of 0, only 1 or more.
  const options = maxSize === -1 ? {} : { maxOutputLength: Math.max(1, maxSize) }
  what(message, options, (error, result) => {
    if (error === null && (maxSize === -1 || result.length <= maxSize)) done(null, result)
    else if (error === null || error.code === 'ERR_BUFFER_TOO_LARGE')
      done(
        {
          code: Status.RESOURCE_EXHAUSTED,
          details: `Received message that decompresses to a size larger than ${maxSize}`,
        },
        EMPTY,
      )
    else done({ code: Status.INTERNAL, details: `Failed to decompress ${encoding}-encoded message` }, EMPTY)
  })
}

const EMPTY = Buffer.alloc(0)

type Decompress = (
  message: Uint8Array,
  options: { readonly maxOutputLength?: number },
  done: (error: NodeJS.ErrnoException | null, result: Buffer) => void,
) => void

const ENCODINGS: Readonly<Record<string, Decompress | undefined>> = { gzip: gunzip, deflate: inflate }
