/** Children of tests, bundled with the sources as they are. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll } from 'vitest'

/**
 * Bundles files into a folder that is there for the tests of the file that asks.
 *
 * @param entryPoints by the name of what each becomes, without `.mjs`
 * @param minifySyntax as in the package: a constant that is used once is moved to its place, what has no effect is left out
 * @returns where that is; before the tests it isn't there yet
 */
export function bundle(entryPoints: Record<string, URL>, minifySyntax = false): (name: string) => string {
  let folder = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dodici-bundled-'))
    const files = Object.entries(entryPoints).map(([out, url]) => ({ in: fileURLToPath(url), out }))
    await build({
      entryPoints: files,
      outdir: folder,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      minifySyntax,
    })
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  return (name) => join(folder, `${name}.mjs`)
}
