/**
 * Pure: what a source of upstreams is, and what its answers consist of.
 *
 * @module
 */

import type { UpstreamSource } from '../../../../types/upstream.ts'
import { invalidKind } from '../../../core/validate.ts'

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Whether a value is a source of upstreams rather than an upstream. */
export function isSource(value: unknown): value is UpstreamSource {
  return typeof value === 'function' || isAsyncIterable(value)
}

/** @throws InvalidArgumentError for anything except a list, or an object with a list */
export function toAnswerParts(value: unknown): { readonly list: readonly unknown[]; readonly ttl: unknown } {
  if (Array.isArray(value)) return { list: value, ttl: null }
  const accepted = 'a list of upstreams, or an object with upstreams and ttl'
  if (typeof value !== 'object' || value === null) throw invalidKind('resolver answer', value, accepted)
  const { upstreams, ttl }: { upstreams?: unknown; ttl?: unknown } = value
  if (!Array.isArray(upstreams))
    throw invalidKind('upstreams in the resolver answer', upstreams, 'a list of upstreams')
  return { list: upstreams, ttl }
}
