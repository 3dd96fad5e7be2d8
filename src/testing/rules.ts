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
  /** How often it may still run. */
  left: number
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
  throw new TypeError(`A rule is for '*', for an index or for a function, and not for ${String(match)}`)
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
      `A rule is for a path or a method and a path, such as 'POST /a', and not for ${JSON.stringify(match)}`,
    )
  return ({ method, path }) => {
    if (wanted !== undefined && wanted !== method) return false
    return path === target || (!target.includes('?') && path.startsWith(`${target}?`))
  }
}
