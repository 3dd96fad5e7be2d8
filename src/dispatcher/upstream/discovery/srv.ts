/**
 * Pure: the meaning of SRV records (RFC 2782).
 *
 * @module
 */

import type { SrvRecord } from 'node:dns'

/** One of a service's hosts. */
export interface SrvTarget {
  readonly name: string
  readonly port: number
  /** Above 0. */
  readonly weight: number
  readonly priority: number
}

/** RFC 2782: a record of weight 0 has "a very small chance of being selected" next to others. */
const LEAST_WEIGHT = 0.1

/**
 * A service's hosts, and what is wrong with the records that don't name any: port 0 can't be connected to.
 *
 * @throws if the domain says, with a target of `.`, that there is no such service, or if no record can be used
 */
export function toTargets(
  service: string,
  records: readonly SrvRecord[],
): { readonly targets: readonly SrvTarget[]; readonly unusable: readonly Error[] } {
  const hosts = records.filter(({ name }) => name !== '' && name !== '.')
  const targets = hosts.filter(({ port }) => port !== 0)
  const unusable = hosts
    .filter(({ port }) => port === 0)
    .map(({ name }) => new Error(`An SRV record for ${service} has port 0, for ${name}`))
  const [first] = unusable
  if (targets.length === 0 && first !== undefined) throw first
  if (targets.length === 0 && records.length > 0) {
    const error = new Error(
      `The SRV record for ${service} says that the service isn't available (its target is .)`,
    )
    throw Object.assign(error, { code: 'ENODATA', syscall: 'querySrv', hostname: service })
  }
  const areAllZero = targets.every(({ weight }) => weight === 0)
  const weighted = targets.map(({ name, port, weight, priority }) => ({
    ...{ name, port, priority },
    weight: areAllZero ? 1 : Math.max(LEAST_WEIGHT, weight),
  }))
  return { targets: weighted, unusable }
}
