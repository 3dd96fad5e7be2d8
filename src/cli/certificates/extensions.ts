/**
 * A certificate's extensions (RFC 5280 §4.2).
 *
 * @module
 */

import type { KeyObject } from 'node:crypto'
import { createHash } from 'node:crypto'
import * as der from './der.ts'

/** RFC 5280 §4.2: a client that doesn't know a critical extension refuses the certificate. */
function toExtension(id: string, isCritical: boolean, value: Uint8Array): Buffer {
  const critical = isCritical ? [der.toBoolean(true)] : []
  return der.toSequence(der.toObjectIdentifier(id), ...critical, der.toOctetString(value))
}

/** §4.2.1.9: an authority that signs no other authorities. */
export function toAuthorityConstraints(): Buffer {
  const noPath = der.toInteger(Buffer.of(0))
  return toExtension('2.5.29.19', true, der.toSequence(der.toBoolean(true), noPath))
}

/** §4.2.1.9: not an authority. */
export function toLeafConstraints(): Buffer {
  return toExtension('2.5.29.19', true, der.toSequence())
}

/** §4.2.1.3: the numbers of the bits. */
const KEY_USAGES = { digitalSignature: 0, keyCertSign: 5, cRLSign: 6 } as const

export function toKeyUsage(...usages: readonly (keyof typeof KEY_USAGES)[]): Buffer {
  return toExtension('2.5.29.15', true, der.toNamedBits(usages.map((usage) => KEY_USAGES[usage])))
}

/** §4.2.1.12: for TLS servers. */
export function toServerUsage(): Buffer {
  return toExtension('2.5.29.37', false, der.toSequence(der.toObjectIdentifier('1.3.6.1.5.5.7.3.1')))
}

/** The names that a certificate may be for. */
export interface Names {
  readonly dns: readonly string[]
  /** The bytes of each address, or for a range, of an address and its mask. */
  readonly ip: readonly Uint8Array[]
}

/** §4.2.1.6. */
function toGeneralNames({ dns, ip }: Names): Buffer[] {
  return [
    ...dns.map((name) => der.toImplicit(2, Buffer.from(name, 'latin1'))),
    ...ip.map((address) => der.toImplicit(7, address)),
  ]
}

/** §4.2.1.6: a server's names. */
export function toAlternativeNames(names: Names): Buffer {
  return toExtension('2.5.29.17', false, der.toSequence(...toGeneralNames(names)))
}

/** §4.2.1.10: an authority's signature is valid only for these names, and those below them. */
export function toNameConstraints(permitted: Names): Buffer {
  const subtrees = toGeneralNames(permitted).map((name) => der.toSequence(name))
  return toExtension('2.5.29.30', true, der.toSequence(der.toExplicit(0, Buffer.concat(subtrees))))
}

/** The size, in bytes, of a P-256 key's point, uncompressed (RFC 5480 §2.2): 4, x and y. */
const POINT_SIZE = 65

/** Identifies a P-256 public key by 20 bytes of its SHA-256 (RFC 7093 §2, method 1). */
export function toKeyId(publicKey: KeyObject): Buffer {
  // The content of subjectPublicKey, which comes last. As a JWK, Node 20 exports a key with its mutex locked; if a
  // garbage collection at that moment finds the job that generated the key, it locks the mutex once more, and waits for
  // ever.
  const point = publicKey.export({ format: 'der', type: 'spki' }).subarray(-POINT_SIZE)
  return createHash('sha256').update(point).digest().subarray(0, 20)
}

/** §4.2.1.2. */
export function toSubjectKeyId(publicKey: KeyObject): Buffer {
  return toExtension('2.5.29.14', false, der.toOctetString(toKeyId(publicKey)))
}

/** §4.2.1.1. */
export function toAuthorityKeyId(publicKey: KeyObject): Buffer {
  return toExtension('2.5.29.35', false, der.toSequence(der.toImplicit(0, toKeyId(publicKey))))
}
