/**
 * Subresource Integrity, https://www.w3.org/TR/sri-2/: whether a body has the given hash.
 *
 * @module
 */

import { loadCrypto } from '../core/builtin.ts'

/** The standard's algorithms, the weakest first. */
const ALGORITHMS = ['sha256', 'sha384', 'sha512'] as const
const NAMES: readonly string[] = ALGORITHMS

/** A hash algorithm of the standard. */
export type IntegrityAlgorithm = (typeof ALGORITHMS)[number]

/** What an `integrity` requires: one of its hashes with the strongest algorithm. */
export interface Integrity {
  readonly algorithm: IntegrityAlgorithm
  /**
   * In base64 without padding. An entry without a hash is an empty string here, which no body has. Never an empty
   * list.
   */
  readonly digests: readonly string[]
}

/**
 * Parses `metadata`, the value of an `integrity`: entries `algorithm-base64?options` between whitespace. Algorithms
 * are case-insensitive; options are ignored, as the standard says; base64url and missing padding are accepted, as in
 * browsers.
 *
 * Null: nothing is required, because the value is empty or has no entry with a known algorithm.
 */
export function parseIntegrity(metadata: string): Integrity | null {
  let strongest = -1
  let digests: string[] = []
  for (const item of metadata.split(/[\t\n\f\r ]+/)) {
    const entry = /^(sha(?:256|384|512))(?:-([^?]*))?(?:\?|$)/i.exec(item)
    if (entry === null) continue
    const [, name = '', value = ''] = entry
    const strength = NAMES.indexOf(name.toLowerCase())
    if (strength < strongest) continue
    if (strength > strongest) digests = []
    strongest = strength
    digests.push(toPlainBase64(value))
  }
  const algorithm = ALGORITHMS[strongest]
  return algorithm === undefined ? null : { algorithm, digests }
}

/** Whether the bytes have one of the hashes. They are the whole body, after its content codings were decoded. */
export function matchesIntegrity(bytes: Uint8Array, integrity: Integrity): boolean {
  return integrity.digests.includes(toPlainBase64(loadCrypto().hash(integrity.algorithm, bytes, 'base64')))
}

/** Base64 without padding, also from base64url. */
function toPlainBase64(value: string): string {
  return value
    .replace(/={1,2}$/, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
}
