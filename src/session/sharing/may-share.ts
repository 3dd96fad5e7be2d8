/**
 * Pure: whether an origin may use a session that was opened for another one.
 *
 * @module
 */

import type { PeerCertificate, SecureContext } from 'node:tls'
import type { CoalesceRules } from '../../options/coalesce.ts'
import type { Origin } from '../../options/options.ts'

/** An origin that looks for a session, and what its own connection would be like. */
export interface Applicant {
  readonly origin: Pick<Origin, 'href' | 'scheme' | 'hostname' | 'port'>
  /** Its name's addresses, in one notation (`toOneNotation()`); null if no lookup was made. */
  readonly addresses: readonly string[] | null
  /** Whether its own connection would go straight to the origin, and ask for the origin's own name. */
  readonly isPlain: boolean
  /** The caller's, for its next connection; undefined if the other options create one. */
  readonly secureContext: SecureContext | undefined
  /** Whether its server has recently said that it doesn't serve the origin on another origin's connection (421). */
  readonly isMisdirected: boolean
  /** The check that the options require: undefined for a host that the certificate is valid for. */
  checkServerIdentity(hostname: string, certificate: PeerCertificate): Error | undefined
}

/** An open session. */
export interface Offer {
  /** The origin that it was opened for. */
  readonly origin: Pick<Origin, 'scheme' | 'port'>
  /** Whether it goes straight to that origin, and has asked for its own name. */
  readonly isPlain: boolean
  readonly secureContext: SecureContext | undefined
  /** Whether the handshake has verified the certificate: one that was accepted without verification is of no use. */
  readonly isVerified: boolean
  /** Null if the server has shown none. */
  readonly certificate: PeerCertificate | null
  /** The address that it is connected to, in one notation. */
  readonly address: string
  /** What ORIGIN frames have said (RFC 8336 §2.3); null before the first. */
  readonly originSet: { has(origin: string): boolean } | null
}

/**
 * Why an origin may not use a session:
 *
 * - `scheme`: one of them isn't `https:`
 * - `port`: their ports differ
 * - `way`: a connect function, a Unix socket, or a server name that isn't the host's
 * - `identity`: the next connection would have another `secureContext`
 * - `misdirected`: a 421 has arrived recently
 * - `unverified`: the session's certificate wasn't verified
 * - `expired`: it is no longer valid
 * - `certificate`: it isn't valid for the host
 * - `origin-set`: an ORIGIN frame has arrived, and doesn't list the origin; or none has, where one is needed
 * - `address`: the name has other addresses
 */
export type Refusal =
  | 'scheme'
  | 'port'
  | 'way'
  | 'identity'
  | 'misdirected'
  | 'unverified'
  | 'expired'
  | 'certificate'
  | 'origin-set'
  | 'address'

/**
 * Whether an origin may use a session (RFC 9113 §9.1.1, RFC 9110 §4.3.3, RFC 8336 §2.4): null if it may, otherwise the
 * first condition that fails.
 *
 * @param now milliseconds since the epoch, as certificates count
 */
export function toRefusal(
  applicant: Applicant,
  offer: Offer,
  rules: CoalesceRules,
  now: number,
): Refusal | null {
  const { origin, secureContext } = applicant
  if (origin.scheme !== 'https' || offer.origin.scheme !== 'https') return 'scheme'
  if (origin.port !== offer.origin.port) return 'port'
  if (!applicant.isPlain || !offer.isPlain) return 'way'
  if (secureContext !== offer.secureContext) return 'identity'
  if (applicant.isMisdirected) return 'misdirected'
  const isListed = offer.originSet?.has(origin.href) === true
  if (!isListed && (offer.originSet !== null || rules.origins === 'origin-frame')) return 'origin-set'
  const needsAddress = !(isListed && rules.skipDns)
  if (needsAddress && applicant.addresses?.includes(offer.address) !== true) return 'address'
  return toCertificateRefusal(applicant, offer, now)
}

/** This comes last because it costs most: it calls the caller's function. */
function toCertificateRefusal(applicant: Applicant, offer: Offer, now: number): Refusal | null {
  const { certificate } = offer
  if (!offer.isVerified || certificate === null) return 'unverified'
  // A new connection would get the renewed one. NaN, for a date that can't be parsed, isn't later.
  if (!(Date.parse(certificate.valid_to) > now)) return 'expired'
  try {
    const error = applicant.checkServerIdentity(applicant.origin.hostname, certificate)
    return error === undefined || error === null ? null : 'certificate'
  } catch {
    // A caller's function that throws accepts nothing; on the origin's own connection, it throws again.
    return 'certificate'
  }
}
