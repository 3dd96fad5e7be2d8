import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, it, onTestFinished } from 'vitest'
import { runNode } from '../support/clients/child.ts'

it('sessions of node:http2 that end before the server has acknowledged SETTINGS can be collected as garbage', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-ended-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const outfile = join(folder, 'ended-sessions.mjs')
  const child = fileURLToPath(new URL('./children/ended-sessions.ts', import.meta.url))
  await build({
    entryPoints: [child],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
  })
  const { code, stdout, stderr } = await runNode('--expose-gc', outfile)
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual({ FIN: 0, GOAWAY: 0 })
})
