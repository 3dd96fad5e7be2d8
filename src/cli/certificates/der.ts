/**
 * Writes DER, the encoding of X.509 certificates (ITU-T X.690): each value is a tag, a length, and its content.
 *
 * @module
 */

/** The tags that certificates need (X.680 §8.4). */
const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** A value with its tag and length. */
function toValue(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(tag), toLength(content.length), content])
}

/** X.690 §10.1: the shortest form. From 128 bytes on, a byte says how many bytes of length follow. */
function toLength(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length)
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return Buffer.of(0x80 | bytes.length, ...bytes)
}

export function toSequence(...values: readonly Uint8Array[]): Buffer {
  return toValue(TAG.sequence, Buffer.concat(values))
}

/** A set with one element: X.690 §11.6 would sort more. */
export function toSetOfOne(value: Uint8Array): Buffer {
  return toValue(TAG.set, value)
}

export function toBoolean(value: boolean): Buffer {
  return toValue(TAG.boolean, Buffer.of(value ? 0xff : 0))
}

/**
 * A non-negative integer.
 *
 * @param bytes its base-256 digits, the highest first
 */
export function toInteger(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first === -1 ? Buffer.of(0) : Buffer.from(bytes.subarray(first))
  // X.690 §8.3: the first bit is the sign, and no more bytes than necessary are sent.
  const isNegative = (digits[0] ?? 0) >= 0x80
  return toValue(TAG.integer, isNegative ? Buffer.concat([Buffer.of(0), digits]) : digits)
}

/** A string of whole bytes. */
export function toBitString(bytes: Uint8Array): Buffer {
  return toValue(TAG.bitString, Buffer.concat([Buffer.of(0), bytes]))
}

/**
 * Named bits in one byte, such as a KeyUsage. X.690 §11.2.2: trailing zeros aren't sent.
 *
 * @param bits the numbers of the set bits: 0 to 7
 */
export function toNamedBits(bits: readonly number[]): Buffer {
  const byte = bits.reduce((sum, bit) => sum | (0x80 >> bit), 0)
  return toValue(TAG.bitString, Buffer.of(7 - Math.max(...bits), byte))
}

export function toOctetString(bytes: Uint8Array): Buffer {
  return toValue(TAG.octetString, bytes)
}

export function toUtf8String(text: string): Buffer {
  return toValue(TAG.utf8String, Buffer.from(text))
}

/** @param id with dots: `'2.5.29.17'` */
export function toObjectIdentifier(id: string): Buffer {
  const [first = 0, second = 0, ...rest] = id.split('.').map(Number)
  return toValue(TAG.objectIdentifier, Buffer.of(first * 40 + second, ...rest.flatMap(toBase128)))
}

/** Seven bits per byte; all bytes except the last have the eighth bit set. */
function toBase128(value: number): number[] {
  const bytes = [value & 0x7f]
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80)
  return bytes
}

/** RFC 5280 §4.1.2.5: years from 2050 on have four digits, earlier ones two. To the second, in UTC. */
export function toTime(time: Date): Buffer {
  const text = time.toISOString().replace(/[-:T]|\.\d+/g, '')
  const year = time.getUTCFullYear()
  if (year >= 2050) return toValue(TAG.generalizedTime, Buffer.from(text))
  return toValue(TAG.utcTime, Buffer.from(text.slice(2)))
}

/** A value with a context-specific tag: `[n] EXPLICIT`. */
export function toExplicit(number: number, value: Uint8Array): Buffer {
  return toValue(0xa0 | number, value)
}

/** A primitive value whose tag is replaced by a context-specific one: `[n] IMPLICIT`. */
export function toImplicit(number: number, content: Uint8Array): Buffer {
  return toValue(0x80 | number, content)
}
