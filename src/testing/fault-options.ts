/**
 * How a fault server listens.
 *
 * @module
 */

import type { RequestListener } from 'node:http'
import type { TlsOptions } from 'node:tls'
import { checkNames } from './by-name.ts'
import type { SettingsInit } from './frames.ts'
import { toEntries } from './frames.ts'

/** What TLS needs, as `tls.createServer()` takes it. */
type TlsPart = Pick<
  TlsOptions,
  | 'key'
  | 'cert'
  | 'pfx'
  | 'passphrase'
  | 'ca'
  | 'requestCert'
  | 'rejectUnauthorized'
  | 'minVersion'
  | 'maxVersion'
  | 'ALPNProtocols'
>

/** The options of {@link createFaultServer}: either `h2c`, or a key and a certificate. */
export interface FaultServerOptions extends TlsPart {
  /** HTTP/2 without TLS, with prior knowledge (RFC 9113 §3.3). @default false */
  readonly h2c?: boolean
  /** The address that it listens on. @default '127.0.0.1' */
  readonly host?: string
  /** Its port; 0: a free one. @default 0 */
  readonly port?: number
  /** The first SETTINGS of each connection. @default none: those of RFC 9113 §6.5.2 */
  readonly settings?: SettingsInit | readonly SettingsInit[]
  /** Serves clients that speak HTTP/1.1: by ALPN, or because they don't begin with HTTP/2's preface. @default null */
  readonly http1?: RequestListener | null
  /** How long {@link FaultServer.waitFor} waits. Milliseconds. @default 5_000 */
  readonly timeout?: number
  /** Whether {@link FaultServer.close} rejects when a rule hasn't run: see `assertAllRulesMet()`. @default false */
  readonly expectsAllRules?: boolean
}

const NAMES = [
  ...[
    'h2c',
    'host',
    'port',
    'settings',
    'http1',
    'timeout',
    'expectsAllRules',
    'key',
    'cert',
    'pfx',
    'passphrase',
    'ca',
  ],
  ...['requestCert', 'rejectUnauthorized', 'minVersion', 'maxVersion', 'ALPNProtocols'],
]

const NEEDED = 'createFaultServer() needs either h2c: true, or a key and a cert (or a pfx) for TLS'

/** @throws TypeError for options that aren't known, or that make no server */
export function checkOptions(options: FaultServerOptions): void {
  const given: unknown = options
  if (typeof given !== 'object' || given === null) throw new TypeError(NEEDED)
  checkNames('createFaultServer()', options, NAMES)
  toEntries(toList(options.settings))
  const { h2c = false, key, cert, pfx } = options
  const hasCertificate = pfx !== undefined || (key !== undefined && cert !== undefined)
  if (h2c === hasCertificate) throw new TypeError(NEEDED)
}

/** What TLS is told. */
export function toTlsOptions(options: FaultServerOptions): TlsOptions {
  const { h2c, host, port, settings, timeout, expectsAllRules, http1 = null, ...tls } = options
  return { ALPNProtocols: http1 === null ? ['h2'] : ['h2', 'http/1.1'], ...tls }
}

/** A list of SETTINGS, of whatever form they have; `[3, 100]` is one entry. */
export function toList(settings: FaultServerOptions['settings'] = []): readonly SettingsInit[] {
  return isList(settings) ? settings : [settings]
}

function isList(settings: SettingsInit | readonly SettingsInit[]): settings is readonly SettingsInit[] {
  return Array.isArray(settings) && typeof settings[0] !== 'number'
}
