/** One plain program over the built package on Node, Bun and Deno, with each engine. */

import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Version } from '../../api/undici/rig.ts'
import { makeProject } from '../../api/undici/rig.ts'
import { lacksRuntime, RUNTIMES, requireRuntime, startPeer } from './programs.ts'

const here = fileURLToPath(new URL('.', import.meta.url))

interface Outcome {
  /** Null: it was killed, since it didn't end. */
  readonly code: number | null
  readonly output: string
}

/** @param version the npm undici beside it; null for none */
async function run(
  binary: string,
  args: readonly string[],
  env: object,
  version: Version | null,
): Promise<Outcome> {
  const folder = makeProject(version)
  for (const name of ['program.mjs', 'undici.mjs']) cpSync(join(here, name), join(folder, name))
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
      const outcome = await run(binary, [...runtime.args, 'program.mjs', engine], await startPeer(), null)
      expect(outcome.output).toMatch(/^all done$/m)
      expect(outcome.output).not.toContain('FAILED')
      expect(outcome.code).toBe(0)
    })

    it.each([null, 'undici 7'] as const)('has the names of dodici/undici, with %s', async (version) => {
      const binary = requireRuntime(runtime)
      const outcome = await run(binary, [...runtime.args, 'undici.mjs'], {}, version)
      const hasUndici = version !== null && runtime.name !== 'Bun'
      const mock = hasUndici ? 'a mock' : 'UND_ERR_NOT_SUPPORTED'
      expect(outcome.output.split('\n')).toEqual(expect.arrayContaining(['ours: true', `undici's: ${mock}`]))
      expect(outcome.code).toBe(0)
    })
  })
}
