/**
 * Which script runs for which request or connection.
 *
 * @module
 */

/**
 * What a rule applies to:
 *
 * - `'*'`: all
 * - a number: the one with this index, from 0, in the order of arrival
 * - a function: those for which it returns true
 *
 * Rules for requests also accept:
 *
 * - a string: a path, such as `/a` (with any query) or `/a?b=1` (with this query), or a method and a path: `POST /a`
 * - a pattern that matches the method and the path, such as `GET /a?b=1`
 */
export type Match<Subject> = '*' | number | ((subject: Subject) => boolean)

/** The members of a rule for connections. */
export const CONNECTION_OPTIONS = [
  ...['settings', 'acksPings', 'grantsCredit', 'obeysWindows', 'staysHalfOpen'],
  ...['onConnection', 'onRequest', 'onData', 'onComplete', 'onFrame'],
]

/** A rule in the list of rules. */
export interface Rule<Subject, Script> {
  readonly matches: (subject: Subject) => boolean
  readonly script: Script
  /** How it was added: `onRequest('/a')`. */
  readonly name: string
  /** How often it may run; Infinity: no limit. */
  readonly times: number
  /** Whether it has to run: it isn't part of a preset. */
  readonly isExpected: boolean
  /** How often it has run. */
  runs: number
}

/** Whether it has run as often as it should: `times`, or at least once. */
export function isMet({ isExpected, runs, times }: Rule<never, unknown>): boolean {
  return !isExpected || runs >= (times === Number.POSITIVE_INFINITY ? 1 : times)
}

/** A rule that hasn't run often enough, as text for an error message. */
export function toRuleText({ name, runs, times }: Rule<never, unknown>): string {
  return times === Number.POSITIVE_INFINITY ? name : `${name} (${runs} of ${times} times)`
}

/** @throws TypeError for an invalid number of times */
export function checkTimes(times: unknown): number {
  if (times === Number.POSITIVE_INFINITY) return times
  if (typeof times === 'number' && Number.isSafeInteger(times) && times > 0) return times
  throw new TypeError(`times must be a whole number of at least 1, or Infinity, not ${String(times)}`)
}

/** What a rule applies to, as text for an error message. */
export function toMatchText(match: unknown): string {
  return typeof match === 'function'
    ? `a function${match.name === '' ? '' : ` ${match.name}`}`
    : toLiteral(match)
}

function toLiteral(match: unknown): string {
  return typeof match === 'string' ? `'${match}'` : String(match)
}

/** What all subjects have in common. */
interface Indexed {
  readonly index: number
}

/** A request, for its rules. */
export interface MatchedRequest extends Indexed {
  readonly method: string
  readonly path: string
}

/** Creates a predicate from a matcher for connections. @throws TypeError for anything else */
export function toPredicate<Subject extends Indexed>(match: Match<Subject>): (subject: Subject) => boolean {
  if (match === '*') return () => true
  if (typeof match === 'function') return match
  if (typeof match === 'number') return ({ index }) => index === match
  throw new TypeError(`A rule matches '*', an index or a function, not ${String(match)}`)
}

/** Creates a predicate from a matcher for requests. @throws TypeError for anything else */
export function toRequestPredicate<Request extends MatchedRequest>(
  match: Match<Request> | string | RegExp,
): (request: Request) => boolean {
  // With the flag g or y, a pattern's `test()` would continue after its last match.
  if (match instanceof RegExp) return ({ method, path }) => `${method} ${path}`.search(match) !== -1
  if (typeof match !== 'string' || match === '*') return toPredicate(match)
  const [, wanted, target = ''] = /^(?:([A-Z]+) )?(\/.*|\*)$/.exec(match) ?? []
  if (target === '')
    throw new TypeError(
      `A rule matches a path, or a method and a path such as 'POST /a', not ${JSON.stringify(match)}`,
    )
  return ({ method, path }) => {
    if (wanted !== undefined && wanted !== method) return false
    return path === target || (!target.includes('?') && path.startsWith(`${target}?`))
  }
}
