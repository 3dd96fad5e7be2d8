import { finishEntries, finishTesting, splitEntries } from './scripts/entries.ts'

// A plain object and no `defineConfig`: tsup's declarations need packages that aren't installed, and this project checks
// the declarations that it imports (`skipLibCheck: false`).
const shared = {
  format: ['esm', 'cjs'],
  target: 'node20',
  platform: 'node',
  external: ['undici'],
  // scripts/clean.mjs does it: tsup would remove the declarations of `dodici/undici` behind `onSuccess`.
  clean: false,
  // One file an entry and format: a chunk shared by two entries would be a second thing to keep loadable.
  splitting: false,
  esbuildOptions(options: { define?: Record<string, string> }, { format }: { format: string }) {
    // CommonJS has no `import.meta`. `createRequire()` takes the path of a file as well.
    if (format === 'cjs') options.define = { ...options.define, 'import.meta.url': '__filename' }
  },
  // tsup strips `node:` by default; with it, no package of the consumer's can shadow a builtin.
  removeNodeProtocol: false,
}

export default [
  {
    ...shared,
    entry: { index: 'src/index.ts', undici: 'src/undici/entry.ts' },
    sourcemap: true,
    // Those of `dodici/undici` are written by hand: they name packages and globals that each consumer has of its own.
    dts: { entry: { index: 'src/index.ts' } },
    onSuccess: finishEntries,
    esbuildPlugins: [splitEntries],
  },
  // It shares nothing with the others, and is to cost the tarball little: one build, and no source map.
  {
    ...shared,
    entry: { testing: 'src/testing/index.ts' },
    format: ['cjs'],
    dts: true,
    onSuccess: finishTesting,
  },
]
