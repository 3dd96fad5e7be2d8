/**
 * What the command lines of the benchmarks have in common.
 */
import { nghttpdVersion } from './servers.mjs'

/** A command line that asks for what isn't there. */
export class UsageError extends Error {}

/** @type {'nghttpd' | 'node'} */
export const defaultServer = nghttpdVersion === null ? 'node' : 'nghttpd'

/**
 * @param {string} name
 * @param {string | undefined} value
 * @returns {number | undefined}
 */
export function toCount(name, value) {
  if (value === undefined) return undefined
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < 1)
    throw new UsageError(`--${name} must be a whole number from 1 up`)
  return number
}

/**
 * @param {string} name
 * @param {string | undefined} value
 * @param {readonly string[]} known
 * @returns {string[] | undefined}
 */
export function toNames(name, value, known) {
  const list = value?.split(',').map((item) => item.trim())
  for (const item of list ?? []) {
    if (!known.includes(item)) throw new UsageError(`--${name}: no ${item}; there are: ${known.join(', ')}`)
  }
  return list
}

/**
 * @param {string | undefined} value
 * @returns {'nghttpd' | 'node'}
 */
export function toServer(value) {
  const server = value ?? defaultServer
  if (server !== 'node' && server !== 'nghttpd') throw new UsageError('--server must be nghttpd or node')
  if (server === 'nghttpd' && nghttpdVersion === null) throw new UsageError('nghttpd is not installed')
  return server
}

/**
 * Runs a command line to its end.
 *
 * @param {() => Promise<void>} main
 */
export async function runMain(main) {
  try {
    await main()
  } catch (error) {
    console.error(error instanceof UsageError ? `${error.message} (see --help)` : error)
    // By exit(), because children may still be open; leaving this way ends them.
    process.exit(error instanceof UsageError ? 2 : 1)
  }
}
