/**
 * The `coalesce` option of an Agent.
 *
 * @module
 */

import type { AgentOptions, CoalesceOptions } from '../../types/client.ts'
import { invalid, invalidKind, show, toBoolean } from '../core/validate.ts'

/** {@link CoalesceOptions}, with every option present. */
export type CoalesceRules = Readonly<
  Required<{ [K in keyof CoalesceOptions]: NonNullable<CoalesceOptions[K]> }>
>

/** An object, so that the compiler requires each of the type's names. */
const SOURCES: Readonly<Record<CoalesceRules['origins'], true>> = {
  dns: true,
  'origin-frame': true,
  both: true,
}

function isSource(value: unknown): value is CoalesceRules['origins'] {
  return typeof value === 'string' && Object.hasOwn(SOURCES, value)
}

/**
 * Checks and completes the option.
 *
 * @returns null if each origin has its own connections
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted
 */
export function toCoalesceRules({ coalesce }: Pick<AgentOptions, 'coalesce'>): CoalesceRules | null {
  if (coalesce === undefined || coalesce === null || coalesce === false) return null
  if (coalesce !== true && (typeof coalesce !== 'object' || Array.isArray(coalesce)))
    throw invalidKind('coalesce', coalesce, 'true, false, or an object with origins and skipDns')
  const given: CoalesceOptions = coalesce === true ? {} : coalesce
  for (const name of Object.keys(given))
    if (name !== 'origins' && name !== 'skipDns')
      throw invalid('coalesce', name, 'an object with origins and skipDns only')
  const origins: unknown = given.origins ?? 'both'
  if (!isSource(origins))
    throw invalid('coalesce.origins', origins, `one of ${Object.keys(SOURCES).map(show).join(', ')}`)
  const skipDns = toBoolean('coalesce.skipDns', given.skipDns, false)
  if (skipDns && origins === 'dns')
    throw invalid(
      'coalesce.skipDns',
      true,
      "false when coalesce.origins is 'dns': only an ORIGIN frame can replace the look-up",
    )
  return Object.freeze({ origins, skipDns })
}
