/**
 * The public error classes: Dodici's, and those that only undici throws.
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
  RequestHeadersOverflowError,
  RequestTimeoutError,
  ResponseContentLengthMismatchError,
  ResponseExceededMaxSizeError,
  SocketError,
  StreamError,
  TunnelRefusedError,
  UploadTimeoutError,
} from './errors.ts'
export { ProxyConnectionError, SecureProxyConnectionError, Socks5ProxyError } from './proxy-errors.ts'
export {
  AbortError,
  BalancedPoolMissingUpstreamError,
  HTTPParserError,
  InformationalError,
  MaxRedirectsError,
  MessageSizeExceededError,
  RequestRetryError,
  ResponseError,
  ResponseStatusCodeError,
  UndiciError,
  WebAssemblyNotSupportedError,
} from './undici-errors.ts'
