/**
 * Priorities (RFC 9218).
 *
 * @module
 */

import type { RequestPriority } from '../../types/request.ts'
import { invalid, toBoolean, toInteger } from '../core/validate.ts'

const LEAST_URGENT = 7

/** The urgency of a request that doesn't set one (RFC 9218 §4.1). */
export const DEFAULT_URGENCY = 3

/** The member `u` of a `priority` field. */
const URGENCY = /(?:^|,)[ \t]*u=([0-7])[ \t]*(?=$|[,;])/

/** The urgency in a `priority` field. */
export function toUrgency(value: string | undefined): number {
  if (value === undefined) return DEFAULT_URGENCY
  const [, level] = URGENCY.exec(value) ?? []
  return level === undefined ? DEFAULT_URGENCY : Number(level)
}

/**
 * Converts a priority to the value of a `priority` field (RFC 9218 §4), such as `u=1, i`. A missing member isn't
 * sent.
 *
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted
 */
export function toPriorityField(priority: RequestPriority): string {
  const given: unknown = priority
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalid('priority', given, 'an object with urgency and incremental, or null')
  }
  const { urgency, incremental } = priority
  const isIncremental = toBoolean('priority.incremental', incremental, false)
  const level = toInteger('priority.urgency', urgency, -1, 0, LEAST_URGENT, 'levels')
  const parts = level === -1 ? [] : [`u=${level}`]
  if (isIncremental) parts.push('i')
  return parts.join(', ')
}
