/**
 * Lets the ESM and the CJS copy of this package in one process recognise each other's classes.
 *
 * @module
 */

import type { AnyClass } from '../errors/errors.ts'
import { recognise } from '../errors/errors.ts'

/** The prototypes of the classes that this copy has marked. */
const marked = new WeakSet<object>()

/** Whether an object is the prototype of a class that this copy has marked. */
export function isMarked(prototype: object): boolean {
  return marked.has(prototype)
}

/**
 * Makes `instanceof` true for objects of the same class from another copy, and of its subclasses. It also names the
 * class: a bundler may have renamed it, and `console.log()` shows the name.
 */
export function markClass(markedClass: AnyClass, name: string): void {
  const mark = Symbol.for(`dodici.${name}.1`)
  Object.defineProperty(markedClass.prototype, mark, { value: true })
  marked.add(markedClass.prototype)
  Object.defineProperty(markedClass, 'name', { value: name, configurable: true })
  recognise(markedClass, [mark])
}
