/**
 * Classes of octets that field names or values must not contain (RFC 9113 §8.2.1). They are bits, so a string's classes
 * can be or'ed together while it is decoded.
 *
 * @module
 */

/** NUL, CR and LF: not allowed in a value. */
export const BAD_IN_VALUE = 1
/** 0x00-0x20, upper-case letters and 0x7f-0xff: not allowed in a name. */
export const BAD_IN_NAME = 2
/** A colon: allowed in a name only as the first octet. */
export const COLON = 4

function classify(octet: number): number {
  if (octet === 0x00 || octet === 0x0a || octet === 0x0d) return BAD_IN_VALUE | BAD_IN_NAME
  if (octet <= 0x20 || (octet >= 0x41 && octet <= 0x5a) || octet >= 0x7f) return BAD_IN_NAME
  return octet === 0x3a ? COLON : 0
}

const CLASSES: Readonly<Uint8Array> = Uint8Array.from({ length: 256 }, (_none, octet) => classify(octet))

/** One octet's class bits. */
export function toClass(octet: number): number {
  return CLASSES[octet] ?? 0
}

/** The class bits of all octets from `start` to before `end`, or'ed together. */
export function toClasses(bytes: Uint8Array, start: number, end: number): number {
  let classes = 0
  for (let at = start; at < end; at++) classes |= CLASSES[bytes[at] ?? 0] ?? 0
  return classes
}
