import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'

const script = fileURLToPath(new URL('../../../bench/warm-up.mjs', import.meta.url))

/** The cells of a table's rows. */
const toRows = (stdout: string): string[][] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/ {2,}/))

describe('bench/warm-up.mjs', () => {
  it('measures each stretch of the first requests, for each client and API', async () => {
    const args = ['--clients', 'dodici-wire,floor', '--apis', 'request,fetch', '--ends', '100,250']
    const { code, stdout, stderr } = await runNode(script, ...args, '--rounds', '1')
    expect([code, stderr]).toEqual([0, 'round 1 of 1\n'])
    const [, , head, ...rows] = toRows(stdout)
    expect(head).toEqual(['client', 'API', '1–100', '101–250', 'steady after'])
    expect(rows.map(([client, api]) => [client, api])).toEqual([
      ['dodici (wire)', 'request'],
      ['dodici (wire)', 'fetch'],
      ['the floor', 'frames'],
    ])
    for (const [, , ...figures] of rows) {
      expect(figures).toHaveLength(3)
      for (const figure of figures.slice(0, 2)) expect(Number(figure)).toBeGreaterThan(0)
    }
  })

  it('refuses stretches that do not ascend', async () => {
    const { code, stderr } = await runNode(script, '--ends', '100,100')
    expect([code, stderr.trim()]).toEqual([2, '--ends must ascend (see --help)'])
  })
})
