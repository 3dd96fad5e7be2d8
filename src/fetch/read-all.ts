/**
 * A web stream → all its bytes.
 *
 * @module
 */

import { types } from 'node:util'
import { joinChunks } from '../core/body-bytes.ts'

/**
 * Reads a stream to its end; it stays locked.
 * @throws TypeError for a chunk that is no Uint8Array, and the stream's own error
 */
export async function readAll(stream: ReadableStream<unknown>): Promise<Buffer> {
  const reader = stream.getReader()
  const chunks: Buffer[] = []
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return joinChunks(chunks)
    if (!types.isUint8Array(value)) throw new TypeError('Received non-Uint8Array chunk')
    chunks.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
  }
}
