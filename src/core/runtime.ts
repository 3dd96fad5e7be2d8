/**
 * The runtime that runs this code: Node.js, or one that has the modules of Node.js.
 *
 * @module
 */

/** Its name in error messages. */
export type Runtime = 'Node.js' | 'Bun' | 'Deno'

/** The runtime with these versions of its parts. Bun and Deno name the Node.js they are like, and themselves. */
export function toRuntime({ bun, deno }: NodeJS.Dict<string>): Runtime {
  if (bun !== undefined) return 'Bun'
  return deno === undefined ? 'Node.js' : 'Deno'
}

/** The runtime of this process. */
export const RUNTIME: Runtime = toRuntime(process.versions)
