/**
 * Looks up what a script names with a string.
 *
 * @module
 */

/** @throws TypeError for an unknown name, with the known ones */
export function byName<Name extends string, Value>(
  what: string,
  all: Readonly<Record<Name, Value>>,
  name: Name,
): Value {
  if (Object.hasOwn(all, name)) return all[name]
  throw new TypeError(
    `Unknown ${what} ${JSON.stringify(name)}: expected one of ${Object.keys(all).join(', ')}`,
  )
}

/**
 * Checks the names in an options object. An instance of a class may have any others.
 *
 * @throws TypeError for an unknown name, with the known ones
 */
export function checkNames(what: string, given: object, known: readonly string[]): void {
  if (Object.getPrototypeOf(given) !== Object.prototype) return
  for (const name of Object.keys(given)) {
    if (!known.includes(name))
      throw new TypeError(`${what} has no option ${name}; it has ${known.join(', ')}`)
  }
}
