/**
 * The limits of a call, for a client or for one request. Durations in milliseconds, sizes in bytes. `null`: the
 * default, which for a request is its dispatcher's value.
 */
export interface CallLimits {
  /**
   * How many milliseconds the request may wait for a stream: for a connection, or until the peer's limit allows another
   * stream. `0`: forever. If neither the request nor its client sets it, a shorter `headersTimeout` also limits the
   * wait for a free stream.
   *
   * @default 300_000
   */
  queueTimeout?: number | null | undefined

  /**
   * For a client: how many milliseconds a connection attempt may take, including TLS and the server's first SETTINGS.
   * For a request: how long it waits for a connection, over any number of connection attempts. `0`: no limit.
   *
   * @default 10_000
   */
  connectTimeout?: number | null | undefined

  /**
   * How many milliseconds to wait for the response's header section after the request was sent. It doesn't run while
   * the body is being sent. `0`: no limit.
   *
   * @default 300_000
   */
  headersTimeout?: number | null | undefined

  /**
   * How many milliseconds to wait between two pieces of the response body. It stops while the reader holds the body
   * back. `0`: no limit.
   *
   * @default 300_000
   */
  bodyTimeout?: number | null | undefined

  /**
   * How many milliseconds the request body may make no progress, because its source delivers nothing or the peer
   * accepts nothing. `0`: no limit.
   *
   * @default 300_000
   */
  uploadTimeout?: number | null | undefined

  /**
   * How many milliseconds the whole call may take, from `dispatch()` to the end of the response, over all attempts.
   * `0`: no limit. If it is below 1_000, all of the call's timeouts fire up to 5 ms late instead of 50.
   *
   * @default 0
   */
  requestTimeout?: number | null | undefined

  /**
   * How many bytes a response body may have. `-1`: no limit.
   *
   * @default -1
   */
  maxResponseSize?: number | null | undefined

  /**
   * How many bytes a response's header section may have, decoded and counted as in RFC 9113 §6.5.2 (name and value plus
   * 32 per field). The same limit applies to its trailer section, and to all its informational responses together.
   * At most 1_048_576.
   *
   * @default 65_536
   */
  maxHeaderSize?: number | null | undefined

  /**
   * How many fields a response's header section may have, and its trailer section. At most 32_768.
   *
   * @default 2_000
   */
  maxHeadersCount?: number | null | undefined

  /**
   * How many bytes of a request body Dodici may keep in memory, so that it can retry the request. It applies to
   * iterables and web streams whose `content-length` is known and not larger than this, such as the bodies of Node's
   * own fetch. `0`: it keeps nothing. At most 1_073_741_824.
   *
   * @default 262_144
   */
  maxReplayBuffer?: number | null | undefined
}
