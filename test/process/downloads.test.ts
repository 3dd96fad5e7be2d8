/**
 * Which garbage collections come with large bodies: V8 makes full ones where the heap holds too little to call for
 * scavenges (docs/internals/node-streams.md).
 */
import { expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNode } from '../support/clients/child.ts'

const BYTES = 400 * 1_048_576
/** With the weight there were 26 to 98; without it 12 on Node 20, 7 to 11 on 22, and 0 or 1 from 24 on. */
const LEAST_SCAVENGES = 19

const toPath = bundle({ downloads: new URL('children/downloads.ts', import.meta.url) }, true)

it('a download is freed by scavenges, on both engines', async () => {
  const { code, stdout, stderr } = await runNode(toPath('downloads'))
  expect([code, stderr]).toEqual([0, ''])
  const found = Object.entries<{ bytes: number; scavenges: number }>(JSON.parse(stdout))
  expect(found.map(([engine, { bytes }]) => [engine, bytes])).toEqual([
    ['node', BYTES],
    ['wire', BYTES],
  ])
  for (const [engine, { scavenges }] of found)
    expect(scavenges, `scavenges on engine ${engine}`).toBeGreaterThanOrEqual(LEAST_SCAVENGES)
})
