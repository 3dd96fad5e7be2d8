/**
 * The options of HTTP/1.1 connections, with undici's names and defaults. They apply to connections that Dodici opens
 * itself: your own `fallback` has its own options.
 *
 * Durations in milliseconds, sizes in bytes.
 */
export interface Http1Options {
  /**
   * How many milliseconds an idle HTTP/1.1 connection stays open at most, whatever its server asks for with
   * `keep-alive: timeout`. `0`: as long as the server asks for. No effect over HTTP/2.
   *
   * @default 600_000
   */
  keepAliveMaxTimeout?: number | null | undefined

  /**
   * How many milliseconds before the server's `keep-alive: timeout` Dodici closes an HTTP/1.1 connection, so that no
   * request meets the server's close. `0`: no earlier. No effect over HTTP/2.
   *
   * @default 2_000
   */
  keepAliveTimeoutThreshold?: number | null | undefined

  /**
   * The age, in milliseconds, at which an HTTP/1.1 connection gets no new requests: it finishes those it has, and
   * closes. `0`: no limit. undici 6 and early versions of 7 don't support it: on Node 20 and 22, Dodici may warn
   * about that (`DODICI_UNKNOWN_OPTION`). Over HTTP/2 it sets {@link ClientOptions.maxSessionAge}, unless you set
   * that, too; and `maxSessionAge` is the default of this option.
   *
   * @default 0
   */
  clientTtl?: number | null | undefined

  /**
   * How many requests an HTTP/1.1 connection serves before Dodici closes it. `0`: no limit. No effect over HTTP/2,
   * where {@link ClientOptions.maxSessionRequests} is the limit, which is also the default of this option.
   *
   * @default 0
   */
  maxRequestsPerClient?: number | null | undefined

  /**
   * How many requests an HTTP/1.1 connection may have at once (RFC 9112 §9.3.2), from 0 to 4_294_967_295. `0`: each
   * request gets its own connection, which closes after it. No effect over HTTP/2, where `maxConcurrentStreams` is the
   * limit.
   *
   * @default 1
   */
  pipelining?: number | null | undefined
}
