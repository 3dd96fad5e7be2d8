/**
 * Which bytes of a file a request asks for, and under which conditions (RFC 9110 §13 and §14).
 *
 * @module
 */

import type { IncomingRequest } from './exchange.ts'

type RequestFields = IncomingRequest['headers']
type Field = string | string[] | undefined

/** What distinguishes one state of a file from another. */
export interface Validators {
  /** A strong entity tag, with its quotes. */
  readonly etag: string
  readonly modified: Date
}

/**
 * The result of the conditions in a GET or HEAD, in the order of RFC 9110 §13.2.2.
 *
 * @returns 304: the client has it; 412: it isn't what the client wants; null: neither
 */
export function toCondition(fields: RequestFields, { etag, modified }: Validators): 304 | 412 | null {
  const match = fields['if-match']
  const unmodified = toTime(fields['if-unmodified-since'])
  if (match !== undefined ? !isListed(match, etag, false) : toSeconds(modified) > unmodified) return 412
  const noneMatch = fields['if-none-match']
  const since = toTime(fields['if-modified-since'])
  if (noneMatch !== undefined) return isListed(noneMatch, etag, true) ? 304 : null
  return toSeconds(modified) <= since ? 304 : null
}

/** In milliseconds: an HTTP date has whole seconds. */
function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1_000) * 1_000
}

/** NaN, for which every comparison is false, if it isn't a date. */
function toTime(field: Field): number {
  return field === undefined ? Number.NaN : Date.parse(String(field))
}

/** @param isWeak whether a weak tag matches the same strong one (RFC 9110 §8.8.3.2) */
function isListed(field: string | string[], etag: string, isWeak: boolean): boolean {
  return String(field)
    .split(',')
    .map((tag) => (isWeak ? tag.trim().replace(/^W\//, '') : tag.trim()))
    .some((tag) => tag === '*' || tag === etag)
}

/** Part of a body: `end` is the first byte after it. */
export interface Range {
  readonly start: number
  readonly end: number
}

/**
 * The part that a GET asks for.
 *
 * @returns null for all bytes
 */
export function toPart(fields: RequestFields, validators: Validators, size: number): Range | 'none' | null {
  const ifRange = fields['if-range']
  // RFC 9110 §13.1.5: the very same entity tag, which a weak one never is, or the very same date.
  const { etag, modified } = validators
  if (ifRange !== undefined && ifRange !== etag && ifRange !== modified.toUTCString()) return null
  return toRange(fields.range, size)
}

/**
 * RFC 9110 §14.1.2: one range, or several that together are one. For anything else, all bytes are sent, which is always
 * allowed.
 *
 * @returns 'none' if there are no such bytes
 */
export function toRange(field: Field, size: number): Range | 'none' | null {
  const [, list] = /^bytes=(.*)$/i.exec(String(field ?? '')) ?? []
  if (list === undefined) return null
  const ranges: Range[] = []
  for (const text of list.split(',')) {
    const range = toOneRange(text.trim(), size)
    if (range === null) return null
    if (range !== 'none') ranges.push(range)
  }
  ranges.sort((a, b) => a.start - b.start)
  const [first] = ranges
  if (first === undefined) return 'none'
  let { end } = first
  for (const range of ranges) {
    if (range.start > end) return null
    end = Math.max(end, range.end)
  }
  return { start: first.start, end }
}

function toOneRange(text: string, size: number): Range | 'none' | null {
  const [, first, last] = /^(\d*)-(\d*)$/.exec(text) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return null
  // The last so many bytes.
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'none' : { start: size - length, end: size }
  }
  const start = Number(first)
  const end = last === '' ? size : Math.min(Number(last) + 1, size)
  if (last !== '' && Number(last) < start) return null
  return start < size ? { start, end } : 'none'
}
