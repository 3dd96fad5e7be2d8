/**
 * Error codes from Node and OpenSSL, by what failed.
 *
 * @module
 */

/** getaddrinfo's codes. */
const DNS = /^(ENOTFOUND|EAI_[A-Z]+)$/
/** The codes that Node and OpenSSL give; X509_verify_cert() gives codes without a prefix. */
const TLS = [
  /^(ERR_(TLS|SSL|OSSL)_.*|EPROTO|CERT_.*|CRL_.*|DEPTH_.*|ERROR_IN_C.*|SELF_SIGNED_.*)$/,
  /^(UNABLE_TO_.*|INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$/,
]

/** Whether a name's lookup failed. */
export function isDnsCode(code: string): boolean {
  return DNS.test(code)
}

/** Whether the TLS handshake failed, or the certificate isn't trusted. */
export function isTlsCode(code: string): boolean {
  return TLS.some((pattern) => pattern.test(code))
}
