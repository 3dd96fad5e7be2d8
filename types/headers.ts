/**
 * The header fields of a response, or its trailers, as one object.
 *
 * Names are in lower case. A field that occurs once is a string. The values of a repeated field are joined with `', '`
 * (`'; '` for `cookie`); if a field may occur only once, such as `content-type`, the first value is kept. `set-cookie`
 * is always an array.
 *
 * The object is the one that the session created. It has no prototype, so use `Object.hasOwn(headers, name)` or
 * `name in headers`, not `headers.hasOwnProperty`.
 *
 * @see https://nodejs.org/api/http2.html#headers-object
 */
export type IncomingHttpHeaders = Record<string, string | string[] | undefined>

/**
 * Header fields as a flat list: `[name, value, name, value, …]`.
 *
 * In wire order, with duplicates kept apart and without pseudo-header fields: the result of `responseHeaders: 'raw'`
 * and `controller.rawHeaders`.
 */
export type RawHeaders = string[]

/**
 * One value of a request header field.
 *
 * A list sends the field once per element. `undefined` omits the field; `null` sends it with an empty value, as undici
 * does.
 */
export type RequestHeaderValue = string | number | readonly string[] | undefined | null

/**
 * Header fields for a request, in any shape that undici accepts.
 *
 * - an object, name to value;
 * - a flat list, `[name, value, name, value, …]`;
 * - an iterable of `[name, value]` pairs, such as a `Headers` or a `Map`.
 *
 * Dodici sends names in lower case (RFC 9113 §8.2.1).
 */
export type RequestHeaders =
  | Readonly<Record<string, RequestHeaderValue>>
  | readonly string[]
  | Iterable<readonly [name: string, value: RequestHeaderValue]>
