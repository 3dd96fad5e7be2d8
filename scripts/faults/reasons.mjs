/**
 * Why an outcome of Dodici's is worse than that of another client, by engine and behaviour. The page has no such outcome without its reason.
 */
const VALUES =
  'node:http2 removes such a field before Dodici sees the header section, and says nothing about it'

/** @type {Readonly<Record<string, Readonly<Record<string, string>>>>} */
export const REASONS = {
  'dodici (wire)': {},
  'dodici (node)': {
    'an empty name': VALUES,
    'a name with a space': VALUES,
    'a value with a line feed': VALUES,
    'a value with a NUL': VALUES,
    'a value with a space ahead': VALUES,
  },
}
