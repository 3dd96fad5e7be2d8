import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'

const script = fileURLToPath(new URL('../../../bench/startup.mjs', import.meta.url))
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const hasUndici8 = major > 22 || (major === 22 && minor >= 19)

describe('bench/startup.mjs', () => {
  it('measures require and the first request of each, and prints a table', async () => {
    const { code, stdout, stderr } = await runNode(script, '--rounds', '1')
    expect([code, stderr]).toEqual([0, 'round 1 of 1\n'])
    const rows = stdout
      .split('\n')
      .filter((line) => line.includes(' h2c '))
      .map((line) => line.split(/ {2,}/))
    expect(rows.map(([client]) => client)).toEqual([
      ...['dodici (wire)', 'dodici'],
      ...(hasUndici8 ? ['undici 8'] : []),
      'node:http2',
    ])
    for (const [, , load, first, both] of rows)
      expect(Number(both)).toBeCloseTo(Number(load) + Number(first), 0)
  })

  it('refuses a number of rounds that is none', async () => {
    const { code, stderr } = await runNode(script, '--rounds', '0')
    expect([code, stderr.trim()]).toEqual([2, '--rounds must be a whole number from 1 up (see --help)'])
  })
})
