#!/usr/bin/env node
/**
 * The program `dodici`: built as `dist/cli.js`, the `bin` of the package. It acts when it is imported, as the worker of
 * `dodici load` does, and no other file of src/.
 *
 * @module
 */

import { runCli } from './cli.ts'
import { EXIT } from './cli-error.ts'
import { Terminal } from './terminal.ts'

// From Node 22 on, the next start finds the code of a command compiled. Missing in Node 20. `getBuiltinModule()` and no
// import, here and in what this file loads: an import of a module of Node's reads all its exports, and so loads what
// they stand for, such as `fs.promises`.
process.getBuiltinModule('node:module').enableCompileCache?.()

const terminal = new Terminal(process)
const exitCode = await runCli(process.argv.slice(2), readVersion, terminal)
process.exitCode = exitCode
// What can't be cancelled, such as the look-up of a name, doesn't hold up a user who has waited long enough. Nor does
// a standard input that doesn't end, once the response is there.
if (exitCode === EXIT.timeout || exitCode === EXIT.interrupted || terminal.hasReadInput) {
  await terminal.flush()
  process.exit()
}

function readVersion(): string {
  const { readFileSync } = process.getBuiltinModule('node:fs')
  // Seen from dist/.
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  const manifest: { version: string } = JSON.parse(text)
  return manifest.version
}
