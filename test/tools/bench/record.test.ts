import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'

const script = fileURLToPath(new URL('../../../bench/record.mjs', import.meta.url))

describe('bench/record.mjs', () => {
  it('says how it is used', async () => {
    const { code, stdout } = await runNode(script, '--help')
    expect([code, stdout]).toEqual([0, expect.stringContaining('node bench/record.mjs')])
  })

  it.each([
    { args: ['--rounds', 'many'], message: '--rounds must be a whole number from 1 up' },
    { args: ['--what', 'uploads'], message: '--what: no uploads; there are: requests, bodies' },
    { args: ['--quick'], message: "Unknown option '--quick'" },
    { args: ['--node', '/nowhere/node'], message: "/nowhere/node doesn't run as Node" },
  ])('refuses $args before it measures anything', async ({ args, message }) => {
    const { code, stdout, stderr } = await runNode(script, ...args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
  })
})
