/**
 * ORIGIN's payload (RFC 8336 §2.1).
 *
 * @module
 */

/** How many of one frame's origins are read. */
const MAX_ORIGINS = 128

/**
 * Reads a frame's Origin-Entry fields: each has a 16-bit length, and so many octets of ASCII. What is cut off at the
 * end is dropped, and so is every entry after the 128th.
 *
 * @returns the entries as they were sent, valid or not
 */
export function readOrigins(bytes: Buffer, start: number, end: number): string[] {
  const origins: string[] = []
  for (let at = start; at + 2 <= end && origins.length < MAX_ORIGINS; ) {
    const from = at + 2
    at = from + bytes.readUInt16BE(at)
    if (at <= end) origins.push(bytes.toString('latin1', from, at))
  }
  return origins
}
