/**
 * The error classes of `errors.ts` that are public, without its helper functions.
 *
 * @module
 */

export {
  AlpnError,
  BodyTimeoutError,
  ClientClosedError,
  ClientDestroyedError,
  ConnectError,
  ConnectTimeoutError,
  DodiciError,
  HeadersCountError,
  HeadersOverflowError,
  HeadersTimeoutError,
  InvalidArgumentError,
  InvalidReturnValueError,
  MaxOriginsReachedError,
  NotSupportedError,
  QueueTimeoutError,
  RequestAbortedError,
  RequestContentLengthMismatchError,
  RequestTimeoutError,
  ResponseContentLengthMismatchError,
  ResponseExceededMaxSizeError,
  SocketError,
  StreamError,
  TunnelRefusedError,
  UploadTimeoutError,
} from '../errors.ts'
