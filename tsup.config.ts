import type { BuildOptions } from 'esbuild'
import {
  exportedParts,
  finishEntries,
  finishTesting,
  splitEntries,
  withoutComments,
} from './scripts/entries.ts'

// A plain object and no `defineConfig`: tsup's declarations need packages that aren't installed, and this project checks
// the declarations that it imports (`skipLibCheck: false`).
const shared = {
  target: 'node20',
  platform: 'node',
  external: ['undici', /^@connectrpc\//, /^@bufbuild\//, /^@grpc\//],
  // scripts/build.mjs does it: tsup would remove the declarations of `dodici/undici` behind `onSuccess`.
  clean: false,
  splitting: false,
  dts: false,
  esbuildOptions(options: BuildOptions, { format }: { format: string }) {
    // CommonJS has no `import.meta`. `createRequire()` takes the path of a file as well.
    // `require()` is all that src/undici/peer.ts needs there, whatever bundles it.
    if (format === 'cjs')
      options.define = {
        ...options.define,
        'import.meta.url': '__filename',
        __webpack_require__: 'undefined',
      }
    // The build has the lines and the names of the sources. Only what says the same in fewer words is made shorter.
    options.minifySyntax = true
  },
  // tsup strips `node:` by default; with it, no package of the consumer's can shadow a builtin.
  removeNodeProtocol: false,
  esbuildPlugins: [splitEntries, withoutComments],
}

const entry = {
  index: 'src/index.ts',
  undici: 'src/undici/entry.ts',
  connect: 'src/connect/entry.ts',
  'grpc-js': 'src/grpc-js/entry.ts',
}

export default [
  // One file an entry: `require()` loads one file faster than many, and nothing shakes a tree of CommonJS.
  {
    ...shared,
    entry,
    format: ['cjs'],
    // The declarations of all other entries are written by hand: they name packages that each consumer has of its own.
    // Without anything `@internal`, such as a constructor's overload that only an Agent calls: editors would show it.
    dts: { entry: { index: 'src/index.ts' }, compilerOptions: { stripInternal: true } },
    onSuccess: finishEntries,
  },
  // `index.js` says only where each name comes from, so that a bundler takes what a program uses.
  {
    ...shared,
    entry: { ...entry, ...exportedParts('src/index.ts') },
    format: ['esm'],
    splitting: true,
    esbuildOptions(options: BuildOptions, context: { format: string }) {
      shared.esbuildOptions(options, context)
      options.chunkNames = 'parts/[name]-[hash]'
    },
  },
  // It shares nothing with the others, and is to cost the tarball little: one build.
  {
    ...shared,
    entry: { testing: 'src/testing/index.ts' },
    format: ['cjs'],
    dts: true,
    onSuccess: finishTesting,
  },
  // The command line. It has no copy of `dist/index.js`. Its commands are parts, which are loaded when they run: `dodici --help` needs none of
  // them. It is a program that no other code imports, so it is minified, names too: they would cost 3 kB of the tarball.
  {
    ...shared,
    entry: { cli: 'src/cli/bin.ts', 'parts/cli-worker': 'src/cli/load/worker.ts' },
    format: ['esm'],
    splitting: true,
    minify: true,
    esbuildOptions(options: BuildOptions, context: { format: string }) {
      shared.esbuildOptions(options, context)
      options.chunkNames = 'parts/cli-[name]-[hash]'
    },
  },
]
