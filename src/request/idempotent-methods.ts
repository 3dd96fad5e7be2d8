/**
 * Which methods may be repeated.
 *
 * @module
 */

/**
 * The safe methods (RFC 9110 §9.2.1). PUT and DELETE are idempotent, too (§9.2.2), but not every server respects
 * that: they are repeated only if the request's `idempotent` says so.
 */
const REPEATED_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** Whether a request with this method may be repeated if its `idempotent` says nothing: the same everywhere. */
export function isRepeatedMethod(method: string): boolean {
  return REPEATED_METHODS.has(method)
}
