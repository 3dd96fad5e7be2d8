import type { WireHeaders } from '../../../src/request/wire-headers.ts'

/** Fields by their names, those of one name in an array. */
export function toFields(wire: WireHeaders): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = Object.create(null)
  for (let i = 0; i < wire.length; i += 2) {
    const [name = '', value = ''] = wire.slice(i, i + 2)
    const present = fields[name]
    fields[name] = present === undefined ? value : [present, value].flat()
  }
  return fields
}
