/**
 * The runtime that runs this code: Node.js, or one that provides Node.js's modules.
 *
 * @module
 */

/** Its name in error messages. */
export type Runtime = 'Node.js' | 'Bun' | 'Deno'

/**
 * The runtime that reports these versions. Bun and Deno report the Node.js version that they imitate, and their own.
 */
export function toRuntime({ bun, deno }: NodeJS.Dict<string>): Runtime {
  if (bun !== undefined) return 'Bun'
  return deno === undefined ? 'Node.js' : 'Deno'
}

/** The runtime of this process. */
export const RUNTIME: Runtime = toRuntime(process.versions)
