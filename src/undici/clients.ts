/**
 * Client and Pool with undici's meaning of `http:`.
 *
 * @module
 */

import type { ClientOptions, PoolOptions } from '../../types/client.ts'
import { Client as OwnClient, Pool as OwnPool } from '../index.ts'
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

/** Dodici's Pool. An `http:` origin speaks HTTP/1.1, unless `h2c` or undici's `useH2c` is true. */
export class Pool extends OwnPool {
  constructor(origin: string | URL, options?: PoolOptions) {
    super(origin, toMeaning(options))
  }
}
recogniseParents(Pool, theirs.Pool)
