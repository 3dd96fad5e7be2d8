// A plain object and no `defineConfig`: tsup's declarations need packages that aren't installed, and this project checks
// the declarations that it imports (`skipLibCheck: false`).
export default {
  entry: ['src/index.ts'],
  format: ['esm', 'cjs'],
  dts: true,
  target: 'node20',
  platform: 'node',
  sourcemap: true,
  clean: true,
  // One file a format: a chunk shared by two entries would be a second thing to keep loadable.
  splitting: false,
  // tsup strips `node:` by default; with it, no package of the consumer's can shadow a builtin.
  removeNodeProtocol: false,
}
