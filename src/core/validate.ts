/**
 * What every check of an input needs: how a value looks, and the error that names it.
 *
 * @module
 */

import { InvalidArgumentError } from '../errors.ts'

/** The longest delay that Node's timers take. */
const MAX_DELAY = 2 ** 31 - 1

/** How a value looks in an error message: short, and never throwing. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return toObjectName(value)
  return String(value)
}

function toObjectName(value: object): string {
  try {
    const name: unknown = value.constructor === undefined ? 'no prototype' : value.constructor.name
    if (typeof name === 'string' && name !== '') return `an object (${name})`
  } catch {
    // Asking an object runs its code, and what that throws would hide the message that is being made.
  }
  return 'an object'
}

/** The error for an argument: what it is called, what came, what would be accepted. */
export function invalid(name: string, value: unknown, accepted: string): InvalidArgumentError {
  return new InvalidArgumentError(`Invalid ${name}: got ${show(value)}, expected ${accepted}`)
}

/** A whole number from `min` to `max`; null and undefined mean the default. */
export function toInteger(
  name: string,
  value: unknown,
  fallback: number,
  min: number,
  max: number,
  unit: string,
) {
  if (value === undefined || value === null) return fallback
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw invalid(name, value, `a whole number of ${unit} from ${min} to ${max}`)
  }
  return value
}

/** A duration in milliseconds, 0 for none; null and undefined mean the default. */
export function toDelay(name: string, value: unknown, fallback: number): number {
  if (value === undefined || value === null) return fallback
  if (typeof value !== 'number' || !(value >= 0 && value <= MAX_DELAY)) {
    throw invalid(name, value, `milliseconds from 0 (never) to ${MAX_DELAY}`)
  }
  return value
}

/** `true` or `false`; null and undefined mean the default. */
export function toBoolean(name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined || value === null) return fallback
  if (typeof value !== 'boolean') throw invalid(name, value, 'true or false')
  return value
}
