/** Published vectors: what other encoders made of real header lists. */

import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { HpackEncoder } from '../../../src/protocol/hpack/encoder.ts'
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

const folder = fileURLToPath(new URL('../../../../shared/vectors/hpack/', import.meta.url))

/** In CI the vectors are there: without them the tests fail. */
const lacksVectors = !existsSync(folder) && process.env.CI !== 'true'
if (lacksVectors)
  console.warn('SKIPPED: the published HPACK vectors, as ../shared/vectors/hpack is not there')

const read = (name: string): Story[] => JSON.parse(readFileSync(`${folder}${name}.json`, 'utf8'))

describe.skipIf(lacksVectors).each([
  { name: 'go-hpack', blocks: 3_384 },
  { name: 'nghttp2-change-table-size', blocks: 3_267 },
  { name: 'python-hpack', blocks: 3_384 },
])('the published vectors of $name', ({ name, blocks }) => {
  test('are decoded to their lists', () => {
    let decoded = 0
    for (const { story, cases } of read(name)) {
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

  test('are what our encoder, decoded by us, says', () => {
    for (const { story, cases } of read(name)) {
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
