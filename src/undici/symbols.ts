/**
 * What the wrappers of undici's classes share.
 *
 * @module
 */

/** undici's own symbols aren't exported: they are found by their descriptions. Undefined where there is none. */
export function findSymbol(object: object, description: string): symbol | undefined {
  for (let at: object | null = object; at !== null; at = Object.getPrototypeOf(at)) {
    const found = Object.getOwnPropertySymbols(at).find((symbol) => symbol.description === description)
    if (found !== undefined) return found
  }
  return undefined
}

/** @throws TypeError where there is none: a later version of undici may have renamed it */
export function requireSymbol(object: object, description: string): symbol {
  const found = findSymbol(object, description)
  if (found === undefined)
    throw new TypeError(`This undici has no symbol(${description}): dodici/undici needs it`)
  return found
}

/** Lets the objects that undici itself has made of the parent be instances of the wrapper. */
export function recogniseParents(wrapper: abstract new (...args: never[]) => object): void {
  const parent: abstract new (...args: never[]) => object = Object.getPrototypeOf(wrapper)
  Object.defineProperty(wrapper, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      return this === wrapper
        ? value instanceof parent
        : Function.prototype[Symbol.hasInstance].call(this, value)
    },
  })
}
