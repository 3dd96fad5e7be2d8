/**
 * HPACK (RFC 7541): a complete decoder, and the simplest encoder. It is independent of what it checks: it shares no
 * code with the client's HPACK, or with Node's.
 *
 * @module
 */

/** A header list, in wire order. */
export type Field = readonly [name: string, value: string]

/** RFC 7541, appendix A, from index 1 on; a name alone has an empty value. */
const STATIC_TABLE: readonly Field[] = [
  ':authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|:scheme https',
  ':status 200|:status 204|:status 206|:status 304|:status 400|:status 404|:status 500',
  'accept-charset|accept-encoding gzip, deflate|accept-language|accept-ranges|accept',
  'access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|content-encoding',
  'content-language|content-length|content-location|content-range|content-type|cookie|date|etag|expect',
  'expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|link',
  'location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server',
  'set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate',
]
  .join('|')
  .split('|')
  .map((entry) => {
    const end = entry.includes(' ') ? entry.indexOf(' ') : entry.length
    return [entry.slice(0, end), entry.slice(end + 1)]
  })

/**
 * The code lengths in RFC 7541, appendix B: for each symbol in turn a letter, `a` for 5 bits to `z` for 30, and how
 * often it is repeated, if it is. The code is canonical: the lengths determine all of it.
 */
const CODE_LENGTHS =
  'isx7tzx2zx8zx9bf2hibdgf2dgdb3a3b7cdkbhfibc22dcdioijbkababab3ac2b3abcba2bc5kgjixprp2r3srs5tst2rsts4qrsrs2tr' +
  'qpr2s2qsr2tq' +
  'rs2q2rqsrs2pr3sr2sv2porsruv3w2vtuoqvw2vwtq2v2xw3ptpqrq2sr2u2t2vsvwv2w5xw5vz'

const EOS = 256
/** RFC 7541 §4.1: how much an entry counts in addition to its octets. */
const ENTRY_OVERHEAD = 32
/** SETTINGS_HEADER_TABLE_SIZE, until an endpoint sends another one. */
const DEFAULT_TABLE_SIZE = 4_096
/** More continuation octets than any number in a test needs. */
const MAX_SHIFT = 28

/** What a bit leads to: a symbol, or two more bits. */
type Branch = [Branch | number, Branch | number]

/** RFC 7541, appendix B: the shorter codes first, and among equally long ones the lower symbols. */
function toTree(): Branch {
  const lengths = [...CODE_LENGTHS.matchAll(/([a-z])(\d*)/g)].flatMap(([, letter = '', count = '']) =>
    Array<number>(Number(count || 1)).fill(letter.charCodeAt(0) - 'a'.charCodeAt(0) + 5),
  )
  const symbols = lengths.map((length, symbol) => ({ length, symbol }))
  symbols.sort((one, other) => one.length - other.length || one.symbol - other.symbol)
  const root: Branch = [-1, -1]
  let code = 0
  let previous = 0
  for (const { length, symbol } of symbols) {
    code *= 2 ** (length - previous)
    previous = length
    let branch = root
    for (let bit = length - 1; bit > 0; bit--) {
      const side = (code >>> bit) & 1
      const next = branch[side] as Branch | number
      const below: Branch = typeof next === 'number' ? [-1, -1] : next
      branch[side] = below
      branch = below
    }
    branch[code & 1] = symbol
    code++
  }
  return root
}

const TREE = toTree()

function fromHuffman(bytes: Buffer): string {
  const out: number[] = []
  let branch = TREE
  let depth = 0
  let isPadding = true
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const side = (byte >>> bit) & 1
      const next = branch[side] as Branch | number
      depth++
      isPadding &&= side === 1
      if (typeof next !== 'number') {
        branch = next
        continue
      }
      if (next === EOS) throw new Error('HPACK: EOS inside a string (RFC 7541 §5.2)')
      out.push(next)
      branch = TREE
      depth = 0
      isPadding = true
    }
  }
  if (depth > 7 || !isPadding) throw new Error('HPACK: a string with invalid padding (RFC 7541 §5.2)')
  return Buffer.from(out).toString('latin1')
}

/** The decoder for one direction: a connection's blocks, each complete, and in order. */
export class HpackDecoder {
  /** The newest first. */
  readonly #table: Field[] = []
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0
  #size = 0
  #maxSize = DEFAULT_TABLE_SIZE
  /** The size that our SETTINGS_HEADER_TABLE_SIZE allows. */
  #allowed = DEFAULT_TABLE_SIZE

  /** The size that the encoder has chosen for its table (RFC 7541 §6.3), in octets. */
  get tableSize(): number {
    return this.#maxSize
  }

  /** Our SETTINGS_HEADER_TABLE_SIZE, from its acknowledgment on. */
  allow(size: number): void {
    this.#allowed = size
  }

  /** @throws Error for a block that violates RFC 7541 */
  decode(block: Buffer): Field[] {
    this.#bytes = block
    this.#at = 0
    const fields: Field[] = []
    while (this.#at < block.length) {
      const first = this.#bytes.readUInt8(this.#at)
      if ((first & 0x80) !== 0) fields.push(this.#entry(this.#integer(7)))
      else if ((first & 0x40) !== 0) fields.push(this.#add(this.#literal(6)))
      else if ((first & 0x20) === 0) fields.push(this.#literal(4))
      else if (fields.length > 0) throw new Error('HPACK: a table size update after a field (RFC 7541 §4.2)')
      else this.#resize(this.#integer(5))
    }
    if (this.#maxSize > this.#allowed)
      throw new Error(`HPACK: the table may have at most ${this.#allowed} octets`)
    return fields
  }

  #integer(prefix: number): number {
    const mask = 2 ** prefix - 1
    let value = this.#next() & mask
    if (value < mask) return value
    for (let shift = 0; shift <= MAX_SHIFT; shift += 7) {
      const byte = this.#next()
      value += (byte & 0x7f) * 2 ** shift
      if ((byte & 0x80) === 0) return value
    }
    throw new Error('HPACK: an integer that is too long')
  }

  #next(): number {
    return this.#bytes.readUInt8(this.#at++)
  }

  #string(): string {
    const isHuffman = (this.#bytes.readUInt8(this.#at) & 0x80) !== 0
    const length = this.#integer(7)
    const end = this.#at + length
    if (end > this.#bytes.length) throw new Error('HPACK: a string that is longer than the block')
    const bytes = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return isHuffman ? fromHuffman(bytes) : bytes.toString('latin1')
  }

  #literal(prefix: number): Field {
    const index = this.#integer(prefix)
    const name = index === 0 ? this.#string() : this.#entry(index)[0]
    return [name, this.#string()]
  }

  #entry(index: number): Field {
    const entry = STATIC_TABLE[index - 1] ?? this.#table[index - 1 - STATIC_TABLE.length]
    if (entry === undefined) throw new Error(`HPACK: there is no entry ${index}`)
    return entry
  }

  #add(field: Field): Field {
    this.#table.unshift(field)
    this.#size += toSize(field)
    this.#evict()
    return field
  }

  #resize(size: number): void {
    if (size > this.#allowed)
      throw new Error(`HPACK: the table may have at most ${this.#allowed} octets, not ${size}`)
    this.#maxSize = size
    this.#evict()
  }

  #evict(): void {
    while (this.#size > this.#maxSize) {
      const oldest = this.#table.pop()
      if (oldest === undefined) return
      this.#size -= toSize(oldest)
    }
  }
}

function toSize([name, value]: Field): number {
  return name.length + value.length + ENTRY_OVERHEAD
}

function toInteger(value: number, prefix: number, pattern: number): number[] {
  const mask = 2 ** prefix - 1
  if (value < mask) return [pattern | value]
  const bytes = [pattern | mask]
  let rest = value - mask
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return [...bytes, rest]
}

function toLiteral(text: string): Buffer {
  return Buffer.concat([Buffer.from(toInteger(text.length, 7, 0)), Buffer.from(text, 'latin1')])
}

/** A field block of literals without indexing (RFC 7541 §6.2.2): correct for any decoder, in any state. */
export function encodeFields(fields: readonly Field[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => [Buffer.from([0]), toLiteral(name), toLiteral(value)]),
  )
}
