/**
 * Which script is for which request, or connection.
 *
 * @module
 */

/**
 * What a rule is for:
 *
 * - `'*'`: all
 * - a number: the one with this index, from 0, in the order in which they came
 * - a function: those for which it returns true
 *
 * A request's has two more:
 *
 * - a text: a path, such as `/a` (with any query) or `/a?b=1` (with this one), or a method and a path, such as `POST
 *   /a`
 * - a pattern: the method and the path, such as `GET /a?b=1`, must match it
 */
export type Match<Subject> = '*' | number | ((subject: Subject) => boolean)

/** What a rule for connections may have. */
export const CONNECTION_OPTIONS = [
  ...['settings', 'acksPings', 'grantsCredit', 'obeysWindows', 'staysHalfOpen'],
  ...['onConnection', 'onRequest', 'onData', 'onComplete', 'onFrame'],
]

/** A rule that stands at one place of a list. */
export interface Rule<Subject, Script> {
  readonly matches: (subject: Subject) => boolean
  readonly script: Script
  /** As it was added: `onRequest('/a')`. */
  readonly name: string
  /** How often it may run; Infinity for any number. */
  readonly times: number
  /** Whether a test that never runs it is wrong: it is no part of a preset. */
  readonly isExpected: boolean
  /** How often it has run. */
  runs: number
}

/** Whether it has run as often as was asked for; once at least, without a number. */
export function isMet({ isExpected, runs, times }: Rule<never, unknown>): boolean {
  return !isExpected || runs >= (times === Number.POSITIVE_INFINITY ? 1 : times)
}

/** A rule that isn't met, for a message. */
export function toRuleText({ name, runs, times }: Rule<never, unknown>): string {
  return times === Number.POSITIVE_INFINITY ? name : `${name} (${runs} of ${times} times)`
}

/** @throws TypeError for a number of times that no rule can run */
export function checkTimes(times: unknown): number {
  if (times === Number.POSITIVE_INFINITY) return times
  if (typeof times === 'number' && Number.isSafeInteger(times) && times > 0) return times
  throw new TypeError(`times must be a whole number of at least 1, or Infinity, not ${String(times)}`)
}

/** What a rule is for, for a message. */
export function toMatchText(match: unknown): string {
  return typeof match === 'function'
    ? `a function${match.name === '' ? '' : ` ${match.name}`}`
    : toLiteral(match)
}

function toLiteral(match: unknown): string {
  return typeof match === 'string' ? `'${match}'` : String(match)
}

/** What every subject has. */
interface Indexed {
  readonly index: number
}

/** A request, for its rules. */
export interface MatchedRequest extends Indexed {
  readonly method: string
  readonly path: string
}

/** A predicate for a matcher of connections. @throws TypeError for anything else */
export function toPredicate<Subject extends Indexed>(match: Match<Subject>): (subject: Subject) => boolean {
  if (match === '*') return () => true
  if (typeof match === 'function') return match
  if (typeof match === 'number') return ({ index }) => index === match
  throw new TypeError(`A rule matches '*', an index or a function, not ${String(match)}`)
}

/** A predicate for a matcher of requests. @throws TypeError for anything else */
export function toRequestPredicate<Request extends MatchedRequest>(
  match: Match<Request> | string | RegExp,
): (request: Request) => boolean {
  // `test()` of a pattern with the flag g or y would go on from its last match.
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
