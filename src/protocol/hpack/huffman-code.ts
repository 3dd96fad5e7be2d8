/**
 * The Huffman code of RFC 7541, appendix B.
 *
 * @module
 */

/** The longest code's length, in bits. */
const MAX_LENGTH = 30

/** The end-of-string symbol, which is never sent (RFC 7541 §5.2). */
export const EOS = 256

/**
 * The length of each symbol's code, in bits: the 256 octets, and EOS.
 *
 * The code is canonical: codes of one length are consecutive numbers in the order of their symbols, and the codes of
 * the next length continue from there. So the lengths determine the whole code.
 */
export const HUFFMAN_LENGTHS: Readonly<Uint8Array> = Uint8Array.from([
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
])

function toCodes(lengths: Readonly<Uint8Array>): Uint32Array {
  const counts = new Uint32Array(MAX_LENGTH + 1)
  for (const length of lengths) counts[length] = (counts[length] ?? 0) + 1
  // The next code of each length.
  const next = new Uint32Array(MAX_LENGTH + 1)
  for (let length = 1; length < MAX_LENGTH; length++)
    next[length + 1] = 2 * ((next[length] ?? 0) + (counts[length] ?? 0))
  return Uint32Array.from(lengths, (length) => {
    const code = next[length] ?? 0
    next[length] = code + 1
    return code
  })
}

/** Each symbol's code, right-aligned: the 256 octets, and EOS. */
export const HUFFMAN_CODES: Readonly<Uint32Array> = toCodes(HUFFMAN_LENGTHS)
