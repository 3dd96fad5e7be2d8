/**
 * The dispatcher for Dodici's top-level functions. Node's global dispatcher is a different one.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../types/client.ts'
import type { Dispatcher } from '../../types/dispatcher.ts'
import { invalid } from '../core/validate.ts'
import { isDispatcher } from '../dispatcher/dispatcher.ts'
import { peekBuiltinClass } from '../scheduler/fallback/builtin.ts'
import { GlobalAgent } from './global-agent.ts'

/** The ESM and CommonJS copies of this package in one process share one global dispatcher. */
const GLOBAL_DISPATCHER = Symbol.for('dodici.globalDispatcher.1')

/**
 * Returns the dispatcher that `request()`, `stream()`, `pipeline()`, `connect()`, `upgrade()` and `fetch()` use by
 * default.
 *
 * Created on first use: an {@link Agent} with default options. `https:` origins use HTTP/2 where they can, `http:`
 * origins HTTP/1.1 through its fallback. It uses the environment's proxy if Node's own fetch does.
 */
export function getGlobalDispatcher(): Dispatcher {
  const present: unknown = Reflect.get(globalThis, GLOBAL_DISPATCHER)
  if (isDispatcher(present)) return present
  const agent = new GlobalAgent()
  setGlobalDispatcher(agent)
  return agent
}

/**
 * Replaces the global dispatcher; the previous one is neither closed nor destroyed. undici and Node's own fetch have
 * another global dispatcher, which `install()` sets. `setGlobalDispatcher()` from `dodici/undici` sets all of them.
 *
 * @param dispatcher from Dodici, from undici 6, 7 or 8, or any object with a `dispatch()`
 * @throws InvalidArgumentError if it can't dispatch
 */
export function setGlobalDispatcher(dispatcher: FallbackDispatcher): void {
  if (!isDispatcher(dispatcher)) throw invalid('dispatcher', dispatcher, 'an object with a dispatch() method')
  // `dodici/undici` also puts it in place of Node's and undici's dispatchers: the fallback needs the class of Node's.
  peekBuiltinClass()
  Object.defineProperty(globalThis, GLOBAL_DISPATCHER, {
    value: dispatcher,
    writable: true,
    configurable: true,
    enumerable: false,
  })
}
