/**
 * Content codings: which of a file's precompressed copies a client accepts (RFC 9110 §12.5.3).
 *
 * @module
 */

/** A coding, and the suffix of a copy's name. */
export interface Coding {
  /** As in `content-encoding`. */
  readonly name: 'br' | 'gzip'
  readonly extension: string
}

/** The smaller copy first. */
export const CODINGS: readonly Coding[] = [
  { name: 'br', extension: '.br' },
  { name: 'gzip', extension: '.gz' },
]

/** `NAME`, or `NAME;q=WEIGHT`. */
const ENTRY = /^([!#$%&'*+\-.^_`|~\w]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i

/** The weight of what isn't named: acceptable, after everything that is. */
const LEAST = 0.0001

/**
 * Which of these a client accepts, the preferred one first. Null is the file itself, without a coding.
 *
 * @param field `accept-encoding`; undefined without one
 * @param available the codings for which there is a copy
 * @returns an empty list if the client accepts none, and excludes the file itself, too
 */
export function toAccepted(field: string | undefined, available: readonly Coding[]): (Coding | null)[] {
  const weights = toWeights(field ?? '')
  const others = weights.get('*')
  const choices = [
    ...available.map((coding) => ({ coding, weight: weights.get(coding.name) ?? others ?? 0 })),
    { coding: null, weight: weights.get('identity') ?? others ?? LEAST },
  ]
  // The sort keeps the order of equal ones.
  return choices
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ coding }) => coding)
}

/** By name, from 0 to 1. A malformed entry doesn't count. */
function toWeights(field: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const entry of field.split(',')) {
    const [, name = '', weight = '1'] = ENTRY.exec(entry.trim()) ?? []
    const lower = name.toLowerCase()
    if (name !== '') weights.set(lower === 'x-gzip' ? 'gzip' : lower, Number(weight))
  }
  return weights
}
