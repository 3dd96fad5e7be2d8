/**
 * The content of a response body with a content coding (RFC 9110 §8.4): `--compressed`.
 *
 * @module
 */

import type { Transform } from 'node:stream'
import { pipeline } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { noop } from '../../core/noop.ts'
import type { Field } from '../../protocol/inspect/field-blocks.ts'
import { CliError, EXIT } from '../cli-error.ts'

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
])

/** The codings that the request asks for. */
export const CONTENT_CODINGS = 'deflate, gzip, br'

/** More of them are an attack. */
const MAX_CODINGS = 5

/**
 * Undoes a body's codings, the last one first.
 *
 * @param headers the response's header fields
 * @throws CliError, while it is read, for an unknown coding, and for a body that doesn't have its coding
 */
export async function* toDecoded(
  body: AsyncIterable<Buffer>,
  headers: readonly Field[],
): AsyncGenerator<Buffer> {
  const field = headers.filter(([name]) => name === 'content-encoding').map(([, value]) => value)
  const codings = field.flatMap((value) => value.toLowerCase().split(',')).map((name) => name.trim())
  const coded = codings.filter((name) => name !== '' && name !== 'identity').reverse()
  if (coded.length > MAX_CODINGS) throw toDecodeError(`more than ${MAX_CODINGS} content codings`)
  const pieces = body[Symbol.asyncIterator]()
  const first = await pieces.next()
  // A response to HEAD, for example, has a coding but no content.
  if (first.done === true) return
  let source: AsyncIterable<Buffer> = rejoin(first.value, pieces)
  for (const name of coded) {
    const create = DECODERS.get(name)
    if (create === undefined) throw toDecodeError(`'${name}' is an unknown content coding`)
    const decoder = create()
    // The reader gets errors of the source or the decoder.
    pipeline(source, decoder, noop)
    source = decoder
  }
  try {
    yield* source
  } catch (error) {
    if (isOfDecoder(error)) throw toDecodeError(error.message)
    throw error
  }
}

async function* rejoin(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first
  yield* { [Symbol.asyncIterator]: () => rest }
}

function toDecodeError(reason: string): CliError {
  return new CliError(`--compressed can't decode the body: ${reason}`, EXIT.protocol)
}

function isOfDecoder(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && /^(Z_|ERR_BROTLI|ERR__ERROR)/.test(String(error.code))
}
