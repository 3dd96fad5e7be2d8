/** Random choices with a seed: the same seed gives the same choices on every machine. */

/** mulberry32: 32 bits of state, which is plenty for the choices of one scene. */
export class Random {
  #state: number

  constructor(seed: number) {
    // Neighbouring seeds shall not begin alike.
    this.#state = Math.imul(seed + 1, 0x9e3779b1) | 0
  }

  /** From 0 up to 1, which it never is. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** An integer, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.between(0, items.length - 1)] as T
  }

  /** A few of them, in any order, possibly more than once. */
  some<T>(items: readonly [T, ...T[]], most: number): T[] {
    return Array.from({ length: this.between(0, most) }, () => this.pick(items))
  }

  /** Bytes that differ from place to place, so that a piece that is lost or comes twice is noticed. */
  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length)
    let value = this.between(0, 255)
    for (let i = 0; i < length; i++) {
      value = (value * 5 + 17 + (i >> 8)) & 0xff
      bytes[i] = value
    }
    return bytes
  }
}
