/**
 * The exit code for an error from the client.
 *
 * @module
 */

import type { ExitCode } from '../cli-error.ts'
import { EXIT } from '../cli-error.ts'
import { isDnsCode, isTlsCode } from '../error-codes.ts'

const TIMEOUT =
  /^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|DODICI_ERR_(REQUEST|QUEUE|UPLOAD)_TIMEOUT|ETIMEDOUT)$/
const USAGE = /^UND_ERR_(INVALID_ARG|NOT_SUPPORTED|REQ_CONTENT_LENGTH_MISMATCH)$/
const PROTOCOL = /^(DODICI_ERR_(ALPN|STREAM|HEADERS_COUNT)|UND_ERR_(SOCKET|RES_.*|HEADERS_OVERFLOW))$/
const CONNECT = /^(ECONN[A-Z]+|EHOST[A-Z]+|ENET[A-Z]+|EADDR[A-Z]+|EACCES|EPERM|EPIPE)$/

/** By the code of an error, or of one of its causes. The first that fits counts. */
const RULES: readonly (readonly [fits: (code: string) => boolean, exitCode: ExitCode])[] = [
  [(code) => TIMEOUT.test(code), EXIT.timeout],
  [(code) => USAGE.test(code), EXIT.usage],
  [isDnsCode, EXIT.dns],
  [(code) => PROTOCOL.test(code), EXIT.protocol],
  [isTlsCode, EXIT.tls],
  [(code) => CONNECT.test(code), EXIT.connect],
]

/** How a command ends that couldn't get a response. */
export function toExitCode(error: unknown): ExitCode {
  const codes = toCodes(error)
  for (const [fits, exitCode] of RULES) if (codes.some(fits)) return exitCode
  return EXIT.failure
}

/** The codes of the error and its causes. */
function toCodes(error: unknown): string[] {
  const codes: string[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') codes.push(cause.code)
  }
  return codes
}
