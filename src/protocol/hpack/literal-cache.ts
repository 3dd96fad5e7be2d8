/**
 * Keeps decoded literals by their octets on the wire.
 *
 * @module
 */

/** The longest literal that is kept, in octets: a date has 22 in the Huffman code, and 29 without. */
const MAX_OCTETS = 32
/**
 * The shortest literal that is kept, in octets: shorter ones are decoded faster, and a content-length is rarely
 * repeated.
 */
const MIN_OCTETS = 6
/** Marks a Huffman-encoded literal's key; lengths are below it. */
const HUFFMAN_KEY = 0x80

const NONE = new Uint8Array(0)

/**
 * Some servers (such as nginx) send most of their fields as literals without indexing, again in every response. This
 * cache keeps the strings of such literals: comparing octets is cheaper than decoding them and creating a new string.
 *
 * A slot holds one literal, the last that was put there, so memory doesn't grow. A connection whose server indexes its
 * fields needs none: room for them is made at the first one.
 */
export class LiteralCache {
  readonly #slots: number
  #octets: Uint8Array = NONE
  /** By slot: the literal's length, plus `HUFFMAN_KEY` if it is Huffman-encoded; 0 for a free slot. */
  readonly #keys: Uint8Array
  #texts: string[] = []
  #verdicts: Uint8Array = NONE

  /** @param slots how many literals are kept */
  constructor(slots: number) {
    this.#slots = slots
    this.#keys = new Uint8Array(slots)
  }

  /** Whether a literal of this many octets may be kept. */
  static takes(length: number): boolean {
    return length >= MIN_OCTETS && length <= MAX_OCTETS
  }

  /** Whether the slot holds this literal. `takes()` has to be true for its length. */
  has(slot: number, bytes: Uint8Array, start: number, end: number, isHuffman: boolean): boolean {
    if (this.#keys[slot] !== (isHuffman ? HUFFMAN_KEY : 0) + end - start) return false
    const octets = this.#octets
    const offset = slot * MAX_OCTETS - start
    for (let at = start; at < end; at++) {
      if (octets[offset + at] !== bytes[at]) return false
    }
    return true
  }

  /** The string of the slot's literal. */
  textAt(slot: number): string {
    return this.#texts[slot] ?? ''
  }

  /** The verdict on the slot's literal. */
  verdictAt(slot: number): number {
    return this.#verdicts[slot] ?? 0
  }

  /**
   * Puts a literal into the slot, replacing the earlier one. `takes()` has to be true for its length. `set()` has to
   * follow.
   */
  put(slot: number, bytes: Uint8Array, start: number, end: number, isHuffman: boolean): void {
    if (this.#octets.length === 0) this.#makeRoom()
    const octets = this.#octets
    const offset = slot * MAX_OCTETS - start
    for (let at = start; at < end; at++) octets[offset + at] = bytes[at] ?? 0
    this.#keys[slot] = (isHuffman ? HUFFMAN_KEY : 0) + end - start
  }

  /** Sets the string and the verdict for the literal that was just put into the slot. */
  set(slot: number, text: string, verdict: number): void {
    this.#texts[slot] = text
    this.#verdicts[slot] = verdict
  }

  #makeRoom(): void {
    this.#octets = new Uint8Array(this.#slots * MAX_OCTETS)
    this.#texts = new Array<string>(this.#slots).fill('')
    this.#verdicts = new Uint8Array(this.#slots)
  }
}
