/**
 * The static table (RFC 7541, appendix A).
 *
 * @module
 */

/** The table's fields in order; a field without `=` has an empty value. */
const FIELDS = [
  ...[':authority', ':method=GET', ':method=POST', ':path=/', ':path=/index.html', ':scheme=http'],
  ...[':scheme=https', ':status=200', ':status=204', ':status=206', ':status=304', ':status=400'],
  ...[':status=404', ':status=500', 'accept-charset', 'accept-encoding=gzip, deflate', 'accept-language'],
  ...['accept-ranges', 'accept', 'access-control-allow-origin', 'age', 'allow', 'authorization'],
  ...['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'content-length'],
  ...['content-location', 'content-range', 'content-type', 'cookie', 'date', 'etag', 'expect', 'expires'],
  ...['from', 'host', 'if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since'],
  ...['last-modified', 'link', 'location', 'max-forwards', 'proxy-authenticate', 'proxy-authorization'],
  ...['range', 'referer', 'refresh', 'retry-after', 'server', 'set-cookie', 'strict-transport-security'],
  ...['transfer-encoding', 'user-agent', 'vary', 'via', 'www-authenticate'],
]

/** The names by index. There is no index 0 (RFC 7541 §2.3.3), so its name is empty. */
export const STATIC_NAMES: readonly string[] = ['', ...FIELDS.map((field) => field.split('=', 1)[0] ?? '')]

/** The values by index; empty for an entry with a name only. */
export const STATIC_VALUES: readonly string[] = STATIC_NAMES.map(
  (name, index) => FIELDS[index - 1]?.slice(name.length + 1) ?? '',
)

/** The number of entries. The dynamic table's first index is the next one (RFC 7541 §2.3.3). */
export const STATIC_LENGTH = FIELDS.length

/** The lowest index of each name. The indexes of one name are consecutive. */
export const STATIC_INDEXES: ReadonlyMap<string, number> = new Map(
  // A Map keeps the last value for a key, so the lowest index has to come last.
  FIELDS.map((_field, at): [string, number] => [STATIC_NAMES[at + 1] ?? '', at + 1]).reverse(),
)
