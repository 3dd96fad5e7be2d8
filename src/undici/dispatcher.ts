/**
 * The class Dispatcher, also for undici's dispatchers.
 *
 * @module
 */

import { EventEmitter } from 'node:events'
import { Dispatcher as OwnDispatcher } from '../index.ts'

/**
 * The abstract dispatcher. `instanceof` is also true for undici's dispatchers of any version: for objects that can
 * dispatch, close, be destroyed, and emit events.
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
