/**
 * Options that Dodici doesn't have, but undici 6, 7 and 8, got or axios do. The tables say whether Dodici refuses,
 * ignores or accepts each.
 *
 * @module
 */

import { InvalidArgumentError } from '../errors/errors.ts'

/** One such option. docs/options.md has the same table: a test compares them. */
export interface ForeignOption {
  /**
   * - `refused`: it would change what the program means, and the error says what to use instead
   * - `warned`: it has no effect, and a warning says so, once
   * - `accepted`: it has no effect that a program could miss
   */
  readonly fate: 'refused' | 'warned' | 'accepted'
  /** What to use instead, or why it has no effect: the end of a sentence. */
  readonly why: string
  /** Whether a value has no effect anyway. Not called for undefined and null, which never have an effect. */
  isIdle(value: unknown): boolean
}

export type ForeignOptions = ReadonlyMap<string, ForeignOption>

/** Values that have no effect. */
type Idle = readonly unknown[] | ((value: unknown) => boolean)

function foreign(fate: ForeignOption['fate'], why: string, idle: Idle = []): ForeignOption {
  return { fate, why, isIdle: typeof idle === 'function' ? idle : (value) => idle.includes(value) }
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

const REDIRECTS = foreign('refused', "use fetch(), or compose() with undici's redirect()", [0])
const STATUSES = foreign('refused', "use compose() with undici's responseError()", [false])
const TOS = foreign('warned', 'a connection carries many requests at once', [0])

/** Dispatcher options. */
export const FOREIGN_DISPATCHER_OPTIONS: ForeignOptions = new Map([
  // undici refuses these itself.
  ['idleTimeout', foreign('refused', 'use keepAliveTimeout')],
  ['keepAlive', foreign('refused', 'use pipelining: 0')],
  ['maxKeepAliveTimeout', foreign('refused', 'use keepAliveMaxTimeout')],
  ['socketTimeout', foreign('refused', 'use headersTimeout and bodyTimeout')],
  // undici 6 obeys it.
  ['interceptors', foreign('refused', 'use compose()', isEmpty)],
  // undici 6 obeys them, 7 and 8 ignore them.
  ['maxRedirections', { ...REDIRECTS, fate: 'warned' }],
  ['throwOnError', { ...STATUSES, fate: 'warned' }],
  ['maxCachedSessions', foreign('warned', 'one TLS ticket is kept for each origin', (value) => value !== 0)],
  ['preferH2', foreign('accepted', 'HTTP/2 is preferred')],
  ['typeOfService', TOS],
  ['useMilo', foreign('warned', "it selects undici's HTTP/1.1 parser", [false])],
])

/** Request options. */
export const FOREIGN_REQUEST_OPTIONS: ForeignOptions = new Map([
  ['maxRedirections', REDIRECTS],
  ['throwOnError', STATUSES],
  ['typeOfService', TOS],
  // Of got and axios.
  ['json', foreign('warned', 'use body: JSON.stringify(…), and the header content-type')],
  ['params', foreign('warned', 'use query')],
  ['searchParams', foreign('warned', 'use query')],
  ['timeout', foreign('warned', 'use requestTimeout')],
  ['retry', foreign('warned', "use idempotent, or compose() with undici's retry()")],
])

/**
 * Judges an option that Dodici doesn't have.
 *
 * @param isOpen whether an interceptor in front may have an option of this name
 * @returns the text of a warning, null for none
 * @throws InvalidArgumentError that names the option and what to use instead
 */
export function judgeForeign(
  { fate, why, isIdle }: ForeignOption,
  name: string,
  owner: string,
  value: unknown,
  isOpen: boolean,
): string | null {
  if (isOpen || fate === 'accepted' || value === undefined || value === null || isIdle(value)) return null
  if (fate === 'warned') return `The ${owner} option ${name} has no effect: ${why}`
  throw new InvalidArgumentError(`The ${owner} option ${name} isn't supported: ${why}`)
}
