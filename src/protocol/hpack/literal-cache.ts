/**
 * Literals that have come before, by the octets that they were sent as.
 *
 * @module
 */

/** The longest literal that is kept, in octets: a date in the Huffman code has 22, without it 29. */
const MAX_OCTETS = 32
/** The shortest: less is decoded faster, and a content-length hardly comes twice. */
const MIN_OCTETS = 6
/** Marks a key as that of a literal in the Huffman code: lengths stay below. */
const HUFFMAN_KEY = 0x80

/**
 * Some servers send most of their fields as literals that they don't index, in every response again (nginx does). This
 * keeps the strings that such literals were decoded to: a comparison of octets is cheaper than to decode them and to
 * make a new string.
 *
 * A slot holds one literal, the last that was put there: nothing grows.
 */
export class LiteralCache {
  readonly #octets: Uint8Array
  /** The literal's length, with `HUFFMAN_KEY` for one in the Huffman code; 0 for a free slot. */
  readonly #keys: Uint8Array
  readonly #texts: string[]
  readonly #verdicts: Uint8Array

  /** @param slots how many literals are kept */
  constructor(slots: number) {
    this.#octets = new Uint8Array(slots * MAX_OCTETS)
    this.#keys = new Uint8Array(slots)
    this.#texts = new Array<string>(slots).fill('')
    this.#verdicts = new Uint8Array(slots)
  }

  /** Whether a literal of so many octets may be kept. */
  static takes(length: number): boolean {
    return length >= MIN_OCTETS && length <= MAX_OCTETS
  }

  /** Whether this literal, which `takes()` takes, is the one in the slot. */
  has(slot: number, bytes: Uint8Array, start: number, end: number, isHuffman: boolean): boolean {
    if (this.#keys[slot] !== (isHuffman ? HUFFMAN_KEY : 0) + end - start) return false
    const octets = this.#octets
    const offset = slot * MAX_OCTETS - start
    for (let at = start; at < end; at++) {
      if (octets[offset + at] !== bytes[at]) return false
    }
    return true
  }

  /** What the slot's literal was decoded to. */
  textAt(slot: number): string {
    return this.#texts[slot] ?? ''
  }

  /** The verdict on the slot's literal. */
  verdictAt(slot: number): number {
    return this.#verdicts[slot] ?? 0
  }

  /** Keeps a literal, which `takes()` takes, in place of the slot's. `set()` says what it was decoded to. */
  put(slot: number, bytes: Uint8Array, start: number, end: number, isHuffman: boolean): void {
    const octets = this.#octets
    const offset = slot * MAX_OCTETS - start
    for (let at = start; at < end; at++) octets[offset + at] = bytes[at] ?? 0
    this.#keys[slot] = (isHuffman ? HUFFMAN_KEY : 0) + end - start
  }

  /** What the literal that was just put into the slot was decoded to. */
  set(slot: number, text: string, verdict: number): void {
    this.#texts[slot] = text
    this.#verdicts[slot] = verdict
  }
}
