import { finishEntries, splitEntries } from './scripts/entries.ts'

// A plain object and no `defineConfig`: tsup's declarations need packages that aren't installed, and this project checks
// the declarations that it imports (`skipLibCheck: false`).
export default {
  entry: { index: 'src/index.ts', undici: 'src/undici/entry.ts' },
  format: ['esm', 'cjs'],
  // Those of `dodici/undici` are written by hand: they name packages and globals that each consumer has of its own.
  dts: { entry: { index: 'src/index.ts' } },
  onSuccess: finishEntries,
  target: 'node20',
  platform: 'node',
  external: ['undici'],
  sourcemap: true,
  // scripts/clean.mjs does it: tsup would remove the declarations of `dodici/undici` behind `onSuccess`.
  clean: false,
  // One file an entry and format: a chunk shared by two entries would be a second thing to keep loadable.
  splitting: false,
  esbuildPlugins: [splitEntries],
  esbuildOptions(options: { define?: Record<string, string> }, { format }: { format: string }) {
    // CommonJS has no `import.meta`. `createRequire()` takes the path of a file as well.
    if (format === 'cjs') options.define = { ...options.define, 'import.meta.url': '__filename' }
  },
  // tsup strips `node:` by default; with it, no package of the consumer's can shadow a builtin.
  removeNodeProtocol: false,
}
