import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'

const script = fileURLToPath(new URL('../../../bench/load.mjs', import.meta.url))

describe('bench/load.mjs', () => {
  it('measures each part, and prints a table', async () => {
    const args = ['--rounds', '1', '--requests', '1000', '--seconds', '2']
    const { code, stdout, stderr } = await runNode(script, ...args)
    expect([code, stderr]).toEqual([0, ''])
    const heads = [...stdout.matchAll(/^\| (\w+) \| \|$/gm)].map(([, part]) => part)
    expect(heads).toEqual(['h2load', 'delay', 'pause', 'workers'])
    const rows = stdout.split('\n').filter((line) => /^\| .+ \| .*\d.* \|$/.test(line))
    expect(rows).toHaveLength(3 + 11 + 4 + 3)
    expect(stdout).not.toContain('NaN')
  })

  it('refuses a part that is none', async () => {
    const { code, stderr } = await runNode(script, '--parts', 'other')
    expect([code, stderr.trim()]).toEqual([
      2,
      '--parts: no other; there are: h2load, delay, pause, workers (see --help)',
    ])
  })
})
