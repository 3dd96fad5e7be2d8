import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, it, onTestFinished } from 'vitest'
import { runNode } from '../support/clients/child.ts'

const toPath = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** Builds the library into a folder that is removed after the test. */
async function bundle(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-soak-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const outfile = join(folder, 'dodici.mjs')
  await build({
    entryPoints: [toPath('../../src/index.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
  })
  return outfile
}

/** `npm run soak` does the same ten times over. */
it('a process with 20,000 calls to servers that misbehave settles each once, and leaks nothing', async () => {
  const args = ['--requests', '15000', '--warmup', '5000', '--seed', '12', '--dodici', await bundle()]
  const { code, signal, stdout, stderr } = await runNode(
    '--expose-gc',
    toPath('../../scripts/soak.mjs'),
    ...args,
  )
  // It tells what was wrong there, for each engine.
  expect(stdout).not.toContain('WRONG')
  expect(stdout).toMatch(/\nNothing was wrong\.\n$/)
  expect(stdout).toContain('\n20000 calls by ')
  expect(stderr).toBe('')
  expect([code, signal]).toEqual([0, null])
}, 900_000)
