/**
 * Header fields as they go on the wire.
 *
 * @module
 */

/**
 * A flat list `[name, value, name, value, …]` in the order of the wire: pseudo-headers first, names in lower
 * case, each value a field of its own. It is what HPACK encodes, and costs a request one array, where an
 * object costs a dictionary.
 */
export type WireHeaders = string[]

/** The value of the first field of a name; undefined when there is none. */
export function getField(wire: readonly string[], name: string): string | undefined {
  for (let i = 0; i < wire.length; i += 2) if (wire[i] === name) return wire[i + 1]
  return undefined
}

/** Leaves exactly one field of a name, in the place of the first one, or at the end. */
export function setField(wire: WireHeaders, name: string, value: string): void {
  for (let i = 0; i < wire.length; i += 2) {
    if (wire[i] === name) {
      wire[i + 1] = value
      deleteField(wire, name, i + 2)
      return
    }
  }
  wire.push(name, value)
}

/** Takes out all fields of a name. @returns the value of the first; null when there was none */
export function takeField(wire: WireHeaders, name: string): string | null {
  const value = getField(wire, name)
  if (value === undefined) return null
  deleteField(wire, name)
  return value
}

/** Takes out all fields of a name, from an index of the list on. */
export function deleteField(wire: WireHeaders, name: string, from = 0): void {
  for (let i = wire.length - 2; i >= from; i -= 2) if (wire[i] === name) wire.splice(i, 2)
}
