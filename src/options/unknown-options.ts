/**
 * Reports typos: warns once about an option with an unknown name.
 *
 * @module
 */

import { show } from '../core/validate.ts'
import { judgeForeign } from './foreign-options.ts'
import type { KnownOptions } from './known-options.ts'
import { toNearestName } from './nearest-name.ts'

/** Names that were judged: the same name later costs one lookup. */
type Judged = Map<KnownOptions, Set<string>>

const judged: Judged = new Map()
/** Names that were judged where other code may have its own options. */
const judgedOpen: Judged = new Map()
/** Names that Dodici has warned about. */
const warned: Judged = new Map()

/**
 * How many names are kept for one kind: a caller that generates names must not fill the memory. Later names get no
 * warning.
 */
const MAX_JUDGED = 500

/**
 * Warns about each unknown name, once in the life of the process. It runs for each request: a loop over the names,
 * with one lookup each. Options from other libraries may be refused.
 *
 * @param isOpen whether other code, such as an interceptor, may have its own options here: then only a name close to
 *   a known one gets a warning, and nothing is refused
 * @throws InvalidArgumentError that names the option and what to use instead
 */
export function warnOfUnknownOptions(options: object, known: KnownOptions, isOpen: boolean): void {
  const { accepted } = known
  for (const name in options) if (!accepted.has(name)) judge(name, options, known, isOpen)
}

function judge(name: string, options: object, known: KnownOptions, isOpen: boolean): void {
  const foreign = known.foreign.get(name)
  if (foreign !== undefined) {
    const warning = judgeForeign(foreign, name, known.owner, Reflect.get(options, name), isOpen)
    if (warning !== null) warnOnce(name, known, warning)
    return
  }
  if (!remember(name, known, isOpen ? judgedOpen : judged)) return
  for (const covered of known.covers) remember(name, covered, judged)
  const nearest = toNearestName(name, known.names)
  if ((isOpen && nearest === null) || !remember(name, known, warned)) return
  const hint = nearest === null ? '' : `. Did you mean ${show(nearest)}?`
  warn(`Unknown ${known.owner} option: ${show(name)} has no effect${hint}`)
}

/**
 * Warns about a known option that has no effect on one of the APIs, once in the life of the process.
 *
 * @param message names the API, the option, and what to do instead
 */
export function warnOfIdleOption(message: string, known: KnownOptions): void {
  warnOnce(message, known, message)
}

/** Warns about an option, once in the life of the process. @param warning its text */
export function warnOnce(name: string, known: KnownOptions, warning: string): void {
  if (remember(name, known, warned)) warn(warning)
}

function warn(message: string): void {
  process.emitWarning(message, { type: 'DodiciWarning', code: 'DODICI_UNKNOWN_OPTION' })
}

/** @returns whether it is the first time */
function remember(name: string, known: KnownOptions, all: Judged): boolean {
  let names = all.get(known)
  if (names === undefined) {
    names = new Set()
    all.set(known, names)
  }
  if (names.size >= MAX_JUDGED || names.has(name)) return false
  names.add(name)
  return true
}
