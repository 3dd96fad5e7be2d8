/**
 * The known name that is nearest to a misspelled one.
 *
 * @module
 */

/** Longer names aren't compared: the time that it takes grows with both lengths. */
const MAX_LENGTH = 64

/**
 * How many letters have to be added, removed or replaced to turn one text into the other. Swapping two neighbours
 * counts as one (the restricted Damerau–Levenshtein distance).
 */
export function toEditDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      const least = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
      )
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      current.push(isSwapped ? Math.min(least, at(beforeLast, column - 2) + 1) : least)
    }
    beforeLast = last
    last = current
  }
  return at(last, b.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}

/** How many mistakes a typo of this length may have: with more, it is a different word. */
function toTolerance(length: number): number {
  return length < 4 ? 0 : length < 8 ? 1 : length < 16 ? 2 : 3
}

/** The nearest of `names`, ignoring case; null if none is near enough. */
export function toNearestName(name: string, names: Iterable<string>): string | null {
  if (name.length > MAX_LENGTH) return null
  const given = name.toLowerCase()
  let nearest: string | null = null
  let least = toTolerance(given.length) + 1
  for (const known of names) {
    const distance = toEditDistance(given, known.toLowerCase())
    if (distance >= least) continue
    nearest = known
    least = distance
  }
  return nearest
}
