/**
 * The limits of one call, for a client or for one request. Durations in milliseconds, sizes in bytes. `null`: the
 * default, which for a request is its dispatcher's.
 */
export interface CallLimits {
  /**
   * How long the request may wait for a stream: for a connection, or for room below the peer's limit. `0`: for ever.
   * If neither the request nor its client sets it, a shorter `headersTimeout` bounds the wait for room, too.
   *
   * @default 300_000
   */
  queueTimeout?: number | null | undefined

  /**
   * For a client: how long a connection attempt may take, with TLS and the server's first SETTINGS. For a request: how
   * long it waits for a connection, over any number of attempts to make one. `0`: no limit.
   *
   * @default 10_000
   */
  connectTimeout?: number | null | undefined

  /**
   * From the end of the request to the response's header section. It doesn't run while the body is sent. `0`: no limit.
   *
   * @default 300_000
   */
  headersTimeout?: number | null | undefined

  /**
   * Between two pieces of the response's body. Stopped while the reader holds the body back. `0`: no limit.
   *
   * @default 300_000
   */
  bodyTimeout?: number | null | undefined

  /**
   * Between two pieces of the request's body that the session takes: the source gives nothing, or the peer takes
   * nothing. `0`: no limit.
   *
   * @default 300_000
   */
  uploadTimeout?: number | null | undefined

  /**
   * The whole call: from `dispatch()` to the response's end, over all attempts. `0`: no limit. If it is below 1_000,
   * all limits of the call fire up to 5 ms late instead of 50.
   *
   * @default 0
   */
  requestTimeout?: number | null | undefined

  /**
   * How large a response's body may be. `-1`: any size.
   *
   * @default -1
   */
  maxResponseSize?: number | null | undefined

  /**
   * How large a response's header section may be, decoded and counted as RFC 9113 §6.5.2 does (32 bytes for each field
   * besides its name and value). The same limit holds for its trailer section, and for all its informational responses
   * together. At most 1_048_576.
   *
   * @default 65_536
   */
  maxHeaderSize?: number | null | undefined

  /**
   * How many fields a response's header section may have; the same for its trailer section. At most 32_768.
   *
   * @default 2_000
   */
  maxHeadersCount?: number | null | undefined

  /**
   * How much of a request's body may be kept in memory so that the request can be sent again. It holds for an iterable
   * or a web stream whose `content-length` is known and not larger than this: the bodies of Node's own fetch among
   * them. `0`: nothing is kept. At most 1_073_741_824.
   *
   * @default 262_144
   */
  maxReplayBuffer?: number | null | undefined
}
