/**
 * Creates X.509 certificates: an authority that is valid only for loopback names, and a server's certificate signed by
 * it.
 *
 * @module
 */

import type { KeyObject } from 'node:crypto'
import { createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import * as der from './der.ts'
import {
  toAlternativeNames,
  toAuthorityConstraints,
  toAuthorityKeyId,
  toKeyId,
  toKeyUsage,
  toLeafConstraints,
  toNameConstraints,
  toServerUsage,
  toSubjectKeyId,
} from './extensions.ts'

const DAY = 86_400_000

/** How long an authority is valid, in milliseconds: ten years. */
export const AUTHORITY_LIFETIME = 3_650 * DAY

/** How long a server's certificate is valid, in milliseconds. The strictest clients accept 398 days at most. */
export const LEAF_LIFETIME = 397 * DAY

/** Certificates are valid from this many milliseconds ago, because a container's clock may be slow. */
const BACKDATED = DAY

const IPV4_LOOPBACK = Buffer.of(127, 0, 0, 1)
const IPV6_LOOPBACK = Buffer.from(`${'00'.repeat(15)}01`, 'hex')

/** The names of this authority's servers. */
const LOOPBACK = { dns: ['localhost'], ip: [IPV4_LOOPBACK, IPV6_LOOPBACK] }

/** 127.0.0.0/8, ::1/128, `localhost` and names below it (RFC 6761 §6.3). */
const LOOPBACK_RANGES = {
  dns: ['localhost'],
  ip: [Buffer.of(127, 0, 0, 0, 255, 0, 0, 0), Buffer.concat([IPV6_LOOPBACK, Buffer.alloc(16, 255)])],
}

/** ecdsa-with-SHA256 (RFC 5758 §3.2): it has no parameters. */
const SIGNATURE_ALGORITHM = der.toSequence(der.toObjectIdentifier('1.2.840.10045.4.3.2'))

/** A new private key: ECDSA with P-256. */
export function generateKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
}

/**
 * An authority's self-signed certificate. It can only sign for loopback names.
 *
 * @param key its private key. All certificates for one key have the same subject, so each can replace another
 * @returns PEM
 */
export function toAuthorityCertificate(key: KeyObject, now: Date): string {
  const publicKey = createPublicKey(key)
  return toCertificate({
    subject: toAuthorityName(publicKey),
    publicKey,
    issuerKey: key,
    now,
    lifetime: AUTHORITY_LIFETIME,
    extensions: [
      toAuthorityConstraints(),
      toKeyUsage('keyCertSign', 'cRLSign'),
      toNameConstraints(LOOPBACK_RANGES),
      toSubjectKeyId(publicKey),
    ],
  })
}

/**
 * The certificate for a server on loopback.
 *
 * @param key the server's private key
 * @param issuerKey the authority's
 * @returns PEM
 */
export function toLeafCertificate(key: KeyObject, issuerKey: KeyObject, now: Date): string {
  const publicKey = createPublicKey(key)
  return toCertificate({
    subject: toName('localhost'),
    publicKey,
    issuerKey,
    now,
    lifetime: LEAF_LIFETIME,
    extensions: [
      toLeafConstraints(),
      toKeyUsage('digitalSignature'),
      toServerUsage(),
      toAlternativeNames(LOOPBACK),
      toSubjectKeyId(publicKey),
      toAuthorityKeyId(createPublicKey(issuerKey)),
    ],
  })
}

/** Two users' authorities have different names. */
function toAuthorityName(publicKey: KeyObject): Buffer {
  return toName(`Dodici loopback CA ${toKeyId(publicKey).toString('hex', 0, 4)}`)
}

/** RFC 5280 §4.1.2.4: a distinguished name with one part, the common name. */
function toName(commonName: string): Buffer {
  const part = der.toSequence(der.toObjectIdentifier('2.5.4.3'), der.toUtf8String(commonName))
  return der.toSequence(der.toSetOfOne(part))
}

interface CertificateInit {
  readonly subject: Buffer
  readonly publicKey: KeyObject
  /** The authority's private key. */
  readonly issuerKey: KeyObject
  readonly now: Date
  /** In milliseconds. */
  readonly lifetime: number
  readonly extensions: readonly Buffer[]
}

/** RFC 5280 §4.1. */
function toCertificate(init: CertificateInit): string {
  const signed = der.toSequence(
    // Version 3.
    der.toExplicit(0, der.toInteger(Buffer.of(2))),
    der.toInteger(toSerialNumber()),
    SIGNATURE_ALGORITHM,
    toAuthorityName(createPublicKey(init.issuerKey)),
    der.toSequence(
      der.toTime(new Date(init.now.getTime() - BACKDATED)),
      der.toTime(new Date(init.now.getTime() - BACKDATED + init.lifetime)),
    ),
    init.subject,
    init.publicKey.export({ type: 'spki', format: 'der' }),
    der.toExplicit(3, der.toSequence(...init.extensions)),
  )
  const signature = sign('sha256', signed, init.issuerKey)
  return toPem(der.toSequence(signed, SIGNATURE_ALGORITHM, der.toBitString(signature)))
}

/** RFC 5280 §4.1.2.2: positive, and at most 20 bytes. Browsers refuse two certificates with the same number. */
function toSerialNumber(): Buffer {
  const bytes = randomBytes(16)
  bytes.writeUInt8((bytes.readUInt8(0) & 0x7f) | 0x40, 0)
  return bytes
}

/** RFC 7468 §2. */
function toPem(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
