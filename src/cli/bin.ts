#!/usr/bin/env node
/**
 * The program `dodici`, built as `dist/cli.js`, the package's `bin`. It acts when it is imported. The only other file
 * in src/ that does so is `dodici load`'s worker.
 *
 * @module
 */

import { runCli } from './cli.ts'
import { EXIT } from './cli-error.ts'
import { Terminal } from './terminal.ts'

// Since Node 22, the next start finds a command's code already compiled; Node 20 lacks the function.
// `getBuiltinModule()` instead of an import, here and in what this file loads: importing one of Node's modules reads
// all its exports, and so loads what they stand for, such as `fs.promises`.
process.getBuiltinModule('node:module').enableCompileCache?.()

const terminal = new Terminal(process)
const exitCode = await runCli(process.argv.slice(2), readVersion, terminal)
process.exitCode = exitCode
// What can't be cancelled, such as a name's lookup, must not hold up a user who has waited long enough. Neither must a
// standard input that doesn't end, once the response is there.
if (exitCode === EXIT.timeout || exitCode === EXIT.interrupted || terminal.hasReadInput) {
  await terminal.flush()
  process.exit()
}

function readVersion(): string {
  const { readFileSync } = process.getBuiltinModule('node:fs')
  // Relative to dist/.
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  const manifest: { version: string } = JSON.parse(text)
  return manifest.version
}
