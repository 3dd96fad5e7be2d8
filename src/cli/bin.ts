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
import { workHere } from './load/thread-handle.ts'
import { Terminal } from './terminal.ts'

// A worker of `dodici load` is this program, too.
if (isMainThread) process.exitCode = await runCli(process.argv.slice(2), readVersion(), new Terminal(process))
else await workHere()

function readVersion(): string {
  // Seen from dist/.
  const manifest: { version: string } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  )
  return manifest.version
}
