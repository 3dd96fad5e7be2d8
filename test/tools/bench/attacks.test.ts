import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'

const script = fileURLToPath(new URL('../../../bench/attacks.mjs', import.meta.url))

describe('bench/attacks.mjs', () => {
  it('plays an attack to a client of each engine, and prints a table', async () => {
    const { code, stdout, stderr } = await runNode(script, '--attacks', 'PUSH', '--megabytes', '1')
    expect([code, stderr]).toEqual([0, 'PUSH_PROMISE, wire\nPUSH_PROMISE, node\n'])
    const rows = stdout.split('\n').filter((line) => line.startsWith('| PUSH_PROMISE |'))
    const [wire, node] = rows.map((row) => row.split('|').map((cell) => cell.trim()))
    const error = 'SocketError, PROTOCOL_ERROR'
    expect(wire?.slice(2, 6)).toEqual(['`wire`', error, error, 'served'])
    expect([node?.[2], node?.[5]]).toEqual(['`node`', 'served'])
    // MB, ms, and MB of memory.
    expect(wire?.[6]).toMatch(/^0\.\d\d$/)
    expect(wire?.[7]).toMatch(/^\d+$/)
    expect(wire?.[9]).toMatch(/^[\d.]+, [\d.]+$/)
  })

  it.each([
    [['--attacks', 'NONE'], '--attacks: none has NONE in its name (see --help)'],
    [['--engine', 'other'], '--engine: no other; there are: wire, node (see --help)'],
    [['--write', '--engine', 'wire'], '--write needs all attacks, on both engines (see --help)'],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await runNode(script, ...args)
    expect([code, stderr.trim()]).toEqual([2, message])
  })
})
