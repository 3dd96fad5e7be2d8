/** README.md is short, and its table says of each package what that package says of itself. */

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { readRepository } from '../testing-page/page.ts'

const page = readRepository('README.md')
const faults = readRepository('docs/faults.md')

/** The cells of a row of a table, without its first one. */
function toCells(text: string, name: string): string[] {
  const row = text
    .split('\n')
    .find((line) => line.startsWith(`| ${name} |`) || line.startsWith(`| ${name}, `))
  const [, , ...cells] = row?.split('|').map((cell) => cell.trim()) ?? []
  return cells.slice(0, -1)
}

const CLIENTS = ['Dodici', 'undici 8', 'got 16', 'axios 1.21', 'node:http2', 'connect-node 2']
/** Where each package is in node_modules: null for what is no package. */
const PACKAGES = [null, 'undici-8', 'got', 'axios', null, '@connectrpc/connect-node']

interface Manifest {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly engines?: { readonly node?: string }
}

const INSTALLED = PACKAGES.flatMap((name, column) => {
  if (name === null) return []
  const path = fileURLToPath(new URL(`../../node_modules/${name}/package.json`, import.meta.url))
  const manifest: Manifest = JSON.parse(readFileSync(path, 'utf8'))
  return [{ client: CLIENTS[column] ?? '', column, manifest }]
})

describe('README.md', () => {
  test('has 250 lines at most', () => {
    expect(page.trimEnd().split('\n').length).toBeLessThanOrEqual(250)
  })

  test('has the right outcomes of docs/faults.md', () => {
    const right = (client: string): string => toCells(faults, client)[0] ?? ''
    const others = ['undici', 'got', 'axios', 'node:http2', 'connect-node'].map(right)
    const own = `${right('dodici (wire)')} (\`wire\`), ${right('dodici (node)')} (\`node\`)`
    const row = page.split('\n').find((line) => line.startsWith('| Right outcome'))
    expect(toCells(String(row), String(row?.split(' | ')[0]?.slice(2)))).toEqual([own, ...others])
  })
})

describe.each(INSTALLED)('of $client README.md says', ({ client, column, manifest }) => {
  test('the version that is compared', () => {
    expect(page).toContain(`\n| | ${CLIENTS.join(' | ')} |\n`)
    const [, version = ''] = client.split(' ')
    expect(`${manifest.version}.`).toMatch(new RegExp(`^${version.replace('.', '\\.')}\\.`))
  })

  test('how many packages it depends on', () => {
    const { dependencies = {}, peerDependencies = {} } = manifest
    const count = Object.keys({ ...dependencies, ...peerDependencies }).length
    const said = toCells(page, 'Dependencies')[column] ?? ''
    const expected: Record<string, string> = { 0: 'none', 2: 'Connect, Protobuf' }
    expect(said).toBe(expected[count] ?? `${count}`)
  })

  test('the lines of Node that it is for', () => {
    const [, oldest] = /^>=(\d+(?:\.[1-9]\d*)?)/.exec(manifest.engines?.node ?? '') ?? []
    expect(toCells(page, 'Node.js')[column]).toBe(
      oldest === undefined ? 'it names none' : `${oldest} or newer`,
    )
  })
})
