/**
 * What the wrappers of undici's classes share.
 *
 * @module
 */

/** undici doesn't export its symbols, so they are found by their descriptions. Undefined if there is none. */
export function findSymbol(object: object, description: string): symbol | undefined {
  for (let at: object | null = object; at !== null; at = Object.getPrototypeOf(at)) {
    const found = Object.getOwnPropertySymbols(at).find((symbol) => symbol.description === description)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * The same, for a required symbol. @throws TypeError if there is none: a later version of undici may have renamed it
 */
export function requireSymbol(object: object, description: string): symbol {
  const found = findSymbol(object, description)
  if (found === undefined)
    throw new TypeError(`This undici has no symbol(${description}): dodici/undici needs it`)
  return found
}

type AnyClass = abstract new (...args: never[]) => object

/** @param type a class; false for anything else */
export function isInstance(value: unknown, type: unknown): boolean {
  return typeof type === 'function' && value instanceof type
}

/**
 * Makes the parent's instances instances of the wrapper, which gets the parent's name.
 *
 * @param theirs undici's class with that name, whose objects are instances, too; undefined for none
 */
export function recogniseParents(wrapper: AnyClass, theirs?: unknown): void {
  const parent: AnyClass = Object.getPrototypeOf(wrapper)
  Object.defineProperty(wrapper, 'name', { value: parent.name, configurable: true })
  Object.defineProperty(wrapper, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      return this === wrapper
        ? value instanceof parent || isInstance(value, theirs)
        : Function.prototype[Symbol.hasInstance].call(this, value)
    },
  })
}
