/** What the code makes of an option: with a value, and without one. */

import { constants } from 'node:buffer'
import { toSettings } from '../../../src/connect/settings.ts'
import { toUpstream, toUpstreamPoolOptions } from '../../../src/dispatcher/upstream/upstream-options.ts'
import { toCoalesceRules } from '../../../src/options/coalesce.ts'
import {
  isHttp1Origin,
  toAgentOptions,
  toClientOptions,
  toConnections,
  toOrigin,
} from '../../../src/options/options.ts'
import { toReceiveLimits } from '../../../src/options/receive-limits.ts'
import { toSessionOptions } from '../../../src/options/session-options.ts'
import { toProxyOptions } from '../../../src/proxy/proxy-options.ts'
import { toPriorityField, toUrgency } from '../../../src/request/priority.ts'
import { Request } from '../../../src/request/request.ts'
import type { MemberHover } from './hover-reader.ts'

/** An object with one option. */
type Given = Readonly<Record<string, unknown>>

const HTTPS = toOrigin('https://a.test')
const HTTP = toOrigin('http://a.test')
const CLIENT = toClientOptions({ engine: 'node' })

/** What only tells that the caller has given an option. */
const GIVEN = /^(is\w*Given|ageOption|firstConnectionWindow)$/

/** RFC 9113 §6.5.2: what a setting is that isn't sent. */
const PROTOCOL_SETTINGS = {
  headerTableSize: 4_096,
  maxFrameSize: 16_384,
  enableConnectProtocol: false,
}

function resolveClient(given: Given): unknown {
  const { http1, ...others } = toClientOptions({ engine: 'node', ...given })
  // Over HTTP/1.1 its default is undici's.
  const { keepAliveTimeout: _, ...http1Others } = http1
  return {
    ...others,
    http1: http1Others,
    https: isHttp1Origin(HTTPS, given),
    http: isHttp1Origin(HTTP, given),
  }
}

/** By the interface that declares the option. */
const RESOLVERS: Readonly<Record<string, (given: Given) => unknown>> = {
  CallLimits: resolveClient,
  Http1Options: resolveClient,
  ClientOptions: resolveClient,
  PoolOptions: (given) => toConnections(given).sessions,
  AgentOptions(given) {
    const { mayBeHttp2, ...others } = toAgentOptions(given)
    return { ...others, http: mayBeHttp2(HTTP), https: mayBeHttp2(HTTPS) }
  },
  CoalesceOptions: (coalesce) => toCoalesceRules({ coalesce }),
  H2Options: (h2Options) => toSessionOptions({ h2Options }),
  Http2Settings: (settings) => ({
    ...PROTOCOL_SETTINGS,
    ...toSessionOptions({ h2Options: { settings } }).settings,
  }),
  WebSocketOptions: (webSocket) => toReceiveLimits({ webSocket }),
  EventSourceOptions: (eventSource) => toReceiveLimits({ eventSource }),
  UpstreamPoolOptions: (given) => toUpstreamPoolOptions(given),
  UpstreamInit: (given) => toUpstream({ origin: HTTPS.href, ...given }, {}),
  UpstreamRetryBudget: (retryBudget) => toUpstreamPoolOptions({ retryBudget }).retryBudget,
  UpstreamHealthCheck(given) {
    const { healthCheck } = toUpstreamPoolOptions({ healthCheck: { path: '/', ...given } })
    const statuses = Array.from({ length: 400 }, (_, index) => 200 + index)
    const isGood = (statusCode: number): boolean =>
      healthCheck?.isGood({ statusCode, headers: {}, trailers: {}, body: Buffer.alloc(0) }) === true
    return { ...healthCheck, good: statuses.filter(isGood) }
  },
  ProxyOptions: (given) => toProxyOptions({ uri: 'http://proxy.test', ...given }),
  DispatchOptions: (given) =>
    // With a body, and without one; and an upgrade: some options are about these.
    [given, { ...given, body: given.body ?? 'a' }, { ...given, upgrade: given.upgrade ?? true }].map(
      (one) => {
        const request = new Request({ method: 'PUT', path: '/', ...one }, HTTPS, CLIENT)
        return { ...request, isHttp1: request.isHttp1 }
      },
    ),
  RequestPriority(given) {
    const field = toPriorityField(given)
    return { urgency: toUrgency(field), incremental: field.split(', ').includes('i') }
  },
  TransportOptions: (given) => toSettings({ baseUrl: HTTPS.href, protocol: 'connect', ...given }),
}

/** The values of defaults that a hover shows in words. */
const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['UpstreamPoolOptions.failureStatuses', Array.from({ length: 100 }, (_, index) => 500 + index)],
  ['UpstreamHealthCheck.expect', Array.from({ length: 100 }, (_, index) => 200 + index)],
  ['EventSourceOptions.maxEventSize', constants.MAX_STRING_LENGTH],
])

interface Option extends Pick<MemberHover, 'name' | 'owner' | 'strings'> {
  readonly value: unknown
}

/** What a `@default` begins with: the value itself, without what else it depends on. */
export function toFirst(text: string): string {
  const [first = ''] = text.split(/; |, (?![^{]*\})/)
  return first.replaceAll('`', '').trim()
}

/** The value that a `@default` begins with; undefined for words. */
export function toLiteral(name: string, text: string): { readonly value: unknown } | undefined {
  if (WORDS.has(name)) return { value: WORDS.get(name) }
  const source = toFirst(text)
  if (/^-?\d[\d_]*$/.test(source)) return { value: Number(source.replaceAll('_', '')) }
  if (/^'[^']*'$/.test(source)) return { value: source.slice(1, -1) }
  const known = new Map<string, unknown>([
    ['true', true],
    ['false', false],
    ['null', null],
    ['{}', {}],
    ['[]', []],
    ['{ percent: 20, minPerSecond: 10 }', { percent: 20, minPerSecond: 10 }],
  ])
  return known.has(source) ? { value: known.get(source) } : undefined
}

/** A line of the code that has a default; `$` stands for what the hover shows. */
interface Line {
  readonly file: string
  readonly text: string
}

const line = (file: string, text: string): Line => ({ file: `src/${file}`, text })

/** Defaults that no function resolves by itself. */
export const LINES: ReadonlyMap<string, Line> = new Map([
  ['CloseOptions.timeout', line('dispatcher/life-cycle.ts', "Reflect.get(options, 'timeout'), $)")],
  [
    'DnsOptions.interval',
    line('dispatcher/upstream/discovery/dns.ts', "toInteger('interval', interval, $, "),
  ],
  ['DnsOptions.timeout', line('dispatcher/upstream/discovery/dns.ts', "toInteger('timeout', timeout, $, ")],
  [
    'DnsOptions.family',
    line('dispatcher/upstream/discovery/dns.ts', 'value === null) return $\n  if (value === 0'),
  ],
  [
    'DnsOptions.using',
    line('dispatcher/upstream/discovery/dns.ts', "=== null) return !needsServers\n  if (using === 'resolve'"),
  ],
  ['DumpOptions.limit', line('api/body-readable.ts', 'const DUMP_LIMIT = $\n')],
  ['PipelineOptions.objectMode', line('api/pipeline.ts', 'options.objectMode === true)')],
  ['RequestOptions.highWaterMark', line('api/api-handler.ts', 'const HIGH_WATER_MARK = $\n')],
  ['TopLevelOptions.method', line('global/top-level.ts', "options.method || (options.body ? 'PUT' : $)")],
  ['UpgradeOptions.method', line('api/upgrade.ts', 'method: method || $,')],
  ['UpgradeOptions.protocol', line('api/upgrade.ts', 'protocol || $}`)')],
  ['ChannelFactoryOptions.engine', line('grpc-js/shared-pool.ts', 'engine: given.engine ?? $,')],
  ['ConnectionScript.acksPings', line('testing/fault-connection.ts', "#option('acksPings') !== false")],
  ['ConnectionScript.grantsCredit', line('testing/fault-connection.ts', "#option('grantsCredit') !== false")],
  ['ConnectionScript.obeysWindows', line('testing/fault-connection.ts', "#option('obeysWindows') !== false")],
  [
    'ConnectionScript.staysHalfOpen',
    line('testing/fault-connection.ts', "#option('staysHalfOpen') !== true"),
  ],
  ['FaultResponse.status', line('testing/fault-stream.ts', '{ status = $, headers = []')],
  ['FaultResponse.headers', line('testing/fault-stream.ts', 'headers = [], trailers')],
  ['FaultServerOptions.h2c', line('testing/fault-options.ts', '{ h2c = $, key')],
  ['FaultServerOptions.host', line('testing/listener.ts', 'options.host ?? $)')],
  ['FaultServerOptions.port', line('testing/listener.ts', 'options.port ?? $,')],
  ['FaultServerOptions.timeout', line('testing/fault-server.ts', 'const DEFAULT_TIMEOUT = $\n')],
  ['FaultServerOptions.expectsAllRules', line('testing/fault-server.ts', 'expectsAllRules === true)')],
  ['GoAwayInit.code', line('testing/frame-connection.ts', 'code = $, debugData')],
  ['GoAwayInit.debugData', line('testing/frame-connection.ts', 'debugData = $ }')],
  ['GoAwayInit.closes', line('testing/fault-connection.ts', "if (init.closes === 'at once') this.end()")],
  ['RequestRuleOptions.at', line('testing/fault-server.ts', '{ at = $, times')],
  ['TrickleOptions.bytesPerSecond', line('testing/fault-stream.ts', 'bytesPerSecond = $,')],
  ['TrickleOptions.bytesPerFrame', line('testing/fault-stream.ts', 'bytesPerFrame = $ }')],
  // Without a value the connection decides, as in undici.
  ['DispatchOptions.blocking', line('request/request.ts', "toOptionalBoolean('blocking', options.blocking)")],
  ['DispatchOptions.reset', line('request/request.ts', "toOptionalBoolean('reset', options.reset)")],
  // Without a value Node decides.
  [
    'ClientOptions.autoSelectFamily',
    line('options/options.ts', "toBoolean('autoSelectFamily', autoSelectFamily, $)"),
  ],
])

export function isResolved({ name, owner }: Option): boolean {
  return owner in RESOLVERS && !LINES.has(name)
}

/** What the code makes of one option, or how it refuses the value. @param value undefined: the option is missing */
export function resolve({ name, owner }: Option, value: unknown): unknown {
  const option = name.slice(owner.length + 1)
  const resolver = RESOLVERS[owner]
  if (resolver === undefined) throw new Error(`No resolver for ${owner}`)
  if (value === undefined) return toComparable(resolver({}))
  try {
    return toComparable(resolver({ [option]: value }))
  } catch (error) {
    return { refused: String(error) }
  }
}

/** Plain data: functions, and what only tells that something was given, are left out. */
function toComparable(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? null : value
  if (Array.isArray(value)) return value.map(toComparable)
  if (value instanceof Set) return [...value].map(toComparable)
  if (value instanceof URL) return value.href
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !GIVEN.test(key))
      .map(([key, one]) => [key, toComparable(one)]),
  )
}

/** Values other than the default. */
export function toOthers({ value, strings }: Option): unknown[] {
  if (typeof value === 'boolean') return [!value]
  if (typeof value === 'number') return [value === -1 ? 1 : value > 1 ? value - 1 : value + 1]
  if (typeof value === 'string') return strings.filter((one) => one !== value)
  return []
}
