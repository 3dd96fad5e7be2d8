/**
 * Reads all bytes of a web stream.
 *
 * @module
 */

import { types } from 'node:util'
import { KeptPieces } from '../core/kept-pieces.ts'

/**
 * Reads a stream to its end; it stays locked.
 * @throws TypeError for a chunk that isn't a Uint8Array, and the stream's own error
 */
export async function readAll(stream: ReadableStream<unknown>): Promise<KeptPieces> {
  const reader = stream.getReader()
  const kept = new KeptPieces()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return kept
    if (!types.isUint8Array(value)) throw new TypeError('Received non-Uint8Array chunk')
    kept.add(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
  }
}
