/**
 * Content codings: which of a file's precompressed copies a client accepts (RFC 9110 §12.5.3).
 *
 * @module
 */

/** A coding, and what the name of a copy in it ends with. */
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

/** Of what isn't named: acceptable, after all that is. */
const LEAST = 0.0001

/**
 * What a client accepts of these, the preferred one first. Null is the file itself, without a coding.
 *
 * @param field `accept-encoding`; undefined without one
 * @param available the codings in which there is a copy
 * @returns an empty list when the client accepts none, and excludes the file itself as well
 */
export function toAccepted(field: string | undefined, available: readonly Coding[]): (Coding | null)[] {
  const weights = toWeights(field ?? '')
  const others = weights.get('*')
  const choices = [
    ...available.map((coding) => ({ coding, weight: weights.get(coding.name) ?? others ?? 0 })),
    { coding: null, weight: weights.get('identity') ?? others ?? LEAST },
  ]
  // The sort keeps the order of equals.
  return choices
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ coding }) => coding)
}

/** By name, from 0 to 1. An entry that is malformed counts for nothing. */
function toWeights(field: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const entry of field.split(',')) {
    const [, name = '', weight = '1'] = ENTRY.exec(entry.trim()) ?? []
    const lower = name.toLowerCase()
    if (name !== '') weights.set(lower === 'x-gzip' ? 'gzip' : lower, Number(weight))
  }
  return weights
}
