import { describe, expect, it } from 'vitest'
import { toExitCode } from '../../../../src/cli/load/failure.ts'
import {
  AlpnError,
  ConnectTimeoutError,
  HeadersCountError,
  HeadersOverflowError,
  InvalidArgumentError,
  NotSupportedError,
  RequestContentLengthMismatchError,
  RequestTimeoutError,
  ResponseContentLengthMismatchError,
  ResponseExceededMaxSizeError,
  SocketError,
  StreamError,
  toConnectError,
} from '../../../../src/errors/errors.ts'

function toNodeError(code: string): Error {
  return Object.assign(new Error(code), { code })
}

describe('the exit code of an error', () => {
  it.each([
    { code: 'ENOTFOUND', exitCode: 3 },
    { code: 'EAI_AGAIN', exitCode: 3 },
    { code: 'ECONNREFUSED', exitCode: 4 },
    { code: 'EHOSTUNREACH', exitCode: 4 },
    { code: 'ECONNRESET', exitCode: 4 },
    { code: 'DEPTH_ZERO_SELF_SIGNED_CERT', exitCode: 5 },
    { code: 'CERT_HAS_EXPIRED', exitCode: 5 },
    { code: 'ERR_TLS_CERT_ALTNAME_INVALID', exitCode: 5 },
    { code: 'ERR_SSL_WRONG_VERSION_NUMBER', exitCode: 5 },
    { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', exitCode: 5 },
    { code: 'INVALID_PURPOSE', exitCode: 5 },
    { code: 'INVALID_CA', exitCode: 5 },
    { code: 'PATH_LENGTH_EXCEEDED', exitCode: 5 },
    { code: 'CRL_HAS_EXPIRED', exitCode: 5 },
    { code: 'ERROR_IN_CERT_NOT_BEFORE_FIELD', exitCode: 5 },
    { code: 'ERR_OSSL_EVP_UNSUPPORTED', exitCode: 5 },
    { code: 'ETIMEDOUT', exitCode: 7 },
    { code: 'ESOMETHING', exitCode: 1 },
  ])('$code while connecting: $exitCode', ({ code, exitCode }) => {
    expect(toExitCode(toConnectError(toNodeError(code), 'https://localhost'))).toBe(exitCode)
  })

  it.each([
    { error: new InvalidArgumentError('no'), exitCode: 2 },
    { error: new NotSupportedError('no'), exitCode: 2 },
    { error: new RequestContentLengthMismatchError('no'), exitCode: 2 },
    { error: new AlpnError('no'), exitCode: 6 },
    { error: new ResponseContentLengthMismatchError('no'), exitCode: 6 },
    { error: new ResponseExceededMaxSizeError('no'), exitCode: 6 },
    { error: new HeadersOverflowError('no'), exitCode: 6 },
    { error: new HeadersCountError('no'), exitCode: 6 },
    { error: new StreamError('no'), exitCode: 6 },
    { error: new SocketError('no', { cause: toNodeError('ECONNRESET') }), exitCode: 6 },
    { error: new ConnectTimeoutError('no'), exitCode: 7 },
    { error: new RequestTimeoutError('no'), exitCode: 7 },
    { error: new Error('no'), exitCode: 1 },
    { error: 'no error', exitCode: 1 },
  ])('$error: $exitCode', ({ error, exitCode }) => {
    expect(toExitCode(error)).toBe(exitCode)
  })
})
