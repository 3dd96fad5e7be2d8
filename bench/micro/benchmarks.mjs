/**
 * Which micro benchmarks there are.
 */

/** Each is a file of that name here, which exports its `comparisons`. */
export const benchmarks = [
  'normalizer',
  'headers',
  'bodies',
  'unordered-list',
  'queue',
  'clock',
  'heap',
  'call',
  'body-readable',
  'caller-context',
  'decode',
]

/**
 * @param {string} name
 * @returns {Promise<readonly import('./harness.mjs').Comparison[]>}
 */
export async function load(name) {
  const { comparisons } = await import(new URL(`${name}.mjs`, import.meta.url).href)
  return comparisons
}
