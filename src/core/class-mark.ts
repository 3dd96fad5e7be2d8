/**
 * The ESM and the CJS copy of this package in one process know each other's classes.
 *
 * @module
 */

import type { AnyClass } from '../errors/errors.ts'
import { recognise } from '../errors/errors.ts'

/** Prototypes of the classes that this copy has marked. */
const marked = new WeakSet<object>()

/** Whether an object is the prototype of a class that this copy has marked. */
export function isMarked(prototype: object): boolean {
  return marked.has(prototype)
}

/**
 * Lets `instanceof` hold for the objects of the same class of another copy, and of its subclasses. The class gets its
 * name as well: a bundler may have given it another one, and `console.log()` shows it.
 */
export function markClass(markedClass: AnyClass, name: string): void {
  const mark = Symbol.for(`dodici.${name}.1`)
  Object.defineProperty(markedClass.prototype, mark, { value: true })
  marked.add(markedClass.prototype)
  Object.defineProperty(markedClass, 'name', { value: name, configurable: true })
  recognise(markedClass, [mark])
}
