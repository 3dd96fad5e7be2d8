import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runNode } from '../support/clients/child.ts'

describe("while other code holds node's own streams", () => {
  it('the handler and the header of each call that has ended can be collected', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dodici-collected-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const outfile = join(folder, 'collected.mjs')
    const child = fileURLToPath(new URL('./children/collected.ts', import.meta.url))
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
    expect(JSON.parse(stdout)).toEqual({
      streams: 4,
      destroyed: 3,
      get: [],
      post: [],
      reset: [],
      // An open call is held by its stream: the report must say so.
      unfinished: ['handler', 'headers'],
    })
  })
})
