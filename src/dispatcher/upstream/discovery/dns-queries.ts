/**
 * Asks the system, or name servers, for a name's addresses.
 *
 * @module
 */

import type { LookupAddress, promises, SrvRecord } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { UpstreamResolverContext } from '../../../../types/upstream.ts'
import { loadDns } from '../../../core/builtin.ts'
import { toIpVersion } from '../../../core/ip-address.ts'
import { toError } from '../../../errors/errors.ts'
import { toCheckedLookup } from '../../../session/connect/addresses.ts'

/** One of a name's addresses. */
export interface FoundAddress {
  readonly host: string
  readonly family: 4 | 6
  /** The record's TTL in seconds; null: unknown. */
  readonly ttl: number | null
}

/** The queries for one resolution. */
export interface NameQueries {
  /**
   * At least one.
   *
   * @param mayBeKept whether the previous addresses are used if all queries fail, because another name has an answer
   */
  addresses(name: string, mayBeKept: boolean): Promise<readonly FoundAddress[]>
  services(name: string): Promise<readonly SrvRecord[]>
  /** Other names will not be asked for any more. */
  forgetOthers(names: readonly string[]): void
  /** A query has failed, and others have an answer. */
  report(error: unknown): void
}

/** The shortest TTL in seconds; null if none is known. */
export function toShortestTtl(addresses: readonly FoundAddress[]): number | null {
  const known = addresses.flatMap(({ ttl }) => (ttl === null ? [] : [ttl]))
  return known.length === 0 ? null : Math.min(...known)
}

/** @throws what Node throws for an invalid address */
export function makeResolver(timeout: number, servers: readonly string[] | null): promises.Resolver {
  const resolver = new (loadDns().promises.Resolver)({ timeout, tries: 2 })
  if (servers !== null) resolver.setServers(servers)
  return resolver
}

/** Uses the system's own lookup, or one of the caller's instead. */
export class SystemQueries implements NameQueries {
  readonly #lookup: LookupFunction
  readonly #family: 0 | 4 | 6

  constructor(lookup: LookupFunction, family: 0 | 4 | 6) {
    this.#lookup = toCheckedLookup(lookup)
    this.#family = family
  }

  async addresses(name: string): Promise<readonly FoundAddress[]> {
    const family = this.#family
    // As Node's sockets do: no addresses of a family that the machine itself has none of.
    const hints = family === 0 && process.platform !== 'win32' ? loadDns().ADDRCONFIG : 0
    const found = await new Promise<readonly LookupAddress[]>((resolve, reject) => {
      this.#lookup(name, { all: true, family, hints }, (error, found) => {
        if (error !== null && error !== undefined) reject(error)
        // A caller's function may not support `all`. It was checked that there is an address.
        else resolve(typeof found === 'string' ? [{ address: found, family: toIpVersion(found) }] : found)
      })
    })
    return found.map(({ address, family: version }) => ({
      host: address,
      family: version === 6 ? 6 : 4,
      ttl: null,
    }))
  }

  services(): Promise<never> {
    return Promise.reject(new Error("The operating system can't look up SRV records"))
  }

  forgetOthers(): void {}

  report(): void {}
}

/** RFC 2308: there is no such name, or it has no such record. That is an answer. */
const NOTHING: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA'])

/** Asks name servers. */
export class ServerQueries implements NameQueries {
  readonly #resolver: promises.Resolver
  readonly #families: readonly (4 | 6)[]
  readonly #context: UpstreamResolverContext
  readonly #kept: Map<string, readonly FoundAddress[]>

  /** @param kept the last good answers, for queries that fail later while others don't. It belongs to the caller */
  constructor(
    resolver: promises.Resolver,
    family: 0 | 4 | 6,
    context: UpstreamResolverContext,
    kept: Map<string, readonly FoundAddress[]>,
  ) {
    this.#resolver = resolver
    this.#families = family === 0 ? [4, 6] : [family]
    this.#context = context
    this.#kept = kept
  }

  async addresses(name: string, mayBeKept: boolean): Promise<readonly FoundAddress[]> {
    const outcomes = await this.#cancelable(
      Promise.allSettled(this.#families.map((family) => this.#ask(name, family))),
    )
    const found: FoundAddress[] = []
    const errors: unknown[] = []
    for (const [index, outcome] of outcomes.entries()) {
      const query = `${this.#families[index]} ${name}`
      if (outcome.status === 'fulfilled') {
        this.#kept.set(query, outcome.value)
        found.push(...outcome.value)
      } else if (isNothing(outcome.reason)) {
        this.#kept.delete(query)
        errors.push(outcome.reason)
      } else {
        errors.unshift(outcome.reason)
      }
    }
    // A failed answer isn't an empty one: it removes no addresses as long as another query has an answer.
    if (found.length === 0 && !mayBeKept) throw errors[0] ?? toNoRecords(name)
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled' || isNothing(outcome.reason)) continue
      found.push(...(this.#kept.get(`${this.#families[index]} ${name}`) ?? []).map(withoutTtl))
      if (found.length > 0) this.report(outcome.reason)
    }
    if (found.length === 0) throw errors[0] ?? toNoRecords(name)
    return found
  }

  services(name: string): Promise<readonly SrvRecord[]> {
    return this.#cancelable(this.#resolver.resolveSrv(name))
  }

  forgetOthers(names: readonly string[]): void {
    const queries = new Set(names.flatMap((name) => this.#families.map((family) => `${family} ${name}`)))
    for (const query of this.#kept.keys()) if (!queries.has(query)) this.#kept.delete(query)
  }

  report(error: unknown): void {
    this.#context.report(toError(error))
  }

  async #ask(name: string, family: 4 | 6): Promise<readonly FoundAddress[]> {
    const records =
      family === 4
        ? await this.#resolver.resolve4(name, { ttl: true })
        : await this.#resolver.resolve6(name, { ttl: true })
    return records.map((record) => ({ host: record.address, family, ttl: record.ttl }))
  }

  /** A waiting query keeps the process alive, so it ends when no answer is wanted any more. */
  async #cancelable<TAnswer>(answer: Promise<TAnswer>): Promise<TAnswer> {
    const { signal } = this.#context
    const onAbort = (): void => this.#resolver.cancel()
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    try {
      return await answer
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}

function isNothing(error: unknown): boolean {
  return NOTHING.has(Reflect.get(Object(error), 'code'))
}

function withoutTtl({ host, family }: FoundAddress): FoundAddress {
  return { host, family, ttl: null }
}

function toNoRecords(hostname: string): Error {
  const error = new Error(`The answer for ${hostname} has no address`)
  return Object.assign(error, { code: 'ENODATA', hostname })
}
