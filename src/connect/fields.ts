/**
 * Converts fields between connect-es, which uses `Headers`, and a dispatcher, which uses flat lists.
 *
 * @module
 */

/** Appends `[name, value, …]`, the form in which a call's controller has them. */
export function appendRaw(headers: Headers, raw: readonly string[] | null): Headers {
  if (raw === null) return headers
  for (let index = 0; index < raw.length; index += 2) {
    headers.append(raw[index] ?? '', raw[index + 1] ?? '')
  }
  return headers
}

/** `[name, value, …]` */
export function toRaw(headers: Headers): string[] {
  const raw: string[] = []
  for (const [name, value] of headers) raw.push(name, value)
  return raw
}
