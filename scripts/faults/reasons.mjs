/**
 * Why an outcome of Dodici's isn't the right one, or comes by the limit of time alone, by engine and behaviour. The page has no such outcome
 * without its reason, and no reason without its outcome.
 */
const VALUES = 'node:http2 removes such a field before Dodici sees the header section, and reports no error'
const SMALL_DATA =
  'Frames of one octet are legal, and real servers send them: Dodici counts such DATA by its octets, and the budget isn’t used up. The body has no end; its limit of time ends it'
const UNKNOWN =
  'A client has to ignore frames of unknown types (RFC 9113 §4.1). Each counts once, whatever its size, and 8 MB of large ones are too few for the budget'

/** @type {Readonly<Record<string, Readonly<Record<string, string>>>>} */
export const REASONS = {
  'dodici (wire)': {
    'DATA of 1 byte': SMALL_DATA,
    'DATA of 1 byte between junk': SMALL_DATA,
    'unknown frames, large': UNKNOWN,
  },
  'dodici (node)': {
    'an empty name': VALUES,
    'a name with a space': VALUES,
    'a value with a line feed': VALUES,
    'a value with a NUL': VALUES,
    'PRIORITY on stream 0':
      'nghttp2 ignores PRIORITY frames, which RFC 9113 deprecates, and Dodici doesn’t hear of them',
    'DATA of 1 byte': SMALL_DATA,
  },
}
