/**
 * A directory for all that a run writes, gone when its process is.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const directory = mkdtempSync(join(tmpdir(), 'dodici-bench-'))
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
