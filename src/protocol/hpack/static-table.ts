/**
 * The static table (RFC 7541, appendix A).
 *
 * @module
 */

/** The table's fields in order; a name without `=` has an empty value. */
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

/** Names by index; there is no index 0 (RFC 7541 §2.3.3), and its name is empty. */
export const STATIC_NAMES: readonly string[] = ['', ...FIELDS.map((field) => field.split('=', 1)[0] ?? '')]

/** Values by index, empty for a name alone. */
export const STATIC_VALUES: readonly string[] = STATIC_NAMES.map(
  (name, index) => FIELDS[index - 1]?.slice(name.length + 1) ?? '',
)

/** Entries of the table: the dynamic table's first index is the one behind them (RFC 7541 §2.3.3). */
export const STATIC_LENGTH = FIELDS.length

/** The lowest index of each name. Those of one name lie side by side. */
export const STATIC_INDEXES: ReadonlyMap<string, number> = new Map(
  // The last one set stays, so that the lowest has to come last.
  FIELDS.map((_field, at): [string, number] => [STATIC_NAMES[at + 1] ?? '', at + 1]).reverse(),
)
