/** One plain program over the built package on Node, Bun and Deno, with each engine. */

import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { makeProject } from '../undici/rig.ts'
import { lacksRuntime, RUNTIMES, requireRuntime, startPeer } from './programs.ts'

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url))

interface Outcome {
  /** Null: it was killed, since it didn't end. */
  readonly code: number | null
  readonly output: string
}

async function run(binary: string, args: readonly string[], env: object): Promise<Outcome> {
  const folder = makeProject(null)
  cpSync(PROGRAM, join(folder, 'program.mjs'))
  return new Promise((resolve) => {
    const child = execFile(
      binary,
      [...args],
      {
        cwd: folder,
        timeout: 150_000,
        killSignal: 'SIGKILL',
        env: { PATH: process.env.PATH, NO_COLOR: '1', ...env },
      },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, output: stdout + stderr }),
    )
  })
}

for (const runtime of RUNTIMES) {
  describe.skipIf(lacksRuntime(runtime))(`on ${runtime.name}`, () => {
    it.each(['node', 'wire'])('does all that it should, engine %s', async (engine) => {
      const binary = requireRuntime(runtime)
      const outcome = await run(binary, [...runtime.args, 'program.mjs', engine], await startPeer())
      expect(outcome.output).toMatch(/^all done$/m)
      expect(outcome.output).not.toContain('FAILED')
      expect(outcome.code).toBe(0)
    })
  })
}
