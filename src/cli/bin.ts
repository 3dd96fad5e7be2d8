#!/usr/bin/env node
/**
 * The program `dodici`: built as `dist/cli.js`, the `bin` of the package. The one file of src/ that acts when it is
 * imported.
 *
 * @module
 */

import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { runCli } from './cli.ts'
import { EXIT } from './cli-error.ts'
import { workHere } from './load/thread-handle.ts'
import { Terminal } from './terminal.ts'

// A worker of `dodici load` is this program, too.
if (isMainThread) await main()
else await workHere()

async function main(): Promise<void> {
  // Seen from dist/.
  const manifest: { version: string } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  )
  const terminal = new Terminal(process)
  const exitCode = await runCli(process.argv.slice(2), manifest.version, terminal)
  process.exitCode = exitCode
  // What can't be cancelled, such as the look-up of a name, doesn't hold up a user who has waited long enough. Nor does
  // a standard input that doesn't end, once the response is there.
  if (exitCode === EXIT.timeout || exitCode === EXIT.interrupted || terminal.hasReadInput) {
    await terminal.flush()
    process.exit()
  }
}
