/**
 * What every input check needs: how to show a value, and the error that names it.
 *
 * @module
 */

import { InvalidArgumentError } from '../errors/errors.ts'
import { MAX_DELAY } from './clock.ts'

/** The most characters of a string that a message shows. */
const MAX_SHOWN = 80

/** A value as an error message shows it: short. Never throws. */
export function show(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return toObjectName(value)
  return String(value)
}

/**
 * Like {@link show}, but of a string it shows only the kind: where another type is expected, the string may be a
 * secret.
 */
export function showKind(value: unknown): string {
  return typeof value === 'string' ? 'a string' : show(value)
}

/** A field's name. Of a whole line, with a value after a colon, it shows only the name. */
export function showName(name: unknown): string {
  // The first character may be the colon of a pseudo-header.
  const colon = typeof name === 'string' ? name.indexOf(':', 1) : -1
  if (typeof name !== 'string' || colon === -1 || colon + 1 === name.length) return show(name)
  return show(`${name.slice(0, colon + 1)}…`)
}

/** A path, an authority or a URL, as an error message shows it: see `withoutSecrets()`. */
export function showTarget(target: unknown): string {
  return typeof target === 'string' ? show(withoutSecrets(target)) : showKind(target)
}

/** A path, an authority or a URL without credentials, query and fragment. `…` stands for what is left out. */
export function withoutSecrets(target: string): string {
  const end = target.search(/[?#]/)
  // A single slash begins a path: an `@` in it doesn't end credentials.
  const at = /^\/(?!\/)/.test(target) ? -1 : target.lastIndexOf('@')
  // This may be part of the password or of the query: there is no way to tell.
  if (end !== -1 && end < at) return '…'
  const text = end === -1 || end + 1 === target.length ? target : `${target.slice(0, end + 1)}…`
  return at === -1 ? text : `…${text.slice(at)}`
}

function toObjectName(value: object): string {
  try {
    const name: unknown = value.constructor === undefined ? 'no prototype' : value.constructor.name
    if (typeof name === 'string' && name !== '') return `an object (${name})`
  } catch {
    // Converting an object runs its code: an error from there would hide the message that is being built.
  }
  return 'an object'
}

/** The error for an argument: its name, its value, and what would be accepted. */
export function invalid(name: string, value: unknown, accepted: string): InvalidArgumentError {
  return toInvalid(name, show(value), accepted)
}

/**
 * Like `invalid()`, for an argument that has to be an object or a function. A string that was passed instead isn't
 * shown: it may be a body, a header, or a URL with a password.
 */
export function invalidKind(name: string, value: unknown, accepted: string): InvalidArgumentError {
  return toInvalid(name, showKind(value), accepted)
}

/**
 * Like `invalid()`, with the value's text given.
 *
 * @param shown for example from `showTarget()`
 */
export function toInvalid(name: string, shown: string, accepted: string): InvalidArgumentError {
  return new InvalidArgumentError(`Invalid ${name}: got ${escapeUnseen(shown)}, expected ${accepted}`)
}

/**
 * Characters that a terminal or a log could interpret as a command, or not show at all: DEL, C1, line separators and
 * direction marks.
 */
const UNSEEN = /[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

function escapeUnseen(shown: string): string {
  return shown.replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
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

/** `true` or `false`; null for null and undefined. */
export function toOptionalBoolean(name: string, value: unknown): boolean | null {
  return value === undefined || value === null ? null : toBoolean(name, value, false)
}

/** `true` or `false`; null and undefined mean the default. */
export function toBoolean(name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined || value === null) return fallback
  if (typeof value !== 'boolean') throw invalid(name, value, 'true or false')
  return value
}
