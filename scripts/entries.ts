// What the build needs besides tsup: for entries of which one stands on another, and for their size.
import { readFileSync } from 'node:fs'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'esbuild'
import typescript from 'typescript'

const { ModuleKind, ScriptTarget, transpileModule } = typescript

/**
 * The entries `dodici/undici`, `dodici/connect` and `dodici/grpc-js`, and the command line, import the built `dodici` beside them, and have
 * no copy of it: one process has one set of classes.
 */
export const splitEntries: Plugin = {
  name: 'split-entries',
  setup(build) {
    const extension = build.initialOptions.format === 'cjs' ? 'cjs' : 'js'
    build.onResolve({ filter: /^[./]+\/(testing\/)?index\.ts$/ }, ({ path, importer }) => {
      if (!/\/src\/(undici|connect|grpc-js|cli)\//.test(importer)) return undefined
      const entry = path.includes('testing') ? 'testing' : 'index'
      // The commands of the command line are in dist/parts/, and no other file of it imports an entry.
      const folder = importer.includes('/src/cli/') ? '..' : '.'
      return { path: `${folder}/${entry}.${extension}`, external: true }
    })
    // CommonJS keeps `require()` as it is. A module wouldn't: esbuild would put a function in its place that throws.
    if (extension === 'js')
      build.onResolve({ filter: /^\.\/peer\.ts$/ }, () => ({ path: './parts/peer.js', external: true }))
  },
}

/**
 * The files that an entry exports from, as entries of their own. What two of them share goes to chunks.
 *
 * @param path of an entry that exports from other files, and does nothing else
 */
export function exportedParts(path: string): Record<string, string> {
  const source = readFileSync(path, 'utf8')
  const files = [...source.matchAll(/^export (?!type).*? from '\.\/(.*)\.ts'$/gm)].map(
    ([, file]) => file ?? '',
  )
  return Object.fromEntries(files.map((file) => [`parts/${basename(file)}`, `src/${file}.ts`]))
}

/** Comments are a fifth of the package. A reader has them in the declarations, and in the repository. */
export const withoutComments: Plugin = {
  name: 'without-comments',
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => ({
      contents: await toJavaScript(path),
      loader: 'js',
    }))
  },
}

async function toJavaScript(path: string): Promise<string> {
  const { outputText } = transpileModule(await readFile(path, 'utf8'), {
    compilerOptions: {
      target: ScriptTarget.ES2022,
      module: ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      removeComments: true,
    },
  })
  return outputText
}

/** As undici has a default export. A file can't import itself in the sources: imports have no cycles there. */
const toDefault = (script: string) => `
/** All of it in one object, as undici's default export is. */
declare const all: typeof import('./undici.${script}')
export default all
`

/** An object like any other, as that of undici: tests put functions of their own in it. esbuild makes getters. */
const PLAIN_EXPORTS = '\nmodule.exports = { ...module.exports };\n'

/** Finishes the entries but `dodici/testing`: their declarations for both formats, and the exports of `dodici/undici`. */
export async function finishEntries(): Promise<void> {
  await writeFile('dist/index.d.ts', "export * from './index.cjs'\n")
  await appendFile('dist/undici.cjs', PLAIN_EXPORTS)
  await mkdir('dist/parts', { recursive: true })
  await writeFile('dist/parts/peer.js', await toJavaScript('src/undici/peer.ts'))
  await copyDeclarations('undici', toDefault)
  await copyDeclarations('connect', () => '')
  await copyDeclarations('grpc-js', () => '')
}

/** The declarations of an entry, for both formats. They are a file that has nothing else. */
async function copyDeclarations(entry: string, toEnd: (script: string) => string): Promise<void> {
  const source = await readFile(`src/${entry}/declarations.ts`, 'utf8')
  for (const [extension, script] of Object.entries({ 'd.ts': 'js', 'd.cts': 'cjs' })) {
    const declarations = source.replaceAll("'../index.ts'", `'./index.${script}'`)
    await writeFile(`dist/${entry}.${extension}`, declarations + toEnd(script))
  }
}

/** Makes the ES module of `dodici/testing`: the names of the one build, which CommonJS has as well. */
export async function finishTesting(): Promise<void> {
  const require = createRequire(import.meta.url)
  // Biome would give a plain path the extension of its declarations.
  const path = fileURLToPath(new URL('../dist/testing.cjs', import.meta.url))
  const names = Object.keys(require(path)).join(', ')
  await writeFile(
    'dist/testing.js',
    `import testing from './testing.cjs'\nexport const { ${names} } = testing\n`,
  )
  await writeFile('dist/testing.d.ts', "export * from './testing.cjs'\n")
}
