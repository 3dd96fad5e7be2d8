/**
 * Why a call failed: exit code, message, hint.
 *
 * @module
 */

import type { ExitCode } from '../cli-error.ts'
import { CliError, EXIT } from '../cli-error.ts'
import { isDnsCode, isTlsCode } from '../error-codes.ts'
import { toPrintable } from '../terminal.ts'
import type { Http2Facts } from './http2-facts.ts'

/** A failed call. */
export interface Failure {
  readonly exitCode: ExitCode
  /** Dodici's or Node's code, such as `ECONNREFUSED`; null without one. */
  readonly code: string | null
  readonly message: string
  /** What to try; null if there is no suggestion. */
  readonly hint: string | null
  /** Whether the server may have acted on the request. */
  readonly processed: 'no' | 'maybe' | 'yes'
  /** The debug data in the GOAWAY that ended the call; null for none. */
  readonly goaway: string | null
}

/** The server can't be reached, or can't be spoken to. */
export class ConnectFailure extends CliError {
  readonly code: string | null
  readonly hint: string | null

  constructor(message: string, exitCode: ExitCode, code: string | null = null, hint: string | null = null) {
    super(message, exitCode)
    this.code = code
    this.hint = hint
  }
}

/** The name of a class, or of its parent, → the exit code. A missing class means that the exchange failed. */
const EXIT_CODES: Readonly<Record<string, ExitCode>> = {
  ConnectTimeoutError: EXIT.timeout,
  HeadersTimeoutError: EXIT.timeout,
  BodyTimeoutError: EXIT.timeout,
  UploadTimeoutError: EXIT.timeout,
  QueueTimeoutError: EXIT.timeout,
  RequestTimeoutError: EXIT.timeout,
  InvalidArgumentError: EXIT.usage,
  NotSupportedError: EXIT.usage,
  RequestContentLengthMismatchError: EXIT.usage,
  ConnectError: EXIT.connect,
  ProxyConnectionError: EXIT.connect,
  Socks5ProxyError: EXIT.connect,
  SecureProxyConnectionError: EXIT.tls,
}

const HTTP1_HINT = "'curl --http1.1 URL' shows its response"

/** What a call's error means. An error that isn't the call's is thrown again. */
export function toFailure(error: unknown, facts: Http2Facts): Failure {
  const own = findCause(error, (cause) => cause instanceof CliError)
  if (own instanceof CliError) {
    const { code, hint } = own instanceof ConnectFailure ? own : { code: null, hint: null }
    const { exitCode } = own
    const message = exitCode === EXIT.protocol ? toMessage(own, facts) : own.message
    // A reason on this side to end the call says nothing about the server.
    const processed = error === own ? toOwnProcessed(facts) : toProcessed(error)
    const goaway = exitCode === EXIT.protocol ? facts.goaway : null
    return { exitCode, code, message, hint: hint ?? toHint(exitCode, facts), processed, goaway }
  }
  if (!(error instanceof Error) || !('processed' in error)) throw error
  const code = toCode(error)
  const exitCode = toExitCode(error)
  const message = toMessage(error, facts)
  const hint = message.includes('HTTP_1_1_REQUIRED') ? HTTP1_HINT : toHint(exitCode, facts)
  return { exitCode, code, message, hint, processed: toProcessed(error), goaway: toDebugData(error) }
}

/** The response has arrived, but the server has violated a rule. */
export function toFaultFailure(fault: string): Failure {
  return { exitCode: EXIT.protocol, code: null, message: fault, hint: null, processed: 'yes', goaway: null }
}

function toExitCode(error: Error): ExitCode {
  if (findCause(error, (cause) => isDnsCode(toCode(cause) ?? '')) !== null) return EXIT.dns
  const exitCode = EXIT_CODES[error.name] ?? EXIT.protocol
  if (exitCode !== EXIT.connect) return exitCode
  return findCause(error, (cause) => isTlsCode(toCode(cause) ?? '')) === null ? exitCode : EXIT.tls
}

/** The first match in the chain of causes, including the error itself; null for none. */
function findCause(error: unknown, matches: (cause: unknown) => boolean): unknown {
  let cause = error
  for (let depth = 0; depth < 10 && cause !== null && cause !== undefined; depth++) {
    if (matches(cause)) return cause
    cause = cause instanceof Error ? cause.cause : null
  }
  return null
}

function toCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null
}

/** What the frames say about a call that this side has ended. */
function toOwnProcessed({ hasResponse, requestFields }: Http2Facts): Failure['processed'] {
  return hasResponse ? 'yes' : requestFields === null ? 'no' : 'maybe'
}

/** The debug data in the GOAWAY that ended it; null for none. */
function toDebugData(error: Error): string | null {
  const data: unknown = 'goawayDebugData' in error ? error.goawayDebugData : null
  return Buffer.isBuffer(data) ? data.toString() : null
}

function toProcessed(error: unknown): Failure['processed'] {
  const processed: unknown = error instanceof Error && 'processed' in error ? error.processed : 'no'
  return processed === 'yes' || processed === 'maybe' ? processed : 'no'
}

/** node:http2 says less than the frames do. */
function toMessage(error: Error, { fault, foreign }: Http2Facts): string {
  if (foreign === 'HTTP/1.1') return 'The server speaks HTTP/1.1, not HTTP/2'
  if (foreign === 'TLS') return 'The server speaks TLS on this port, but the URL is http:'
  if (foreign === null) return 'The server sent something other than HTTP/2'
  // Engine `wire`'s message names the rule.
  if (fault !== null && !error.message.includes('(RFC') && !error.message.includes(fault))
    return `${fault}. ${error.message}`
  return error.message
}

function toHint(exitCode: ExitCode, facts: Http2Facts): string | null {
  if (exitCode !== EXIT.protocol || facts.clientSettings === null) return null
  if (facts.foreign === 'TLS') return 'Try the URL with https:'
  if (facts.foreign === 'HTTP/1.1') return HTTP1_HINT
  if (facts.foreign === undefined && facts.serverSettings === null) {
    return 'The server sent no SETTINGS: does it speak HTTP/2 on this port?'
  }
  return null
}

/** The message's lines. */
export function toFailureText({ goaway, hint, message, processed }: Failure, wasSent: boolean): string {
  const acted = {
    no: 'The server did not act on the request (processed: no).',
    maybe: 'The server may have acted on the request (processed: maybe).',
    yes: 'The server responded (processed: yes).',
  }[processed]
  // A line break from the server must not begin a line of this program's output.
  const data = goaway === null ? [] : [toPrintable(`GOAWAY debug data: ${goaway}`)]
  return [toPrintable(message), ...data, ...(wasSent ? [acted] : []), ...(hint === null ? [] : [hint])].join(
    '\n',
  )
}
