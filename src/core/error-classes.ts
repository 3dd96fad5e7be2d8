/**
 * The errors that a caller meets: the classes of `errors.ts`, without the tools.
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
