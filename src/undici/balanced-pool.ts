/**
 * undici's BalancedPool over Dodici's pools.
 *
 * @module
 */

import type { Dispatch } from '../../types/dispatcher.ts'
import { Dispatcher } from '../index.ts'
import { installed, toName } from './installed.ts'
import { recogniseParents, requireSymbol } from './symbols.ts'

type Factory = (origin: string, options: object) => object

interface BalancedPoolOptions {
  readonly factory?: Factory
}

type BalancedPoolClass = new (upstreams?: unknown, options?: BalancedPoolOptions) => object

/**
 * Each upstream gets requests for all origins. Dodici's dispatchers refuse those for an origin other than their own.
 */
function toUpstream(dispatcher: Dispatcher, url: symbol, origin: string): void {
  const send = dispatcher.dispatch.bind(dispatcher)
  const value: Dispatch = ({ origin: _origin, ...options }, handler) => send(options, handler)
  Object.defineProperty(dispatcher, 'dispatch', { value, configurable: true, writable: true })
  Object.defineProperty(dispatcher, url, { value: new URL(origin), configurable: true })
}

/** @param url undici's BalancedPool identifies its upstreams by this property of undici's own dispatchers */
function toBalancedPool(parent: BalancedPoolClass, url: symbol): BalancedPoolClass {
  const toFactory =
    (factory: Factory): Factory =>
    (origin, options) => {
      const dispatcher = factory(origin, options)
      if (dispatcher instanceof Dispatcher) toUpstream(dispatcher, url, origin)
      return dispatcher
    }

  class BalancedPool extends parent {
    constructor(upstreams?: unknown, options?: BalancedPoolOptions) {
      const factory = options?.factory
      super(upstreams, typeof factory === 'function' ? { ...options, factory: toFactory(factory) } : options)
    }
  }
  recogniseParents(BalancedPool)
  return BalancedPool
}

type PoolClass = new (origin: string) => { destroy(): Promise<void> }

function isPoolClass(value: unknown): value is PoolClass {
  return typeof value === 'function'
}

function isBalancedPoolClass(value: unknown): value is BalancedPoolClass {
  return typeof value === 'function'
}

function wrap(): unknown {
  const { BalancedPool: theirs, Pool }: { BalancedPool?: unknown; Pool?: unknown } =
    installed.state === 'loaded' ? installed.names : {}
  if (!isBalancedPoolClass(theirs) || !isPoolClass(Pool)) return toName('BalancedPool', installed)
  // A pool connects with its first request alone.
  const pool = new Pool('http://localhost')
  const url = requireSymbol(pool, 'url')
  void pool.destroy()
  return toBalancedPool(theirs, url)
}

/** undici's BalancedPool; its option `factory` may create Dodici's dispatchers. */
export const BalancedPool = wrap()
