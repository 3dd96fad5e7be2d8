/** The modules of `src/`, for what measures one of them by itself. */
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

/**
 * A module of `src/`, compiled as the published build is: on every line of Node, with esbuild, in memory.
 *
 * @param {string} path such as `request/headers.ts`
 */
export function loadSource(path) {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL(`../src/${path}`, import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
  })
  const [output] = outputFiles
  if (output === undefined) throw new Error(`Nothing came of ${path}`)
  return import(`data:text/javascript;base64,${Buffer.from(output.contents).toString('base64')}`)
}
