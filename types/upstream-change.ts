/** How the upstreams of an `UpstreamPool` have changed, by the answer of a source. */
export interface UpstreamChange {
  /** All that there are now: the origin of each, with `#` and the address if it has one. */
  upstreams: readonly string[]
  /** Those that are new. */
  added: readonly string[]
  /** Those that get no requests any more: the requests that they have end, and then their connections are closed. */
  removed: readonly string[]
}
