/** Bundlers, each asked in the same way for one file of a program. */

import { basename, dirname, join } from 'node:path'
import { build as buildByEsbuild } from 'esbuild'
import { rollup } from 'rollup'
import { build as buildByVite } from 'vite'
import { loadPackage } from '../support/clients/packages.ts'

/** The format of the one file. */
export type Format = 'esm' | 'cjs'

/** What a bundler is asked for. */
export interface Order {
  /** The program. dodici is in `node_modules` beside it. */
  readonly entry: string
  readonly outfile: string
  readonly format: Format
  /** Whether undici is left for Node to load. */
  readonly isExternal: boolean
  /** Whether names are made short, those of classes as well. */
  readonly isMinified?: boolean
}

/** @returns what it has warned of */
export type Bundle = (order: Order) => Promise<string[]>

interface WebpackStats {
  toJson(options: object): Record<'errors' | 'warnings', { message: string }[]>
}

type Webpack = (
  configuration: object,
  callback: (error: Error | null, stats?: WebpackStats) => void,
) => { close(callback: () => void): void }

/** What users of esbuild and Vite write above a module that has CommonJS within, such as undici: Node's modules have no `require`. */
const BANNER =
  "import { createRequire as __make } from 'node:module'; const require = __make(import.meta.url);"

const byWebpack: Bundle = ({ entry, outfile, format, isExternal, isMinified = false }) =>
  new Promise((resolve, reject) => {
    const isModule = format === 'esm'
    const configuration = {
      ...{ mode: 'production', target: 'node20', devtool: false, context: dirname(entry), entry },
      // Names are made short, and that is all: it takes many times as long to make expressions of undici shorter, too.
      optimization: { minimize: isMinified, minimizeOptions: { javascript: { compress: false } } },
      experiments: { outputModule: isModule },
      externals: isExternal ? { undici: 'node-commonjs undici' } : {},
      output: {
        path: dirname(outfile),
        filename: basename(outfile),
        // The engines are loaded when they are first used, by `import()`: in one file with the rest here.
        ...{ asyncChunks: false, module: isModule },
        library: { type: isModule ? 'module' : 'commonjs2' },
      },
    }
    const compiler = loadPackage<Webpack>('user-tools', 'webpack')(configuration, (error, stats) => {
      const { errors, warnings } = stats?.toJson({ all: false, errors: true, warnings: true }) ?? {
        errors: [{ message: String(error) }],
        warnings: [],
      }
      compiler.close(() => {
        if (errors.length > 0) reject(new Error(errors.map(({ message }) => message).join('\n')))
        else resolve(warnings.map(({ message }) => message))
      })
    })
  })

const byEsbuild: Bundle = async ({ entry, outfile, format, isExternal, isMinified = false }) => {
  const { warnings } = await buildByEsbuild({
    ...{ entryPoints: [entry], outfile, format, bundle: true, platform: 'node', logLevel: 'silent' },
    minify: isMinified,
    external: isExternal ? ['undici'] : [],
    banner: format === 'esm' && !isExternal ? { js: BANNER } : {},
  })
  return warnings.map(({ text }) => text)
}

function byVite(isLibrary: boolean): Bundle {
  return async ({ entry, outfile, format, isExternal, isMinified = false }) => {
    const external = isExternal ? ['undici'] : []
    await buildByVite({
      ...{ root: dirname(entry), configFile: false, logLevel: 'silent' },
      ssr: { noExternal: true, external },
      build: {
        ...(isLibrary ? { lib: { entry, formats: [format === 'esm' ? 'es' : 'cjs'] } } : { ssr: entry }),
        ...{ outDir: dirname(outfile), emptyOutDir: false, minify: isMinified, target: 'node20' },
        rolldownOptions: {
          external: [/^node:/, ...external],
          output: {
            ...{ format, entryFileNames: basename(outfile), codeSplitting: false },
            banner: isLibrary && format === 'esm' && !isExternal ? BANNER : '',
          },
        },
      },
    })
    return []
  }
}

/** Without plugins it follows no CommonJS: undici is external, whatever is asked. */
const byRollup: Bundle = async ({ entry, outfile, format }) => {
  const warnings: string[] = []
  const entries: Record<string, string> = { dodici: 'index.js', 'dodici/undici': 'undici.js' }
  const bundle = await rollup({
    input: entry,
    external: [/^node:/, 'undici'],
    onwarn: ({ message }) => warnings.push(message),
    plugins: [
      {
        name: 'dodici',
        resolveId(source) {
          const file = entries[source]
          return file === undefined ? null : join(dirname(entry), 'node_modules/dodici/dist', file)
        },
      },
    ],
  })
  await bundle.write({ file: outfile, format, inlineDynamicImports: true })
  await bundle.close()
  return warnings
}

export const BUNDLERS = {
  webpack: byWebpack,
  esbuild: byEsbuild,
  'Vite (SSR)': byVite(false),
  'Vite (a library)': byVite(true),
  rollup: byRollup,
} as const

export type Bundler = keyof typeof BUNDLERS
