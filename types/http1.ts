/**
 * The options of connections that speak HTTP/1.1, under undici's names and with undici's defaults. They are for
 * connections that Dodici opens itself: a `fallback` of the caller's has options of its own.
 *
 * Durations in milliseconds, sizes in bytes.
 */
export interface Http1Options {
  /**
   * How long a connection of HTTP/1.1 without requests stays open at most, whatever its server asks for by `keep-alive:
   * timeout`. `0`: as long as the server asks for. It has no effect over HTTP/2.
   *
   * @default 600_000
   */
  keepAliveMaxTimeout?: number | null | undefined

  /**
   * How much sooner than its server asks for by `keep-alive: timeout` a connection of HTTP/1.1 is closed: a request
   * must not meet the server's close. `0`: no sooner. It has no effect over HTTP/2.
   *
   * @default 2_000
   */
  keepAliveTimeoutThreshold?: number | null | undefined

  /**
   * After so long a connection of HTTP/1.1 gets no new requests: it finishes those that it has, and is closed. `0`: it
   * may get any age. undici 6 and early versions of 7 don't have it: on Node 20 and 22 a connection that should have
   * such an age brings a warning (`DODICI_UNKNOWN_OPTION`). Over HTTP/2 it is {@link ClientOptions.maxSessionAge},
   * unless that is given; and that is this one's default.
   *
   * @default 0
   */
  clientTtl?: number | null | undefined

  /**
   * How many requests a connection of HTTP/1.1 serves before it is closed. `0`: any number. It has no effect over
   * HTTP/2, where {@link ClientOptions.maxSessionRequests} is the limit, which is this one's default.
   *
   * @default 0
   */
  maxRequestsPerClient?: number | null | undefined

  /**
   * How many requests a connection of HTTP/1.1 may have at once (RFC 9112 §9.3.2), from 0 to 4_294_967_295. `0`: each
   * request has a connection, which is closed behind it. It has no effect over HTTP/2, where `maxConcurrentStreams` is
   * the limit.
   *
   * @default 1
   */
  pipelining?: number | null | undefined
}
