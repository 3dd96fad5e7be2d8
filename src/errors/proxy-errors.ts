/**
 * The errors about proxies, with undici's constructors.
 *
 * @module
 */

import type { ErrorDetails } from './errors.ts'
import { brand, DodiciError } from './errors.ts'

/** A proxy's response that refuses a tunnel. */
export interface ProxyResponse {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** At most its first 64 KiB. */
  readonly body: Buffer
}

/** There is no tunnel: the proxy has refused it, or was lost before it was open. */
export class ProxyConnectionError extends DodiciError {
  declare readonly code: 'UND_ERR_PRX_CONN'

  /** The status of the proxy's response; null if there was none. @default null */
  statusCode: number | null = null
  /** The header fields of the proxy's response; null if there was none. @default null */
  headers: ProxyResponse['headers'] | null = null
  /** The first 64 KiB of the body of the proxy's response; null if there was none. @default null */
  body: Buffer | null = null

  constructor(cause?: unknown, message = 'Proxy Connection failed', details: ErrorDetails = {}) {
    super(message, { cause, ...details })
  }
}
brand(ProxyConnectionError, 'ProxyConnectionError', 'UND_ERR_PRX_CONN', undefined, (error) => {
  const copy = new ProxyConnectionError(error.cause, error.message, error)
  if (!(error instanceof ProxyConnectionError)) return copy
  const { statusCode, headers, body } = error
  return Object.assign(copy, { statusCode, headers, body })
})

/** The error for a refused tunnel. */
export function toProxyRefusal(message: string, response: ProxyResponse): ProxyConnectionError {
  return Object.assign(new ProxyConnectionError(undefined, message), response)
}

/** The TLS handshake with the proxy itself has failed: its certificate isn't trusted, for example. */
export class SecureProxyConnectionError extends DodiciError {
  declare readonly code: 'UND_ERR_PRX_TLS'

  constructor(cause?: unknown, message = 'Secure Proxy Connection failed', details: ErrorDetails = {}) {
    super(message, { cause, ...details })
  }
}
brand(
  SecureProxyConnectionError,
  'SecureProxyConnectionError',
  'UND_ERR_PRX_TLS',
  undefined,
  (error) => new SecureProxyConnectionError(error.cause, error.message, error),
)

/** The codes in Node and OpenSSL for an invalid certificate or handshake. */
const OF_TLS = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_|INVALID_CA)/

/** The error for a connection to a proxy that has failed because of TLS; null for other errors. */
export function toSecureProxyError(error: Error, proxy: string): SecureProxyConnectionError | null {
  const code: unknown = Reflect.get(error, 'code')
  if (typeof code !== 'string' || !OF_TLS.test(code)) return null
  return new SecureProxyConnectionError(
    error,
    `The TLS handshake with the proxy ${proxy} failed: ${error.message}`,
  )
}

/**
 * A SOCKS5 proxy has refused, or doesn't speak SOCKS5. `code` is undici's, such as `UND_ERR_SOCKS5_REPLY_5` for reply
 * 5.
 */
export class Socks5ProxyError extends DodiciError {
  declare code: string

  constructor(message = 'SOCKS5 proxy error', code = 'UND_ERR_SOCKS5') {
    super(message)
    this.code = code
  }
}
brand(
  Socks5ProxyError,
  'Socks5ProxyError',
  'UND_ERR_SOCKS5',
  undefined,
  (error) => new Socks5ProxyError(error.message, error.code),
)
// Marks alone would leave undici's own out.
Object.defineProperty(Socks5ProxyError, Symbol.hasInstance, {
  value: (value: unknown): boolean =>
    typeof value === 'object' && value !== null && Reflect.get(value, 'name') === 'Socks5ProxyError',
})
