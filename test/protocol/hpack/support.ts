/** What the HPACK tests share: bytes, and lists that a seed makes. */

import { HpackDecoder } from '../../../src/protocol/hpack/decoder.ts'
import type { HpackEncoder } from '../../../src/protocol/hpack/encoder.ts'
import { maxEncodedSize } from '../../../src/protocol/hpack/encoder.ts'
import { huffmanSize, writeHuffman } from '../../../src/protocol/hpack/huffman.ts'

/** Bytes of hexadecimal digits; spaces and line ends are left out. */
export function toBytes(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(/\s/g, ''), 'hex')
}

/** A decoder of the default table that keeps every list. */
export function startDecoder(tableSize = 4_096): HpackDecoder {
  return new HpackDecoder(tableSize, Number.MAX_SAFE_INTEGER)
}

/** Decodes a whole block of hexadecimal digits. */
export function decode(decoder: HpackDecoder, hex: string): string[] {
  const bytes = toBytes(hex)
  return decoder.decode(bytes, 0, bytes.length)
}

/** Encodes a list into a buffer of just the size that it may need. */
export function encode(
  encoder: HpackEncoder,
  fields: readonly string[],
  sensitive?: ReadonlySet<string>,
): Buffer {
  const out = Buffer.alloc(maxEncodedSize(fields))
  return out.subarray(0, encoder.encode(fields, out, 0, sensitive))
}

/** The octets of an integer (RFC 7541 §5.1) whose first one has this pattern, above a prefix of so many bits. */
export function toInteger(pattern: number, bits: number, value: number): Buffer {
  const prefix = 2 ** bits - 1
  if (value < prefix) return Buffer.of(pattern | value)
  const octets = [pattern | prefix]
  let rest = value - prefix
  for (; rest >= 128; rest = Math.floor(rest / 128)) octets.push(128 + (rest % 128))
  return Buffer.of(...octets, rest)
}

/** A string literal (RFC 7541 §5.2) as it is. */
export function toLiteral(text: string): Buffer {
  return Buffer.concat([toInteger(0, 7, text.length), Buffer.from(text, 'latin1')])
}

/** A literal in the Huffman code, even where that is longer. */
export function toHuffmanLiteral(text: string): Buffer {
  const out = Buffer.alloc(huffmanSize(text))
  return Buffer.concat([toInteger(0x80, 7, writeHuffman(text, out, 0, Number.POSITIVE_INFINITY)), out])
}

/** Numbers that look random and are the same for the same seed (Mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end)
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0]
  }

  /** So many characters of an alphabet. */
  text(length: number, alphabet: string): string {
    let text = ''
    while (text.length < length) text += alphabet.charAt(this.below(alphabet.length))
    return text
  }
}

const NAME_LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789-_'
const DIGITS = '0123456789'
const TEXT = `${NAME_LETTERS}ABCDEFGHIJKLMNOPQRSTUVWXYZ !"#$%&'()*+,/:;<=>?@[\\]^\`{|}~`
/** All that may be in a value, obs-text as well (RFC 9110 §5.5). */
const ANY = Array.from({ length: 256 }, (_none, octet) => String.fromCharCode(octet))
  .filter((octet) => octet === '\t' || (octet >= ' ' && octet !== '\x7f'))
  .join('')

const COMMON_NAMES: readonly [string, ...string[]] = [
  'x-common',
  ...['cache-control', 'content-type', 'date', 'etag', 'server', 'vary', 'last-modified', 'set-cookie'],
  ...['x-request-id', 'x-a', 'location', 'accept-ranges', 'content-language', 'via', 'age', 'cookie'],
]

/** A name as good as any. */
function toName(random: Random): string {
  if (random.below(4) > 0) return random.pick(COMMON_NAMES)
  return `x-${random.text(1 + random.below(random.below(8) === 0 ? 60 : 10), NAME_LETTERS)}`
}

/** A value as good as any: it doesn't begin or end with a space. */
function toValue(random: Random): string {
  const length = random.below(random.below(16) === 0 ? 400 : 30)
  const kind = random.below(8)
  if (kind < 3) return random.text(1, 'abcdefgh')
  return random.text(length, kind === 3 ? DIGITS : kind === 4 ? ANY : TEXT).trim()
}

/** A list `[name, value, …]` of fields of which none is malformed. */
export function toFields(random: Random, max = 12): string[] {
  const fields: string[] = []
  for (let count = random.below(max + 1); count > 0; count--) fields.push(toName(random), toValue(random))
  return fields
}
