/**
 * The rules that make a single field malformed (RFC 9113 §8.2.1 and §8.2.2), applied while it is decoded.
 *
 * A verdict is a small number, so that the dynamic table can keep one for each entry. The low bits are the verdict on
 * the name, the bits above them that on the value. 0 is a good field.
 *
 * @module
 */

import { show } from '../../core/validate.ts'
import { BAD_IN_NAME, BAD_IN_VALUE, COLON } from './octet-class.ts'

const NAME_IS_EMPTY = 1
const NAME_HAS_BAD_OCTET = 2
const NAME_IS_CONNECTION_SPECIFIC = 3
/** Not a fault in itself: the value decides. */
const NAME_IS_TE = 4
const NAME_BITS = 7

const VALUE_HAS_BAD_OCTET = 1 << 3
const VALUE_HAS_SPACE_AROUND = 2 << 3
const VALUE_IS_NOT_TRAILERS = 3 << 3

const HTAB = 0x09
const SP = 0x20

function isConnectionSpecific(name: string): boolean {
  switch (name.length) {
    case 7:
      return name === 'upgrade'
    case 10:
      return name === 'connection' || name === 'keep-alive'
    case 16:
      return name === 'proxy-connection'
    case 17:
      return name === 'transfer-encoding'
    default:
      return false
  }
}

/**
 * The verdict on a name.
 *
 * @param classes the classes of all its octets, or'ed together
 */
export function judgeName(name: string, classes: number): number {
  if (name === '') return NAME_IS_EMPTY
  if ((classes & BAD_IN_NAME) !== 0) return NAME_HAS_BAD_OCTET
  if ((classes & COLON) !== 0) return name.lastIndexOf(':') > 0 ? NAME_HAS_BAD_OCTET : 0
  if (name === 'te') return NAME_IS_TE
  return isConnectionSpecific(name) ? NAME_IS_CONNECTION_SPECIFIC : 0
}

/**
 * The verdict on a value.
 *
 * @param classes the classes of all its octets, or'ed together
 */
export function judgeValue(value: string, classes: number): number {
  if ((classes & BAD_IN_VALUE) !== 0) return VALUE_HAS_BAD_OCTET
  return value !== '' && (isSpace(value.charCodeAt(0)) || isSpace(value.charCodeAt(value.length - 1)))
    ? VALUE_HAS_SPACE_AROUND
    : 0
}

function isSpace(octet: number): boolean {
  return octet === SP || octet === HTAB
}

/** The verdict on a name in the static table. */
export function judgeStaticName(name: string): number {
  return isConnectionSpecific(name) ? NAME_IS_CONNECTION_SPECIFIC : 0
}

/**
 * The verdict on a field.
 *
 * @param nameVerdict the verdict on its name, or on another field with this name
 */
export function judgeField(nameVerdict: number, valueVerdict: number, value: string): number {
  const ofName = nameVerdict & NAME_BITS
  if (ofName === NAME_IS_TE && valueVerdict === 0 && value.toLowerCase() !== 'trailers') {
    return ofName | VALUE_IS_NOT_TRAILERS
  }
  return ofName | valueVerdict
}

/** Whether a field with this verdict makes its message malformed. */
export function isFault(verdict: number): boolean {
  return (verdict & ~NAME_IS_TE) !== 0
}

/** Describes a fault for an error message. It contains the field's name, never its value. */
export function toFault(verdict: number, name: string): string {
  switch (verdict & NAME_BITS) {
    case NAME_IS_EMPTY:
      return 'a field name is empty (RFC 9113 §8.2.1)'
    case NAME_HAS_BAD_OCTET:
      return `the field name ${show(name)} contains an octet that is not allowed (RFC 9113 §8.2.1)`
    case NAME_IS_CONNECTION_SPECIFIC:
      return `the field ${show(name)} is connection-specific (RFC 9113 §8.2.2)`
    default:
      return `the value of the field ${show(name)} ${toValueFault(verdict)}`
  }
}

function toValueFault(verdict: number): string {
  switch (verdict & ~NAME_BITS) {
    case VALUE_HAS_BAD_OCTET:
      return 'contains NUL, CR or LF (RFC 9113 §8.2.1)'
    case VALUE_HAS_SPACE_AROUND:
      return 'starts or ends with a space or tab (RFC 9113 §8.2.1)'
    default:
      return "is not 'trailers' (RFC 9113 §8.2.2)"
  }
}
