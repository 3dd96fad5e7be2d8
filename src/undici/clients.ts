/**
 * Client and Pool with undici's meaning of `http:`.
 *
 * @module
 */

import type { ClientOptions, PoolOptions } from '../../types/client.ts'
import { errors, Client as OwnClient, Pool as OwnPool } from '../index.ts'
import { installed } from './installed.ts'
import { recogniseParents } from './symbols.ts'

/** undici's classes: a MockPool is an instance of Pool, as in undici. */
const theirs: { Client?: unknown; Pool?: unknown } = installed.state === 'loaded' ? installed.names : {}

/** An `http:` origin speaks HTTP/1.1 where nothing else is said, as in undici. What is no object is refused as ever. */
function toMeaning<TOptions extends ClientOptions>(options: TOptions | undefined): TOptions | undefined {
  if (typeof options !== 'object' && options !== undefined) return options
  const { useH2c } = options ?? {}
  // A wrong kind of value is refused.
  if (useH2c !== undefined && useH2c !== null && typeof useH2c !== 'boolean') return options
  return Object.assign({ h2c: useH2c === true }, options)
}

/** Dodici's Client. An `http:` origin speaks HTTP/1.1, unless `h2c` or undici's `useH2c` is true. */
export class Client extends OwnClient {
  constructor(origin: string | URL, options?: ClientOptions) {
    super(origin, toMeaning(options))
  }
}
recogniseParents(Client, theirs.Client)

/** An `http:` origin speaks HTTP/1.1, unless `h2c` or undici's `useH2c` is true. */
class OurPool extends OwnPool {
  constructor(origin: string | URL, options?: PoolOptions) {
    super(origin, toMeaning(options))
  }
}

type PoolClass = new (...args: unknown[]) => object

function isPoolClass(value: unknown): value is PoolClass {
  return typeof value === 'function'
}

/** Whether a factory of clients is given. @throws InvalidArgumentError for one that is no function */
function hasFactory(options: unknown): boolean {
  const factory: unknown = typeof options === 'object' && options !== null && Reflect.get(options, 'factory')
  if (factory === undefined || factory === null || factory === false) return false
  if (typeof factory !== 'function') throw new errors.InvalidArgumentError('factory must be a function.')
  return true
}

/**
 * Dodici's Pool. With a `factory` of clients it makes a Pool of undici's: ours has sessions, and no clients. A caller's
 * own subclass is always ours.
 */
export const Pool: typeof OurPool = new Proxy(OurPool, {
  construct(ours, args: unknown[], made): object {
    return made === Pool && isPoolClass(theirs.Pool) && hasFactory(args[1])
      ? new theirs.Pool(...args)
      : Reflect.construct(ours, args, made)
  },
})
recogniseParents(Pool, theirs.Pool)
