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
  [/^UND_ERR_INVALID_ARG$/, EXIT.usage],
  [/^(ENOTFOUND|EAI_[A-Z]+)$/, EXIT.dns],
  [/^(DODICI_ERR_ALPN|DODICI_ERR_STREAM|UND_ERR_SOCKET)$/, EXIT.protocol],
  [
    /^(ERR_TLS_.*|ERR_SSL_.*|EPROTO|CERT_.*|DEPTH_.*|SELF_SIGNED_.*|UNABLE_TO_.*|HOSTNAME_MISMATCH)$/,
    EXIT.tls,
  ],
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
