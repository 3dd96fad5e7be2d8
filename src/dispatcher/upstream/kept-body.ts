/**
 * Bodies that can be read only once, for requests that may go to several upstreams.
 *
 * @module
 */

import { Readable } from 'node:stream'
import type { DispatchOptions } from '../../../types/request.ts'
import { isReadableStream } from '../../request/body.ts'
import { KeptIterable } from '../../request/kept-source.ts'
import { isReplayableBody } from './failure.ts'

/**
 * The request's body in a form that each upstream can read, if it is an iterable with a known `content-length` of at
 * most `limit` bytes. Null for any other body.
 */
export function toKeptIterable({ body, headers }: DispatchOptions, limit: number): KeptIterable | null {
  if (isReplayableBody(body) || !isIterable(body) || body instanceof Readable || isReadableStream(body))
    return null
  const length = toLength(findContentLength(headers))
  return length === null || length > limit ? null : new KeptIterable(body, length)
}

function isIterable(body: unknown): body is object & (AsyncIterable<unknown> | Iterable<unknown>) {
  return (
    typeof body === 'object' && body !== null && (Symbol.asyncIterator in body || Symbol.iterator in body)
  )
}

/** The field's value, unchecked: the upstream's dispatcher checks all fields. Undefined if there is none. */
function findContentLength(headers: unknown): unknown {
  if (typeof headers !== 'object' || headers === null) return undefined
  if (Array.isArray(headers) && !Array.isArray(headers[0])) {
    for (let i = 0; i < headers.length; i += 2) if (isContentLength(headers[i])) return headers[i + 1]
    return undefined
  }
  const pairs = Symbol.iterator in headers ? (headers as Iterable<unknown>) : Object.entries(headers)
  for (const pair of pairs) if (Array.isArray(pair) && isContentLength(pair[0])) return pair[1]
  return undefined
}

function isContentLength(name: unknown): boolean {
  return typeof name === 'string' && name.toLowerCase() === 'content-length'
}

function toLength(value: unknown): number | null {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : null
}
