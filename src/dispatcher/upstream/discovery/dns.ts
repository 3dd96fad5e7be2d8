/**
 * A resolver for upstreams that queries DNS.
 *
 * @module
 */

import type {
  DnsOptions,
  UpstreamInit,
  UpstreamResolver,
  UpstreamResolverContext,
} from '../../../../types/upstream.ts'
import { loadDns } from '../../../core/builtin.ts'
import { MAX_DELAY } from '../../../core/clock.ts'
import { toIpVersion } from '../../../core/ip-address.ts'
import { invalid, invalidKind, toInteger } from '../../../core/validate.ts'
import type { Origin } from '../../../options/options.ts'
import { toOrigin } from '../../../options/options.ts'
import type { FoundAddress, NameQueries } from './dns-queries.ts'
import { makeResolver, ServerQueries, SystemQueries, toShortestTtl } from './dns-queries.ts'
import { showIpEndpoint } from './ip-endpoint.ts'
import { MIN_PAUSE } from './resolution-timing.ts'
import { toTargets } from './srv.ts'

/** {@link DnsOptions}, checked and complete. */
interface ResolvedDnsOptions {
  readonly interval: number
  readonly isLookup: boolean
  readonly srv: string | null
  readonly family: 0 | 4 | 6
  readonly servers: readonly string[] | null
  readonly timeout: number
}

/**
 * Creates a resolver for an UpstreamPool: each address of the origin's name becomes an upstream. TLS and `:authority`
 * use the name. The pool resolves the name again when its TTL or `interval` is over, when a connection fails, and after
 * a GOAWAY.
 *
 * @param origin an `http:` or `https:` URL without path, query, fragment or credentials
 * @param options see {@link DnsOptions}
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted
 * @example
 * ```ts
 * const service = new UpstreamPool(dns('https://api.internal:8443'))
 * const { statusCode } = await service.request({ path: '/', method: 'GET' })
 * await service.close()
 * ```
 */
export function dns(origin: string | URL, options?: DnsOptions): UpstreamResolver {
  const where = toOrigin(origin)
  const resolved = toDnsOptions(options)
  const kept = new Map<string, readonly FoundAddress[]>()
  const resolver: UpstreamResolver = async (context) => {
    const family = toFamily(resolved.family, context.family)
    const { isLookup, timeout, servers } = resolved
    const queries = isLookup
      ? new SystemQueries(context.lookup ?? loadDns().lookup, family)
      : new ServerQueries(makeResolver(timeout, servers), family, context, kept)
    const found = await find(where, resolved, queries)
    return { upstreams: found.map(({ upstream }) => upstream), ttl: toTtl(found, resolved.interval) }
  }
  // The name in errors: there may be several.
  return Object.defineProperty(resolver, 'name', { value: `dns(${where.href})` })
}

/** An upstream, and the address that it was created from. */
interface FoundUpstream {
  readonly upstream: UpstreamInit
  readonly address: FoundAddress
}

async function find(
  { href, hostname }: Origin,
  { srv }: ResolvedDnsOptions,
  queries: NameQueries,
): Promise<FoundUpstream[]> {
  if (srv === null) {
    const addresses = await toAddresses(hostname, queries, false)
    return addresses.map((address) => ({ upstream: { origin: href, address: toText(address) }, address }))
  }
  const { targets, unusable } = toTargets(srv, await queries.services(srv))
  for (const error of unusable) queries.report(error)
  const names = [...new Set(targets.map(({ name }) => name))]
  queries.forgetOthers(names)
  const found = new Map(await toPairs(names, queries))
  return targets.flatMap(({ name, port, weight, priority }) => {
    const addresses = found.get(name) ?? []
    return addresses.map((address) => ({
      // The weight is the target's: its addresses share it.
      upstream: { origin: href, address: toText(address, port), weight: weight / addresses.length, priority },
      address,
    }))
  })
}

/** The addresses of each name. Names without addresses are omitted, unless all names are. */
async function toPairs(
  names: readonly string[],
  queries: NameQueries,
): Promise<[name: string, addresses: readonly FoundAddress[]][]> {
  const outcomes = await Promise.allSettled(names.map((name) => toAddresses(name, queries, true)))
  const pairs: [string, readonly FoundAddress[]][] = []
  const errors: unknown[] = []
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') pairs.push([names[index] ?? '', outcome.value])
    else errors.push(outcome.reason)
  }
  if (pairs.length === 0 && errors.length > 0) throw errors[0]
  for (const error of errors) queries.report(error)
  return pairs
}

function toAddresses(
  name: string,
  queries: NameQueries,
  mayBeKept: boolean,
): Promise<readonly FoundAddress[]> {
  const family = toIpVersion(name)
  return family === 0
    ? queries.addresses(name, mayBeKept)
    : Promise.resolve([{ host: name, family, ttl: null }])
}

function toText({ host, family }: FoundAddress, port: number | null = null): string {
  return showIpEndpoint({ host, family, port })
}

/** In milliseconds. */
function toTtl(found: readonly FoundUpstream[], interval: number): number {
  const seconds = toShortestTtl(found.map(({ address }) => address))
  return seconds === null ? interval : Math.min(interval, Math.max(MIN_PAUSE, seconds * 1_000))
}

function toFamily(own: 0 | 4 | 6, pools: UpstreamResolverContext['family']): 0 | 4 | 6 {
  if (own !== 0 && pools !== 0 && own !== pools)
    throw invalid(
      'dns() family',
      own,
      `${pools}, the only one that connect.family or localAddress allows, or 0`,
    )
  return own === 0 ? pools : own
}

function toDnsOptions(input: unknown): ResolvedDnsOptions {
  if (input !== undefined && (typeof input !== 'object' || input === null || Array.isArray(input)))
    throw invalidKind('options', input, 'an object')
  const { interval, using, srv, family, servers, timeout }: Partial<DnsOptions> = input ?? {}
  const needsServers = (srv ?? null) !== null || (servers ?? null) !== null
  return {
    interval: toInteger('interval', interval, 30_000, MIN_PAUSE, MAX_DELAY, 'milliseconds'),
    isLookup: isLookup(using, needsServers),
    srv: toServiceName(srv),
    family: toIpFamily(family),
    servers: toServers(servers),
    timeout: toInteger('timeout', timeout, 2_000, 1, MAX_DELAY, 'milliseconds'),
  }
}

function isLookup(using: unknown, needsServers: boolean): boolean {
  if (using === undefined || using === null) return !needsServers
  if (using === 'resolve' || (using === 'lookup' && !needsServers)) return using === 'lookup'
  throw invalid(
    'using',
    using,
    needsServers ? "'resolve' when srv or servers is set" : "'lookup' or 'resolve'",
  )
}

function toServiceName(value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (typeof value === 'string' && value !== '') return value
  throw invalid('srv', value, 'an SRV record name, such as _https._tcp.api.internal, or null')
}

function toIpFamily(value: unknown): 0 | 4 | 6 {
  if (value === undefined || value === null) return 0
  if (value === 0 || value === 4 || value === 6) return value
  throw invalid('family', value, '4, 6, or 0 for both')
}

function toServers(value: unknown): readonly string[] | null {
  if (value === undefined || value === null) return null
  const accepted = 'a list of IP addresses, with or without a port, or null'
  if (!Array.isArray(value) || value.length === 0) throw invalidKind('servers', value, accepted)
  try {
    makeResolver(1, value)
  } catch {
    throw invalid('servers', value.find((server) => typeof server !== 'string') ?? value.join(', '), accepted)
  }
  return [...value]
}
