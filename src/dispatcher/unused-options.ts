/**
 * Options that have no effect because of other options.
 *
 * @module
 */

import type { AgentOptions, ClientOptions, FallbackDispatcher } from '../../types/client.ts'
import type { Http1Options } from '../../types/http1.ts'
import { DISPATCHER_OPTIONS } from '../options/known-options.ts'
import type { ResolvedClientOptions } from '../options/options.ts'
import { warnOnce } from '../options/unknown-options.ts'
import { OwnFallback } from '../scheduler/fallback/own-fallback.ts'

/** An object, so that the compiler requires each of the type's names. */
const HTTP1: Readonly<Record<keyof Http1Options, true>> = {
  ...{ clientTtl: true, keepAliveMaxTimeout: true, keepAliveTimeoutThreshold: true },
  ...{ maxRequestsPerClient: true, pipelining: true },
}

/**
 * Warns once about each option for HTTP/1.1 connections if Dodici opens none.
 *
 * @param fallback the resolved option: undefined for the built-in one
 */
export function warnOfUnusedOptions(
  options: Http1Options | undefined,
  fallback: FallbackDispatcher | null | undefined,
): void {
  if (fallback === undefined || fallback instanceof OwnFallback) return
  const why =
    fallback === null ? 'without a fallback there is no HTTP/1.1' : 'the fallback has its own options'
  for (const name of Object.keys(HTTP1)) {
    const value: unknown = Reflect.get(options ?? {}, name)
    if (value === undefined || value === null) continue
    warnOnce(name, DISPATCHER_OPTIONS, `The dispatcher option ${name} has no effect: ${why}`)
  }
}

/** The Agent option that leaves no session for two origins to share; null for none. */
export function toObstacle(
  { connect, socketPath }: Pick<ResolvedClientOptions, 'connect' | 'socketPath'>,
  factory: AgentOptions['factory'],
): string | null {
  if (typeof connect === 'function') return 'a connect function decides where connections go'
  if (socketPath !== null) return 'all connections go to socketPath'
  if ((connect.servername ?? null) !== null) return 'connect.servername asks every server for the same name'
  return (factory ?? null) === null ? null : 'the factory makes the dispatcher for each origin'
}

/** Warns, once for each reason, that an Agent's origins can't share sessions. @param why the end of the sentence */
export function warnOfNoCoalescing(why: string): void {
  warnOnce(`coalesce: ${why}`, DISPATCHER_OPTIONS, `The Agent option coalesce has no effect: ${why}`)
}

/** Warns once about an option that only an Agent has. */
export function warnOfAgentOptions(
  options: (ClientOptions & Pick<AgentOptions, 'coalesce'>) | undefined,
): void {
  const { coalesce } = options ?? {}
  const isAsked = coalesce !== undefined && coalesce !== null && coalesce !== false
  if (isAsked) warnOfNoCoalescing('a dispatcher for one origin has no other origin to share sessions with')
}
