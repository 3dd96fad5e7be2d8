/**
 * Which garbage collections come with large bodies: V8 makes full ones where the heap holds too little to call for
 * scavenges (docs/internals/node-streams.md).
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, it, onTestFinished } from 'vitest'
import { runNode } from '../support/clients/child.ts'

const BYTES = 400 * 1_048_576
/** With the weight there were 26 to 98; without it 12 on Node 20, 7 to 11 on 22, and 0 or 1 from 24 on. */
const LEAST_SCAVENGES = 19

it('a download is freed by scavenges, on both engines', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-downloads-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const outfile = join(folder, 'downloads.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('children/downloads.ts', import.meta.url))],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // As in the package: what has no effect that can be seen is taken out.
    minifySyntax: true,
  })
  const { code, stdout, stderr } = await runNode(outfile)
  expect([code, stderr]).toEqual([0, ''])
  const found = Object.entries<{ bytes: number; scavenges: number }>(JSON.parse(stdout))
  expect(found.map(([engine, { bytes }]) => [engine, bytes])).toEqual([
    ['node', BYTES],
    ['wire', BYTES],
  ])
  for (const [engine, { scavenges }] of found)
    expect(scavenges, `scavenges on engine ${engine}`).toBeGreaterThanOrEqual(LEAST_SCAVENGES)
})
