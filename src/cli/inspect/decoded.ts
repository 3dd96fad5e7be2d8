/**
 * The content of a response body that has a content coding (RFC 9110 §8.4): `--compressed`.
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

/** What is asked for. */
export const CONTENT_CODINGS = 'deflate, gzip, br'

/** More of them are an attack. */
const MAX_CODINGS = 5

/**
 * Undoes the codings of a body, the last one first.
 *
 * @param headers of the response
 * @throws CliError, as it is read, for a coding that isn't known, and for a body that isn't what it says
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
  // That of HEAD, for example: there is a coding, and no content.
  if (first.done === true) return
  let source: AsyncIterable<Buffer> = rejoin(first.value, pieces)
  for (const name of coded) {
    const create = DECODERS.get(name)
    if (create === undefined) throw toDecodeError(`'${name}' is an unknown content coding`)
    const decoder = create()
    // An error of the source, or of the decoder, is the reader's.
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
