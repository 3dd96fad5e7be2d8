/**
 * Fields between connect-es, which has `Headers`, and a dispatcher, which has flat lists.
 *
 * @module
 */

/** Appends `[name, value, …]`, as the controller of a call has them. */
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
