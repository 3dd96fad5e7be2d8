/**
 * Header fields in wire form.
 *
 * @module
 */

/**
 * A flat list `[name, value, name, value, …]` in wire order: pseudo-header fields first, names in lower case, each
 * value a separate field. HPACK encodes it directly, and it costs a request one array, while an object costs a
 * dictionary.
 */
export type WireHeaders = string[]

/** The value of the first field with this name; undefined if there is none. */
export function getField(wire: readonly string[], name: string): string | undefined {
  for (let i = 0; i < wire.length; i += 2) if (wire[i] === name) return wire[i + 1]
  return undefined
}

/** Leaves exactly one field with this name, in the place of the first one, or at the end. */
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

/** Removes all fields with this name. @returns the value of the first one; null if there was none */
export function takeField(wire: WireHeaders, name: string): string | null {
  const value = getField(wire, name)
  if (value === undefined) return null
  deleteField(wire, name)
  return value
}

/** Removes all fields with this name, starting at an index of the list. */
export function deleteField(wire: WireHeaders, name: string, from = 0): void {
  for (let i = wire.length - 2; i >= from; i -= 2) if (wire[i] === name) wire.splice(i, 2)
}
