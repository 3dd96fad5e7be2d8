import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'

const script = fileURLToPath(new URL('../../../bench/threads.mjs', import.meta.url))

describe('bench/threads.mjs', () => {
  it('measures each setup with one core and with two, and prints a table', async () => {
    const { code, stdout, stderr } = await runNode(
      script,
      ...['--engine', 'wire', '--rounds', '1', '--requests', '400'],
    )
    expect([code, stderr]).toEqual([0, 'round 1 of 1\n'])
    const rows = stdout.split('\n').filter((line) => line.startsWith('| wire |'))
    expect(rows.map((row) => row.split(' | ').slice(1, 3))).toEqual(
      ['1', '2'].flatMap((cores) =>
        ['one thread', 'two worker threads', 'two cluster processes'].map((setup) => [cores, setup]),
      ),
    )
  })

  it('refuses an engine that is none', async () => {
    const { code, stderr } = await runNode(script, '--engine', 'other')
    expect([code, stderr.trim()]).toEqual([2, '--engine must be node, wire or both (see --help)'])
  })
})
