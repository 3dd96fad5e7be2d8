/** The HPACK encoder of a model server: it uses all that RFC 7541 has, at random, and never what the client hasn't allowed. */

import type { Field } from '../../../src/testing/hpack.ts'
import type { Random } from '../../protocol/hpack/support.ts'
import { toInteger, toLiteral } from '../../protocol/hpack/support.ts'

/** RFC 7541 §4.1. */
const ENTRY_OVERHEAD = 32
const STATIC_ENTRIES = 61
const DEFAULT_SIZE = 4_096
/** `:status`, by its index in the static table. */
const STATUS = 8

function toSize([name, value]: Field): number {
  return name.length + value.length + ENTRY_OVERHEAD
}

/** The encoder of one connection. */
export class ModelEncoder {
  readonly #random: Random
  /** The newest first. */
  #table: Field[] = []
  #size = 0
  #maxSize = DEFAULT_SIZE
  #allowed = DEFAULT_SIZE
  /** Table sizes that the next block has to begin with. */
  #updates: number[] = []

  constructor(random: Random) {
    this.#random = random
  }

  /** The client's SETTINGS_HEADER_TABLE_SIZE, which was acknowledged. */
  allow(size: number): void {
    this.#allowed = size
    if (size < this.#maxSize) this.#resize(size)
  }

  encode(fields: readonly Field[]): Buffer {
    if (this.#random.below(12) === 0) this.#resize(this.#random.below(this.#allowed + 1))
    const updates = this.#updates.map((size) => toInteger(0x20, 5, size))
    this.#updates = []
    return Buffer.concat([...updates, ...fields.map((field) => this.#encodeField(field))])
  }

  #resize(size: number): void {
    this.#maxSize = size
    // Two say all: the smallest, and the last (RFC 7541 §4.2).
    const smallest = Math.min(size, ...this.#updates)
    this.#updates = smallest === size ? [size] : [smallest, size]
    this.#evict()
  }

  #encodeField(field: Field): Buffer {
    const [name, value] = field
    const same = this.#table.findIndex(([known, content]) => known === name && content === value)
    if (same !== -1 && this.#random.below(8) > 0) return toInteger(0x80, 7, STATIC_ENTRIES + 1 + same)
    const known = this.#table.findIndex(([each]) => each === name)
    const dynamic = known === -1 || this.#random.below(3) === 0 ? 0 : STATIC_ENTRIES + 1 + known
    const index = name === ':status' ? STATUS : dynamic
    const kind = this.#random.below(4)
    const literal = (pattern: number, bits: number): Buffer =>
      Buffer.concat([
        toInteger(pattern, bits, index),
        index === 0 ? toLiteral(name) : Buffer.of(),
        toLiteral(value),
      ])
    // Without indexing, or never indexed.
    if (kind === 0) return literal(0, 4)
    if (kind === 1) return literal(0x10, 4)
    const bytes = literal(0x40, 6)
    this.#table.unshift(field)
    this.#size += toSize(field)
    this.#evict()
    return bytes
  }

  #evict(): void {
    while (this.#size > this.#maxSize) {
      const oldest = this.#table.pop()
      if (oldest === undefined) return
      this.#size -= toSize(oldest)
    }
  }
}
