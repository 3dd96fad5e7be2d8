import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { loadModule } from '../support/clients/plain-module.ts'

interface Behaviour {
  readonly group: string
  readonly name: string
  readonly wants: string
}

interface Recorded {
  readonly clients: readonly { readonly name: string; readonly version: string }[]
  readonly rows: readonly (Behaviour & {
    readonly outcomes: Readonly<Record<string, { readonly verdict: string }>>
  })[]
}

const toPath = (relative: string): string => fileURLToPath(new URL(`../../${relative}`, import.meta.url))
const read = (relative: string): string => readFileSync(toPath(relative), 'utf8')

const recorded: Recorded = JSON.parse(read('docs/faults.json'))

const { BEHAVIOURS } = await loadModule<{ BEHAVIOURS: readonly Behaviour[] }>('scripts/faults/behaviours.mjs')
interface Outcome {
  readonly verdict: string
  readonly detail: string
}

const { toWorst } = await loadModule<{ toWorst(outcomes: readonly Outcome[]): Outcome }>(
  'scripts/faults/play.mjs',
)
const { toPage } = await loadModule<{ toPage(recorded: Recorded): string }>('scripts/faults/page.mjs')

it('the worst of several plays counts', () => {
  const outcomes = ['right', 'next fails', 'late', 'right'].map((verdict) => ({ verdict, detail: verdict }))
  expect(toWorst(outcomes)).toEqual({ verdict: 'next fails', detail: 'next fails', isUnsteady: true })
  const crash = { verdict: 'crashes', detail: '' }
  expect(toWorst([crash, crash])).toEqual(crash)
})

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

it('the other clients are those that are installed', () => {
  const packages = {
    undici: 'undici-8',
    got: 'got',
    axios: 'axios',
    'connect-node': '@connectrpc/connect-node',
  }
  const versions = Object.fromEntries(recorded.clients.map(({ name, version }) => [name, version]))
  const installed = (folder: string): string =>
    JSON.parse(read(`node_modules/${folder}/package.json`)).version
  for (const [name, folder] of Object.entries(packages)) expect(versions[name]).toBe(installed(folder))
  expect(versions['built-in fetch']).toMatch(new RegExp(`, undici ${installed('undici')}$`))
})

it('Dodici neither hung nor crashed, sent nothing twice, and kept within its memory', () => {
  const verdicts = recorded.rows.flatMap(({ outcomes }) => [
    outcomes['dodici (wire)']?.verdict,
    outcomes['dodici (node)']?.verdict,
  ])
  expect(verdicts).toHaveLength(2 * BEHAVIOURS.length)
  const harmless = ['right', 'late', 'accepts']
  expect(verdicts.filter((verdict) => !harmless.includes(String(verdict)))).toEqual([])
})

it('npm run faults plays them, and tells what it sees', () => {
  // Its processes take TypeScript as it is.
  const node = execFileSync(toPath('scripts/install-node.sh'), ['24'], { encoding: 'utf8' }).trim()
  const clients = 'dodici (wire),dodici (node),node:http2'
  const args = [
    ...[toPath('scripts/faults.mjs'), '--clients', clients],
    ...['--only', 'a value with a NUL', '--rounds', '1'],
  ]
  const lines = execFileSync(node, args, { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } })
  // Two clients are tried at a time.
  expect(lines.trim().split('\n').sort()).toEqual([
    'dodici (node) | a value with a NUL | accepts | 200, an empty body',
    'dodici (node): 0 of 1 right',
    'dodici (wire): 1 of 1 right',
    'node:http2 | a value with a NUL | accepts | 200, an empty body',
    'node:http2: 0 of 1 right',
  ])
})
