// What the build needs for two entries, of which one stands on the other.
import { readFile, writeFile } from 'node:fs/promises'
import type { Plugin } from 'esbuild'

/**
 * The entry `dodici/undici` imports the built `dodici` beside it, and has no copy of it: one process has one set of
 * classes.
 */
export const splitEntries: Plugin = {
  name: 'split-entries',
  setup(build) {
    const path = build.initialOptions.format === 'cjs' ? './index.cjs' : './index.js'
    build.onResolve({ filter: /\/index\.ts$/ }, ({ importer }) => {
      if (importer === '' || !/\/src\/undici\//.test(importer)) return undefined
      return { path, external: true }
    })
  },
}

/** Writes the declarations of `dodici/undici` for both formats. */
export async function copyDeclarations(): Promise<void> {
  const source = await readFile('src/undici/declarations.ts', 'utf8')
  for (const [extension, script] of Object.entries({ 'd.ts': 'js', 'd.cts': 'cjs' })) {
    const declarations = source
      .replaceAll("'../index.ts'", `'./index.${script}'`)
      .replaceAll("'./declarations.ts'", `'./undici.${script}'`)
    await writeFile(`dist/undici.${extension}`, declarations)
  }
}
