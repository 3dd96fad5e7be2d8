/**
 * Header fields as they go on the wire.
 *
 * @module
 */

/**
 * A flat list `[name, value, name, value, …]` in the order of the wire: pseudo-headers first, names in lower case, each value a
 * field of its own. It is what HPACK encodes, and costs a request one array, where an object costs a dictionary.
 */
export type WireHeaders = string[]

/** The value of the first field of a name; undefined when there is none. */
export function getField(wire: WireHeaders, name: string): string | undefined {
  for (let i = 0; i < wire.length; i += 2) if (wire[i] === name) return wire[i + 1]
  return undefined
}

/** Replaces the value of a field, or adds one at the end. */
export function setField(wire: WireHeaders, name: string, value: string): void {
  for (let i = 0; i < wire.length; i += 2) {
    if (wire[i] === name) {
      wire[i + 1] = value
      return
    }
  }
  wire.push(name, value)
}

/** Takes out the field of a name; a no-op when there is none. */
export function deleteField(wire: WireHeaders, name: string): void {
  for (let i = 0; i < wire.length; i += 2) {
    if (wire[i] === name) {
      wire.splice(i, 2)
      return
    }
  }
}
