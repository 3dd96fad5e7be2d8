/**
 * Options that a fallback of the caller's doesn't get.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../types/client.ts'
import type { Http1Options } from '../../types/http1.ts'
import { DISPATCHER_OPTIONS } from '../options/known-options.ts'
import { warnOnce } from '../options/unknown-options.ts'
import { OwnFallback } from '../scheduler/fallback/own-fallback.ts'

/** An object, so that the compiler requires each of the type's names. */
const HTTP1: Readonly<Record<keyof Http1Options, true>> = {
  ...{ clientTtl: true, keepAliveMaxTimeout: true, keepAliveTimeoutThreshold: true },
  ...{ maxRequestsPerClient: true, pipelining: true },
}

/**
 * Warns of options for connections of HTTP/1.1, once each, where Dodici opens none.
 *
 * @param fallback the resolved option: undefined for one of our own
 */
export function warnOfUnusedOptions(
  options: Http1Options | undefined,
  fallback: FallbackDispatcher | null | undefined,
): void {
  if (fallback === undefined || fallback instanceof OwnFallback) return
  const why =
    fallback === null ? 'without a fallback there is no HTTP/1.1' : 'the fallback has options of its own'
  for (const name of Object.keys(HTTP1)) {
    const value: unknown = Reflect.get(options ?? {}, name)
    if (value === undefined || value === null) continue
    warnOnce(name, DISPATCHER_OPTIONS, `The option ${name} of a dispatcher has no effect: ${why}`)
  }
}
