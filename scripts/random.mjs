/**
 * Random numbers from a seed (mulberry32): a run can be repeated with the same choices, though not with the same
 * timing.
 *
 * @param {number} seed
 */
export function makeRandom(seed) {
  let state = seed | 0

  /** From 0 to below 1. */
  function next() {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  /** @param {number} min @param {number} max inclusive */
  const integer = (min, max) => min + Math.floor(next() * (max - min + 1))

  return {
    next,
    integer,
    /** @param {number} probability */
    chance: (probability) => next() < probability,
    /** @template T @param {readonly T[]} list @returns {T} */
    pick: (list) => list[integer(0, list.length - 1)],
    /**
     * One name, with a probability by its weight.
     *
     * @param {Readonly<Record<string, number>>} weights
     * @returns {string}
     */
    weighted(weights) {
      const entries = Object.entries(weights)
      let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [name, weight] of entries) {
        left -= weight
        if (left < 0) return name
      }
      return entries[0][0]
    },
    /** A seed for a generator of its own. */
    fork: () => integer(0, 2 ** 31 - 1),
  }
}

/** @typedef {ReturnType<typeof makeRandom>} Random */
