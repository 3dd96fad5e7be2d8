/**
 * The service config that a client gives its channel: the policy, timeouts for methods, and what only grpc-js supports.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/service_config.md
 * @module
 */

/**
 * How calls choose among a target's addresses:
 *
 * - `pick_first`: the first one that can be reached gets all calls
 * - `round_robin`: all of them get calls
 */
export type Policy = 'pick_first' | 'round_robin'

/** How its service config makes a channel behave. */
export interface ServiceConfig {
  readonly policy: Policy
  readonly timeouts: MethodTimeouts
}

/** The timeouts of methods. */
export interface MethodTimeouts {
  /**
   * By `/package.Service/Method`, by `/package.Service/`, and `''` for all, in milliseconds. Null: calls with this name
   * have no timeout, whatever a less specific name has.
   */
  readonly byName: ReadonlyMap<string, number | null>
}

interface MethodConfig {
  readonly name?: readonly { readonly service?: unknown; readonly method?: unknown }[]
  readonly timeout?: unknown
  readonly retryPolicy?: unknown
  readonly hedgingPolicy?: unknown
  readonly waitForReady?: unknown
}

const NO_CONFIG: ServiceConfig = { policy: 'pick_first', timeouts: { byName: new Map() } }

/**
 * @param given the option `grpc.service_config`
 * @param areRetriesEnabled the option `grpc.enable_retries`
 * @returns null if only grpc-js supports it, or if it is malformed: then grpc-js says what is wrong with it
 */
export function toServiceConfig(given: unknown, areRetriesEnabled: boolean): ServiceConfig | null {
  if (given === undefined || given === null) return NO_CONFIG
  const config = parse(given)
  const policy = config === null ? null : toPolicy(config)
  if (config === null || policy === null) return null
  const { methodConfig = [] } = config
  if (!Array.isArray(methodConfig)) return null
  const byName = new Map<string, number | null>()
  for (const method of methodConfig as readonly MethodConfig[]) {
    const { retryPolicy, hedgingPolicy, timeout, waitForReady, name = [] } = Object(method) as MethodConfig
    if (areRetriesEnabled && (retryPolicy !== undefined || hedgingPolicy !== undefined)) return null
    if (waitForReady === true || !Array.isArray(name)) return null
    const milliseconds = timeout === undefined ? null : toMilliseconds(timeout)
    if (timeout !== undefined && milliseconds === null) return null
    for (const { service = '', method: one = '' } of name) {
      const key = service === '' ? '' : `/${service}/${one}`
      if (!byName.has(key)) byName.set(key, milliseconds)
    }
  }
  return { policy, timeouts: { byName } }
}

/** A method's timeout in milliseconds; null for none. The most specific name counts. */
export function toTimeout({ byName }: MethodTimeouts, method: string): number | null {
  if (byName.size === 0) return null
  const service = method.slice(0, method.lastIndexOf('/') + 1)
  const name = [method, service, ''].find((one) => byName.has(one))
  return name === undefined ? null : (byName.get(name) ?? null)
}

function parse(given: unknown): Readonly<Record<string, unknown>> | null {
  try {
    const config: unknown = JSON.parse(String(given))
    return typeof config === 'object' && config !== null ? (config as Record<string, unknown>) : null
  } catch {
    // grpc-js reports that to the caller.
    return null
  }
}

/** Null for a policy that only grpc-js supports. */
function toPolicy(config: Readonly<Record<string, unknown>>): Policy | null {
  const { loadBalancingConfig = [], loadBalancingPolicy } = config
  if (loadBalancingPolicy !== undefined && loadBalancingPolicy !== 'pick_first') return null
  if (!Array.isArray(loadBalancingConfig)) return null
  if (loadBalancingConfig.length === 0) return 'pick_first'
  // The first known policy counts, and this one may be unknown only to Dodici.
  const first: Readonly<Record<string, unknown>> = Object(loadBalancingConfig[0])
  if (Object.keys(first).length !== 1) return null
  if (Object.hasOwn(first, 'round_robin')) return 'round_robin'
  if (!Object.hasOwn(first, 'pick_first')) return null
  const { shuffleAddressList = false }: { shuffleAddressList?: unknown } = Object(first.pick_first)
  return shuffleAddressList === false ? 'pick_first' : null
}

/** A JSON duration, such as `1.5s`, or an object with seconds and nanoseconds. Null for anything else. */
function toMilliseconds(duration: unknown): number | null {
  if (typeof duration === 'string') {
    const [, seconds] = /^(\d+(?:\.\d+)?)s$/.exec(duration) ?? []
    return seconds === undefined ? null : Math.floor(Number(seconds) * 1_000)
  }
  const { seconds = 0, nanos = 0 }: { seconds?: unknown; nanos?: unknown } = Object(duration)
  const sum = Number(seconds) * 1_000 + Number(nanos) / 1e6
  return Number.isFinite(sum) ? Math.floor(sum) : null
}
