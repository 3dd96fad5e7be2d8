// Releases the version of package.json. Outside of a CI it publishes nothing, and says what would happen.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { release } from './release/release.mjs'

const root = fileURLToPath(new URL('../', import.meta.url))

process.exitCode = release({
  root,
  args: process.argv.slice(2),
  env: process.env,
  run: ([program = '', ...args]) => spawnSync(program, args, { cwd: root, stdio: 'inherit' }).status === 0,
  print: (line) => console.log(line),
})
