/**
 * The header fields of a response, or its trailers, as one object.
 *
 * Names are lower-case. A field that came once is a string. Values of a field that came several times are joined by
 * `', '` (`'; '` for `cookie`); of a field that may come only once, such as `content-type`, the first value is kept.
 * `set-cookie` is always an array.
 *
 * The object is the very one that the session made. It has no prototype, so use `Object.hasOwn(headers, name)` or
 * `name in headers`, not `headers.hasOwnProperty`.
 *
 * @see https://nodejs.org/api/http2.html#headers-object
 */
export type IncomingHttpHeaders = Record<string, string | string[] | undefined>

/**
 * Header fields as a flat list: `[name, value, name, value, …]`.
 *
 * In wire order, duplicates kept apart, without pseudo-header fields: the result of `responseHeaders: 'raw'` and of
 * `controller.rawHeaders`.
 */
export type RawHeaders = string[]

/**
 * One value of a request header field.
 *
 * A list sends the field once per element. `undefined` leaves the field out; `null` sends it with an empty value, as
 * undici does.
 */
export type RequestHeaderValue = string | number | readonly string[] | undefined | null

/**
 * Header fields for a request, in any shape that undici takes.
 *
 * - an object, name to value;
 * - a flat list, `[name, value, name, value, …]`;
 * - an iterable of `[name, value]` pairs, such as a `Headers` or a `Map`.
 *
 * Names are sent in lower case (RFC 9113 §8.2.1).
 */
export type RequestHeaders =
  | Readonly<Record<string, RequestHeaderValue>>
  | readonly string[]
  | Iterable<readonly [name: string, value: RequestHeaderValue]>
