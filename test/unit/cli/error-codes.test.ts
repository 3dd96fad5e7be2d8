import { describe, expect, it } from 'vitest'
import { EXIT } from '../../../src/cli/cli-error.ts'
import { isDnsCode, isTlsCode } from '../../../src/cli/error-codes.ts'
import { toFailure } from '../../../src/cli/inspect/failure.ts'
import { Http2Facts } from '../../../src/cli/inspect/http2-facts.ts'
import { toExitCode } from '../../../src/cli/load/failure.ts'
import { ConnectError, RequestTimeoutError } from '../../../src/errors/errors.ts'

const NO_FACTS = new Http2Facts(() => {})

/** An error that has come while a connection was made. */
function toConnectError(code: string): ConnectError {
  return new ConnectError('Could not connect', { cause: Object.assign(new Error(code), { code }) })
}

describe('the exit code of a code', () => {
  it.each(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAMILY'])('%s: a name has no address', (code) => {
    expect([isDnsCode(code), isTlsCode(code)]).toEqual([true, false])
    expect(toExitCode(toConnectError(code))).toBe(EXIT.dns)
    expect(toFailure(toConnectError(code), NO_FACTS).exitCode).toBe(EXIT.dns)
  })

  it.each([
    'EPROTO',
    'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'HOSTNAME_MISMATCH',
    'INVALID_PURPOSE',
    'CRL_HAS_EXPIRED',
  ])('%s: TLS', (code) => {
    expect([isDnsCode(code), isTlsCode(code)]).toEqual([false, true])
    expect(toExitCode(toConnectError(code))).toBe(EXIT.tls)
    expect(toFailure(toConnectError(code), NO_FACTS).exitCode).toBe(EXIT.tls)
  })

  it('ECONNREFUSED: connecting', () => {
    expect(toExitCode(toConnectError('ECONNREFUSED'))).toBe(EXIT.connect)
    expect(toFailure(toConnectError('ECONNREFUSED'), NO_FACTS).exitCode).toBe(EXIT.connect)
  })

  it('requestTimeout: a timeout', () => {
    const error = new RequestTimeoutError('The call took longer than requestTimeout (1 ms)')
    expect([toExitCode(error), toFailure(error, NO_FACTS).exitCode]).toEqual([EXIT.timeout, EXIT.timeout])
  })
})
