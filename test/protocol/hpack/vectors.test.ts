/** Vectors: what other encoders made of header lists (test/protocol/vectors/README.md). */

import { describe, expect, it } from 'vitest'
import { HpackEncoder } from '../../../src/protocol/hpack/encoder.ts'
import { findPublishedVectors, readVectors, toOwnVectors } from '../support/vectors.ts'
import { encode, startDecoder, toBytes } from './support.ts'

interface Story {
  readonly story: string
  readonly cases: readonly {
    /** In force from here on, in bytes. */
    readonly header_table_size?: number
    readonly wire: string
    readonly headers: readonly (readonly [string, string])[]
  }[]
}

const own = toOwnVectors('hpack')
const files = [
  { folder: own, name: 'go', blocks: 146 },
  { folder: own, name: 'nghttp2', blocks: 146 },
  { folder: own, name: 'python', blocks: 146 },
  ...findPublishedVectors('hpack').flatMap((folder) => [
    { folder, name: 'go-hpack', blocks: 3_384 },
    { folder, name: 'nghttp2-change-table-size', blocks: 3_267 },
    { folder, name: 'python-hpack', blocks: 3_384 },
  ]),
]

describe.each(files)('the vectors of $name, $folder.origin', ({ folder, name, blocks }) => {
  it('are decoded to their lists', () => {
    let decoded = 0
    for (const { story, cases } of readVectors<Story>(folder, name)) {
      const decoder = startDecoder()
      for (const [at, { header_table_size: size, wire, headers }] of cases.entries()) {
        if (size !== undefined) decoder.setTableSize(size)
        const bytes = toBytes(wire)
        expect(decoder.decode(bytes, 0, bytes.length), `${story}, block ${at}`).toEqual(headers.flat())
        decoded++
      }
    }
    expect(decoded).toBe(blocks)
  })

  it('are what our encoder, decoded by us, says', () => {
    for (const { story, cases } of readVectors<Story>(folder, name)) {
      const encoder = new HpackEncoder()
      const decoder = startDecoder()
      for (const [at, { headers }] of cases.entries()) {
        const fields = headers.flat()
        const bytes = encode(encoder, fields)
        expect(decoder.decode(bytes, 0, bytes.length), `${story}, block ${at}`).toEqual(fields)
      }
    }
  })
})
