/**
 * The payload of ORIGIN (RFC 8336 §2.1).
 *
 * @module
 */

/** How many origins are read of one frame. */
const MAX_ORIGINS = 128

/**
 * Reads the Origin-Entry fields of a frame: each has 16 bits of length, and so many octets of ASCII. What is cut off at
 * the end is dropped, and so is every entry behind the 128th.
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
