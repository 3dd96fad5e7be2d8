import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'

const script = fileURLToPath(new URL('../../../bench/upstreams.mjs', import.meta.url))
const FEW = ['--rounds', '2', '--requests', '100', '--in-flight', '10']

describe('bench/upstreams.mjs', () => {
  it('measures an UpstreamPool of one upstream beside a Pool, on both engines', async () => {
    const { code, stdout, stderr } = await runNode(script, ...FEW, '--most', '1000', '--tls')
    expect([code, stderr]).toEqual([0, ''])
    const [, , head, ...rows] = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/))
    expect(head).toEqual(['engine', 'Pool', 'UpstreamPool', 'ratio (median of the turns)'])
    expect(rows.map(([engine]) => engine)).toEqual(['node', 'wire'])
    for (const [, ...figures] of rows) for (const figure of figures) expect(Number(figure)).toBeGreaterThan(0)
  })

  it('fails where the ratio is above the limit', async () => {
    const { code, stdout } = await runNode(script, ...FEW, '--engine', 'wire', '--most', '0.001')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^More than 0.001 times a Pool's$/m)
  })

  it('refuses a limit that is no number', async () => {
    const { code, stderr } = await runNode(script, '--most', 'little')
    expect([code, stderr.trim()]).toEqual([2, '--most must be a number above 0 (see --help)'])
  })
})
