import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'

const script = fileURLToPath(new URL('../../../bench/connect.mjs', import.meta.url))

it('bench/connect.mjs measures each client with each kind of call', async () => {
  const { code, stdout, stderr } = await runNode(script, '--rounds', '2', '--calls', '64')
  expect([code, stderr]).toEqual([0, ''])
  const rows = [...stdout.matchAll(/^(unary|server stream), \w+ \w+ +(\S+(?: \(\w+\))?) +\d.*\]$/gm)]
  const names = ['dodici/connect (wire)', 'dodici/connect (node)', 'connect-node']
  expect(rows.map(([, call, name]) => [call, name])).toEqual([
    ...names.map((name) => ['unary', name]),
    ...names.map((name) => ['server stream', name]),
  ])
})
