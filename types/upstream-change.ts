/** How a source's answer has changed the upstreams of an `UpstreamPool`. */
export interface UpstreamChange {
  /** All current upstreams: each one's origin, with `#` and the address if it has one. */
  upstreams: readonly string[]
  /** The new upstreams. */
  added: readonly string[]
  /** The upstreams that get no more requests: they finish those they have, and then their connections close. */
  removed: readonly string[]
}
