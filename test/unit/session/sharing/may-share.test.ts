import type { PeerCertificate, SecureContext } from 'node:tls'
import { createSecureContext } from 'node:tls'
import { describe, expect, it } from 'vitest'
import type { CoalesceRules } from '../../../../src/options/coalesce.ts'
import { toOrigin } from '../../../../src/options/options.ts'
import type { Applicant, Offer, Refusal } from '../../../../src/session/sharing/may-share.ts'
import { toRefusal } from '../../../../src/session/sharing/may-share.ts'

const NOW = Date.parse('2030-01-01T00:00:00Z')
const CERTIFICATE = { valid_to: 'Jan  2 00:00:00 2030 GMT' } as PeerCertificate
const OTHER: SecureContext = createSecureContext()

const APPLICANT: Applicant = {
  origin: toOrigin('https://img.example.com'),
  addresses: ['192.0.2.1', '192.0.2.2'],
  isPlain: true,
  secureContext: undefined,
  isMisdirected: false,
  checkServerIdentity: () => undefined,
}
const OFFER: Offer = {
  origin: toOrigin('https://example.com'),
  isPlain: true,
  secureContext: undefined,
  isVerified: true,
  certificate: CERTIFICATE,
  address: '192.0.2.2',
  originSet: null,
}
const BOTH: CoalesceRules = { origins: 'both', skipDns: false }
const DNS: CoalesceRules = { origins: 'dns', skipDns: false }
const FRAME: CoalesceRules = { origins: 'origin-frame', skipDns: false }
const LISTED = new Set(['https://example.com', 'https://img.example.com'])
const UNLISTED = new Set(['https://example.com'])

interface Case {
  readonly what: string
  readonly applicant?: Partial<Applicant>
  readonly offer?: Partial<Offer>
  readonly rules?: CoalesceRules
  readonly refusal: Refusal | null
}

const BROKEN: readonly Case[] = [
  {
    what: 'an http: origin',
    applicant: { origin: toOrigin('http://img.example.com:443') },
    refusal: 'scheme',
  },
  { what: 'a session without TLS', offer: { origin: toOrigin('http://example.com:443') }, refusal: 'scheme' },
  { what: 'another port', applicant: { origin: toOrigin('https://img.example.com:8443') }, refusal: 'port' },
  {
    what: "another port of the session's origin",
    offer: { origin: toOrigin('https://example.com:8443') },
    refusal: 'port',
  },
  { what: 'another way of its own', applicant: { isPlain: false }, refusal: 'way' },
  { what: 'another way of the session', offer: { isPlain: false }, refusal: 'way' },
  { what: 'another client certificate', applicant: { secureContext: OTHER }, refusal: 'identity' },
  { what: 'a session with another client certificate', offer: { secureContext: OTHER }, refusal: 'identity' },
  { what: 'a 421 lately', applicant: { isMisdirected: true }, refusal: 'misdirected' },
  { what: 'a certificate that nobody verified', offer: { isVerified: false }, refusal: 'unverified' },
  { what: 'a server without a certificate', offer: { certificate: null }, refusal: 'unverified' },
  {
    what: 'a certificate that has expired',
    offer: { certificate: { ...CERTIFICATE, valid_to: 'Jan  1 00:00:00 2030 GMT' } },
    refusal: 'expired',
  },
  {
    what: 'a certificate without a date',
    offer: { certificate: { ...CERTIFICATE, valid_to: 'soon' } },
    refusal: 'expired',
  },
  {
    what: 'a certificate for other names',
    applicant: { checkServerIdentity: () => new Error('not it') },
    refusal: 'certificate',
  },
  {
    what: 'a check that throws',
    applicant: {
      checkServerIdentity: () => {
        throw new Error('no')
      },
    },
    refusal: 'certificate',
  },
  { what: 'other addresses', applicant: { addresses: ['192.0.2.3'] }, refusal: 'address' },
  { what: 'no look-up', applicant: { addresses: null }, refusal: 'address' },
  { what: 'an ORIGIN frame without it', offer: { originSet: UNLISTED }, refusal: 'origin-set' },
  {
    what: 'an ORIGIN frame without it, by DNS',
    offer: { originSet: UNLISTED },
    rules: DNS,
    refusal: 'origin-set',
  },
  { what: 'no ORIGIN frame where one is needed', rules: FRAME, refusal: 'origin-set' },
  {
    what: 'an ORIGIN frame, but other addresses',
    applicant: { addresses: ['192.0.2.3'] },
    offer: { originSet: LISTED },
    rules: FRAME,
    refusal: 'address',
  },
  {
    what: 'no ORIGIN frame, whatever is to be skipped',
    applicant: { addresses: null },
    rules: { origins: 'both', skipDns: true },
    refusal: 'address',
  },
]

const GOOD: readonly Case[] = [
  { what: 'one address in common', refusal: null },
  { what: 'one address in common, by DNS', rules: DNS, refusal: null },
  { what: 'an ORIGIN frame with it', offer: { originSet: LISTED }, refusal: null },
  {
    what: 'an ORIGIN frame with it, where one is needed',
    offer: { originSet: LISTED },
    rules: FRAME,
    refusal: null,
  },
  {
    what: 'the same client certificate',
    applicant: { secureContext: OTHER },
    offer: { secureContext: OTHER },
    refusal: null,
  },
  {
    what: 'an ORIGIN frame with it, and no look-up',
    applicant: { addresses: null },
    offer: { originSet: LISTED },
    rules: { origins: 'both', skipDns: true },
    refusal: null,
  },
  {
    what: 'an ORIGIN frame with it, and other addresses that are not asked for',
    applicant: { addresses: ['192.0.2.3'] },
    offer: { originSet: LISTED },
    rules: { origins: 'origin-frame', skipDns: true },
    refusal: null,
  },
]

function judge({ applicant, offer, rules = BOTH }: Case): Refusal | null {
  return toRefusal({ ...APPLICANT, ...applicant }, { ...OFFER, ...offer }, rules, NOW)
}

describe('a session of another origin', () => {
  it.each(GOOD)('may be used with $what', (one) => {
    expect(judge(one)).toBeNull()
  })

  it.each(BROKEN)('may not be used with $what', (one) => {
    expect(judge(one)).toBe(one.refusal)
  })

  it('is judged by the host alone, without a port', () => {
    const hosts: string[] = []
    const checkServerIdentity = (host: string): undefined => void hosts.push(host)
    judge({
      what: '',
      applicant: { origin: toOrigin('https://[2001:db8::1]'), checkServerIdentity },
      refusal: null,
    })
    expect(hosts).toEqual(['2001:db8::1'])
  })

  it('is not judged by its certificate before everything else holds', () => {
    for (const one of BROKEN) {
      let asked = 0
      const checkServerIdentity = (): undefined => void asked++
      if (one.refusal === 'certificate') continue
      judge({ ...one, applicant: { checkServerIdentity, ...one.applicant } })
      expect(asked, one.what).toBe(0)
    }
  })
})
