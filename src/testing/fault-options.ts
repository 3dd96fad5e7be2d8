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

/** The TLS options, as in `tls.createServer()`. */
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

/** The options of {@link createFaultServer}: either `h2c`, or `key` and `cert` (or `pfx`). */
export interface FaultServerOptions extends TlsPart {
  /** Whether to speak HTTP/2 without TLS, with prior knowledge (RFC 9113 §3.3). @default false */
  readonly h2c?: boolean
  /** The address to listen on. @default '127.0.0.1' */
  readonly host?: string
  /** The port to listen on. `0`: any free port. @default 0 */
  readonly port?: number
  /** The first SETTINGS on each connection. @default []: the defaults of RFC 9113 §6.5.2 apply */
  readonly settings?: SettingsInit | readonly SettingsInit[]
  /** Serves clients that choose HTTP/1.1 via ALPN, or that don't send HTTP/2's preface. @default null */
  readonly http1?: RequestListener | null
  /** How many milliseconds {@link FaultServer.waitFor} waits. @default 5_000 */
  readonly timeout?: number
  /** Whether {@link FaultServer.close} rejects if a rule hasn't run: see `assertAllRulesMet()`. @default false */
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

/** @throws TypeError for unknown options, and for options that don't define a server */
export function checkOptions(options: FaultServerOptions): void {
  const given: unknown = options
  if (typeof given !== 'object' || given === null) throw new TypeError(NEEDED)
  checkNames('createFaultServer()', options, NAMES)
  toEntries(toList(options.settings))
  const { h2c = false, key, cert, pfx } = options
  const hasCertificate = pfx !== undefined || (key !== undefined && cert !== undefined)
  if (h2c === hasCertificate) throw new TypeError(NEEDED)
}

/** The TLS options. */
export function toTlsOptions(options: FaultServerOptions): TlsOptions {
  const { h2c, host, port, settings, timeout, expectsAllRules, http1 = null, ...tls } = options
  return { ALPNProtocols: http1 === null ? ['h2'] : ['h2', 'http/1.1'], ...tls }
}

/** SETTINGS of any form as a list; `[3, 100]` is one entry. */
export function toList(settings: FaultServerOptions['settings'] = []): readonly SettingsInit[] {
  return isList(settings) ? settings : [settings]
}

function isList(settings: SettingsInit | readonly SettingsInit[]): settings is readonly SettingsInit[] {
  return Array.isArray(settings) && typeof settings[0] !== 'number'
}
