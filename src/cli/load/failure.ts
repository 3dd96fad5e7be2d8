/**
 * The exit code of an error of the client.
 *
 * @module
 */

import type { ExitCode } from '../cli-error.ts'
import { EXIT } from '../cli-error.ts'

/** By the code of an error, or of one of its causes. The first that fits counts. */
const RULES: readonly (readonly [pattern: RegExp, exitCode: ExitCode])[] = [
  [
    /^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|DODICI_ERR_(REQUEST|QUEUE|UPLOAD)_TIMEOUT|ETIMEDOUT)$/,
    EXIT.timeout,
  ],
  [/^UND_ERR_(INVALID_ARG|NOT_SUPPORTED|REQ_CONTENT_LENGTH_MISMATCH)$/, EXIT.usage],
  [/^(ENOTFOUND|EAI_[A-Z]+)$/, EXIT.dns],
  [/^(DODICI_ERR_(ALPN|STREAM|HEADERS_COUNT)|UND_ERR_(SOCKET|RES_.*|HEADERS_OVERFLOW))$/, EXIT.protocol],
  [/^(ERR_(TLS|SSL|OSSL)_.*|EPROTO|CERT_.*|CRL_.*|DEPTH_.*|ERROR_IN_C.*|SELF_SIGNED_.*)$/, EXIT.tls],
  [/^(UNABLE_TO_.*|INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$/, EXIT.tls],
  [/^(ECONN[A-Z]+|EHOST[A-Z]+|ENET[A-Z]+|EADDR[A-Z]+|EACCES|EPERM|EPIPE)$/, EXIT.connect],
]

/** How a command ends that couldn't get a response. */
export function toExitCode(error: unknown): ExitCode {
  const codes = toCodes(error)
  for (const [pattern, exitCode] of RULES) if (codes.some((code) => pattern.test(code))) return exitCode
  return EXIT.failure
}

/** Of the error and its causes. */
function toCodes(error: unknown): string[] {
  const codes: string[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') codes.push(cause.code)
  }
  return codes
}
