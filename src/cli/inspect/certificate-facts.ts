/**
 * A server's certificate, and why it isn't trusted, in plain words.
 *
 * @module
 */

import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { TLSSocket } from 'node:tls'

/** What is shown about a certificate. */
export interface CertificateFacts {
  /** `CN=localhost, O=Example`. Some certificates have none: ''. */
  readonly subject: string
  /** The DNS names and IP addresses that it is for. */
  readonly names: readonly string[]
  readonly issuer: string
  /** ISO 8601. */
  readonly validFrom: string
  readonly validTo: string
  /** Whole days until `validTo`; negative if it has expired. */
  readonly daysLeft: number
  readonly fingerprint256: string
  readonly isTrusted: boolean
  /** OpenSSL's or Node's code for why it isn't trusted, such as `CERT_HAS_EXPIRED`; null if it is. */
  readonly code: string | null
  /** Why it isn't trusted, one sentence for each reason. Empty if it is. */
  readonly reasons: readonly string[]
}

const DAY = 86_400_000

/** OpenSSL's names for what it can't verify, where there is more to say than the name. */
const REASONS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: "its chain ends at an authority that isn't trusted on this machine",
  UNABLE_TO_GET_ISSUER_CERT: 'its issuer is unknown on this machine',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its issuer is unknown on this machine',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "its issuer is unknown on this machine, and the server didn't send the issuer's certificate",
  CERT_REVOKED: 'it was revoked',
  INVALID_CA: "its issuer isn't a certificate authority",
  INVALID_PURPOSE: 'it is not for servers',
}

/** Codes that the certificate's own dates and names explain. */
const TOLD_BY_FACTS: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])

/**
 * @param hostname the name that was asked for
 * @param now milliseconds since 1970
 * @returns null if the server sent none
 */
export function toCertificateFacts(
  socket: TLSSocket,
  hostname: string,
  now: number,
): CertificateFacts | null {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return null
  // According to Node's types, it is an Error; in fact it is a code or a message.
  const error: unknown = socket.authorizationError
  const code = socket.authorized ? null : error instanceof Error ? error.message : String(error)
  return {
    subject: toLine(certificate.subject),
    names: toNames(certificate.subjectAltName),
    issuer: toLine(certificate.issuer),
    validFrom: new Date(certificate.validFrom).toISOString(),
    validTo: new Date(certificate.validTo).toISOString(),
    daysLeft: Math.floor((Date.parse(certificate.validTo) - now) / DAY),
    fingerprint256: certificate.fingerprint256,
    isTrusted: socket.authorized,
    code,
    reasons: code === null ? [] : toReasons(certificate, code, hostname, now),
  }
}

function toReasons(certificate: X509Certificate, code: string, hostname: string, now: number): string[] {
  const reasons = TOLD_BY_FACTS.has(code) ? [] : [REASONS[code] ?? `OpenSSL says ${code}`]
  if (Date.parse(certificate.validTo) < now) reasons.push(`it expired on ${toDay(certificate.validTo)}`)
  if (Date.parse(certificate.validFrom) > now) {
    reasons.push(`it is not valid before ${toDay(certificate.validFrom)}`)
  }
  if (!isFor(certificate, hostname)) {
    const names = toNames(certificate.subjectAltName)
    reasons.push(`it is for ${names.join(', ') || 'no name at all'}, not for ${hostname}`)
  }
  return reasons.length === 0 ? [`OpenSSL says ${code}`] : reasons
}

function isFor(certificate: X509Certificate, hostname: string): boolean {
  const found = isIP(hostname) === 0 ? certificate.checkHost(hostname) : certificate.checkIP(hostname)
  return found !== undefined
}

/** `2027-12-01`. */
export function toDay(date: string): string {
  return new Date(date).toISOString().slice(0, 10)
}

/** Node writes one attribute per line. */
function toLine(name: string | undefined): string {
  return (name ?? '').split('\n').filter(Boolean).join(', ')
}

/** `DNS:localhost, IP Address:127.0.0.1` → the names. Node quotes a name that would be ambiguous. */
function toNames(alternative: string | undefined): string[] {
  const names = (alternative ?? '').matchAll(/(?:DNS|IP Address):("(?:[^"\\]|\\.)*"|[^,]*)/g)
  return [...names].map(([, name = '']) => (isIP(name) === 6 ? toShortAddress(name) : name))
}

/** `::1` for `0:0:0:0:0:0:0:1`. */
function toShortAddress(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1)
}
