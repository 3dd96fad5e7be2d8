/**
 * Pure: what SRV records say (RFC 2782).
 *
 * @module
 */

import type { SrvRecord } from 'node:dns'

/** A host of a service. */
export interface SrvTarget {
  readonly name: string
  readonly port: number
  /** Above 0. */
  readonly weight: number
  readonly priority: number
}

/** RFC 2782: a record of weight 0 has "a very small chance of being selected" beside others. */
const LEAST_WEIGHT = 0.1

/**
 * The hosts of a service.
 *
 * @throws when its domain says that there is no such service: by a target of `.`
 */
export function toTargets(service: string, records: readonly SrvRecord[]): SrvTarget[] {
  const targets = records.filter(({ name }) => name !== '' && name !== '.')
  if (targets.length === 0 && records.length > 0) {
    const error = new Error(
      `The SRV record of ${service} says that the service isn't available (its target is .)`,
    )
    throw Object.assign(error, { code: 'ENODATA', syscall: 'querySrv', hostname: service })
  }
  const areAllZero = targets.every(({ weight }) => weight === 0)
  return targets.map(({ name, port, weight, priority }) => ({
    ...{ name, port, priority },
    weight: areAllZero ? 1 : Math.max(LEAST_WEIGHT, weight),
  }))
}
