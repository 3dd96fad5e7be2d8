/**
 * The dispatcher of Dodici's top-level functions. Node's global dispatcher is another one.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../types/client.ts'
import type { Dispatcher } from '../../types/dispatcher.ts'
import { invalid } from '../core/validate.ts'
import { isDispatcher } from '../dispatcher/dispatcher.ts'
import { peekBuiltinClass } from '../scheduler/fallback/builtin.ts'
import { GlobalAgent } from './global-agent.ts'

/** The ESM and the CJS copy of this package in one process have one global dispatcher. */
const GLOBAL_DISPATCHER = Symbol.for('dodici.globalDispatcher.1')

/**
 * The dispatcher that `request()`, `stream()`, `pipeline()`, `connect()` and `upgrade()` use when they aren't given
 * one.
 *
 * Made on first use: an {@link Agent} with the default options. `https:` origins speak HTTP/2 where they can, `http:`
 * origins HTTP/1.1 by its fallback. Where Node's own fetch goes through the environment's proxy, so does this one.
 */
export function getGlobalDispatcher(): Dispatcher {
  const present: unknown = Reflect.get(globalThis, GLOBAL_DISPATCHER)
  if (isDispatcher(present)) return present
  const agent = new GlobalAgent()
  setGlobalDispatcher(agent)
  return agent
}

/**
 * Replaces it; the one before is neither closed nor destroyed. undici, and Node's own fetch, have one of their own: for
 * these there is `install()`. The function of this name of `dodici/undici` sets all of them.
 *
 * @param dispatcher of Dodici, of undici 6, 7 or 8, or any object with a `dispatch()`, as for a request
 * @throws InvalidArgumentError when it can't dispatch
 */
export function setGlobalDispatcher(dispatcher: FallbackDispatcher): void {
  if (!isDispatcher(dispatcher)) throw invalid('dispatcher', dispatcher, 'an object with a dispatch() method')
  // `dodici/undici` puts it in the place of Node's and undici's as well: the fallback needs the class of that one.
  peekBuiltinClass()
  Object.defineProperty(globalThis, GLOBAL_DISPATCHER, {
    value: dispatcher,
    writable: true,
    configurable: true,
    enumerable: false,
  })
}
