/**
 * Makes Node's built-in fetch, and every npm undici in the process, use a Dodici dispatcher, and undoes it.
 *
 * @module
 */

import type { FallbackDispatcher } from '../types/client.ts'
import { RUNTIME } from './core/runtime.ts'
import { invalid } from './core/validate.ts'
import { isDispatcher } from './dispatcher/dispatcher.ts'
import { NotSupportedError } from './errors/errors.ts'
import { getGlobalDispatcher } from './global/global.ts'
import {
  findBuiltinClass,
  loadBuiltin,
  readInstallation,
  readSlots,
  SLOTS,
  writeInstallation,
} from './scheduler/fallback/builtin.ts'

/**
 * Makes `fetch`, `WebSocket` and `EventSource` use a dispatcher: both Node's own, and those from npm undici 6, 7 and 8.
 * You can call it before or after the first fetch, and again with another dispatcher.
 *
 * It loads Node's own undici and keeps its dispatcher: {@link uninstall} restores it, and the fallback is created from
 * it.
 *
 * In undici, the function of this name makes undici's fetch and classes global instead. `install()` from
 * `dodici/undici` does that.
 *
 * @param dispatcher a dispatcher that accepts handlers of both shapes, as all of Dodici's do. `uninstall()` doesn't
 *   close it.
 * @default getGlobalDispatcher()
 * @throws InvalidArgumentError if it can't dispatch; NotSupportedError on Bun and Deno, whose fetch isn't undici's,
 *   unless npm undici was loaded before: then npm undici uses the dispatcher
 *
 * @example
 * ```ts
 * install(new Agent())
 * const response = await fetch('https://localhost:12443/') // over HTTP/2
 * ```
 */
export function install(dispatcher: FallbackDispatcher = getGlobalDispatcher()): void {
  if (!isDispatcher(dispatcher)) throw invalid('dispatcher', dispatcher, 'an object with a dispatch() method')
  const earlier = readSlots()
  const agentClass = findBuiltinClass()
  // Node 26 replaces the dispatcher in the older place when it loads its own.
  loadBuiltin()
  const loaded = readSlots()
  if (RUNTIME !== 'Node.js' && loaded.legacy === undefined && loaded.native === undefined) {
    throw new NotSupportedError(
      `install() needs a fetch built on undici, which ${RUNTIME} doesn't have: set globalThis.fetch to Dodici's fetch`,
    )
  }
  const present = { legacy: earlier.legacy ?? loaded.legacy, native: earlier.native ?? loaded.native }
  const before = readInstallation()
  // A dispatcher that other code has put there since our last `install()` is kept, otherwise the one that was kept
  // first.
  const toPrevious = (slot: keyof typeof present): unknown =>
    before !== undefined && present[slot] === before.dispatcher ? before[slot] : present[slot]
  writeInstallation({ dispatcher, legacy: toPrevious('legacy'), native: toPrevious('native'), agentClass })
  put(SLOTS.legacy, dispatcher)
  put(SLOTS.native, dispatcher)
}

/**
 * Restores the dispatchers from before {@link install}, except where other code has set another one since. Does nothing
 * without an earlier `install()`.
 */
export function uninstall(): void {
  const installation = readInstallation()
  if (installation === undefined) return
  const { dispatcher, legacy, native } = installation
  const present = readSlots()
  if (present.legacy === dispatcher) put(SLOTS.legacy, legacy)
  if (present.native === dispatcher) put(SLOTS.native, native)
  writeInstallation(undefined)
}

/** Sets a global slot as undici does, except that a slot that was never used before can be deleted again. */
function put(slot: symbol, dispatcher: unknown): void {
  if (dispatcher === undefined && Reflect.deleteProperty(globalThis, slot)) return
  const { configurable } = Object.getOwnPropertyDescriptor(globalThis, slot) ?? { configurable: true }
  Object.defineProperty(globalThis, slot, {
    value: dispatcher,
    writable: true,
    enumerable: false,
    configurable: configurable === true,
  })
}
