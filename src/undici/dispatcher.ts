/**
 * The class Dispatcher, for undici's dispatchers as well.
 *
 * @module
 */

import { EventEmitter } from 'node:events'
import { Dispatcher as OwnDispatcher } from '../index.ts'

/**
 * The abstract dispatcher. `instanceof` holds for undici's dispatchers, of each version, too: for what dispatches,
 * closes, can be destroyed, and has events.
 */
export abstract class Dispatcher extends OwnDispatcher {}

Object.defineProperty(Dispatcher, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    // A user's own subclass: the prototype chain is checked.
    if (this !== Dispatcher) return Function.prototype[Symbol.hasInstance].call(this, value)
    return (
      value instanceof EventEmitter &&
      ['dispatch', 'close', 'destroy'].every((name) => typeof Reflect.get(value, name) === 'function')
    )
  },
})
