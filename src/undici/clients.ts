/**
 * Client and Pool that treat `http:` as undici does.
 *
 * @module
 */

import type { ClientOptions, PoolOptions } from '../../types/client.ts'
import { errors, Client as OwnClient, Pool as OwnPool } from '../index.ts'
import { installed } from './installed.ts'
import { recogniseParents } from './symbols.ts'

/** undici's classes: a MockPool is an instance of Pool, as in undici. */
const theirs: { Client?: unknown; Pool?: unknown } = installed.state === 'loaded' ? installed.names : {}

/** An `http:` origin uses HTTP/1.1 by default, as in undici. Anything but an object is refused as usual. */
function toMeaning<TOptions extends ClientOptions>(options: TOptions | undefined): TOptions | undefined {
  if (typeof options !== 'object' && options !== undefined) return options
  const { useH2c } = options ?? {}
  // A wrong kind of value is refused.
  if (useH2c !== undefined && useH2c !== null && typeof useH2c !== 'boolean') return options
  return Object.assign({ h2c: useH2c === true }, options)
}

/** Dodici's Client, as in undici: `http:` origins use HTTP/1.1, unless `h2c` or undici's `useH2c` is true. */
export class Client extends OwnClient {
  constructor(origin: string | URL, options?: ClientOptions) {
    super(origin, toMeaning(options))
  }
}
recogniseParents(Client, theirs.Client)

/** `http:` origins use HTTP/1.1, unless `h2c` or undici's `useH2c` is true. */
class OurPool extends OwnPool {
  constructor(origin: string | URL, options?: PoolOptions) {
    super(origin, toMeaning(options))
  }
}

type PoolClass = new (...args: unknown[]) => object

function isPoolClass(value: unknown): value is PoolClass {
  return typeof value === 'function'
}

/** Whether there is a factory for clients. @throws InvalidArgumentError if it isn't a function */
function hasFactory(options: unknown): boolean {
  const factory: unknown = typeof options === 'object' && options !== null && Reflect.get(options, 'factory')
  if (factory === undefined || factory === null || factory === false) return false
  if (typeof factory !== 'function') throw new errors.InvalidArgumentError('factory must be a function.')
  return true
}

/**
 * Dodici's Pool. With a `factory` for clients it creates undici's Pool, because Dodici's has sessions, not clients. A
 * caller's own subclass is always Dodici's.
 */
export const Pool: typeof OurPool = new Proxy(OurPool, {
  construct(ours, args: unknown[], made): object {
    return made === Pool && isPoolClass(theirs.Pool) && hasFactory(args[1])
      ? new theirs.Pool(...args)
      : Reflect.construct(ours, args, made)
  },
})
recogniseParents(Pool, theirs.Pool)
