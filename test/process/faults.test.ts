import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { loadModule } from '../support/plain-module.ts'

interface Behaviour {
  readonly group: string
  readonly name: string
  readonly wants: string
}

interface Recorded {
  readonly clients: readonly { readonly name: string }[]
  readonly rows: readonly (Behaviour & {
    readonly outcomes: Readonly<Record<string, { readonly verdict: string }>>
  })[]
}

const toPath = (relative: string): string => fileURLToPath(new URL(`../../${relative}`, import.meta.url))
const read = (relative: string): string => readFileSync(toPath(relative), 'utf8')

const recorded: Recorded = JSON.parse(read('docs/faults.json'))

const { BEHAVIOURS } = await loadModule<{ BEHAVIOURS: readonly Behaviour[] }>('scripts/faults/behaviours.mjs')
const { toPage } = await loadModule<{ toPage(recorded: Recorded): string }>('scripts/faults/page.mjs')

it('docs/faults.md is what the run has recorded, and has a reason for what Dodici does worse', () => {
  expect(read('docs/faults.md')).toBe(toPage(recorded))
})

it('the run had each behaviour that there is, and each client', () => {
  expect(recorded.rows.map(({ group, name, wants }) => ({ group, name, wants }))).toEqual(
    BEHAVIOURS.map(({ group, name, wants }) => ({ group, name, wants })),
  )
  const clients = recorded.clients.map(({ name }) => name)
  expect(clients).toHaveLength(9)
  for (const { outcomes } of recorded.rows) expect(Object.keys(outcomes)).toEqual(clients)
})

it('Dodici neither hung nor crashed, sent nothing twice, and kept within its memory', () => {
  const verdicts = recorded.rows.flatMap(({ outcomes }) => [
    outcomes['dodici (wire)']?.verdict,
    outcomes['dodici (node)']?.verdict,
  ])
  expect(verdicts).toHaveLength(2 * BEHAVIOURS.length)
  expect(verdicts.filter((verdict) => verdict !== 'right' && verdict !== 'accepts')).toEqual([])
})

it('npm run faults plays them, and tells what it sees', () => {
  // Its processes take TypeScript as it is.
  const node = execFileSync(toPath('scripts/install-node.sh'), ['24'], { encoding: 'utf8' }).trim()
  const clients = 'dodici (wire),dodici (node),node:http2'
  const args = [toPath('scripts/faults.mjs'), '--clients', clients, '--only', 'a value with a NUL']
  const lines = execFileSync(node, args, { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } })
  expect(lines).toBe(
    [
      'dodici (wire): 1 of 1 right',
      'dodici (node) | a value with a NUL | accepts | 200 ',
      'dodici (node): 0 of 1 right',
      'node:http2 | a value with a NUL | accepts | 200 ',
      'node:http2: 0 of 1 right',
      '',
    ].join('\n'),
  )
}, 120_000)
