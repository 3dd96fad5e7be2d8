/** README.md is short, and the table of docs/comparison.md says of each package what that package says of itself. */

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readRepository } from '../testing-page/page.ts'

const readme = readRepository('README.md')
const page = readRepository('docs/comparison.md')
const faults = readRepository('docs/faults.md')

/** The cells of a row of a table, without its first one. */
function toCells(text: string, name: string): string[] {
  const row = text
    .split('\n')
    .find((line) => line.startsWith(`| ${name} |`) || line.startsWith(`| ${name}, `))
  const [, , ...cells] = row?.split('|').map((cell) => cell.trim()) ?? []
  return cells.slice(0, -1)
}

/** How many rows docs/faults.md has. */
const [, count = ''] = /How many of the (\d+) rows/.exec(faults) ?? []

/**
 * How many rows of docs/faults.md ended so. `later`: those in which the next request was served, if it came a while
 * after the end of the last.
 */
function toOutcomes(client: string): { right: number; late: number; later: number } {
  const cells = toCells(faults, client)
  const heads = toCells(faults.slice(faults.indexOf('## In short')), '')
  const toCount = (head: string): number => Number(cells[heads.indexOf(head)] ?? Number.NaN)
  const right = toCount('✓')
  const later = right + toCount('next fails at once') + toCount('crashes at once')
  return { right, late: toCount('late'), later }
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
  const path = fileURLToPath(new URL(`../../../node_modules/${name}/package.json`, import.meta.url))
  const manifest: Manifest = JSON.parse(readFileSync(path, 'utf8'))
  return [{ client: CLIENTS[column] ?? '', column, manifest }]
})

describe('README.md, and docs/comparison.md', () => {
  it('has 700 words and one table at most', () => {
    expect(readme.split(/\s+/).filter((word) => word !== '').length).toBeLessThanOrEqual(700)
    expect(readme.match(/^\| --- /gm)).toHaveLength(1)
  })

  it('says in its first 60 lines how to try Dodici, how to test it and how to have it', () => {
    const { version, scripts }: { version: string; scripts: Record<string, string> } = JSON.parse(
      readRepository('package.json'),
    )
    const beginning = readme.split('\n').slice(0, 60).join('\n')
    for (const command of [
      '\nnpm ci && npm run demo ',
      '\nnpm cit ',
      '\nnpm pack ',
      `\nnpm install ./dodici-${version}.tgz `,
      '\nnpm install --allow-git=root git+https://github.com/dodici/dodici.git ',
    ]) {
      expect(beginning).toContain(command)
    }
    expect(beginning).toContain(`![version ${version}](`)
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['demo', 'test', 'postprepare', 'prepack']))
    // npm 11 warns at an install from git, or of a tarball, of each of these.
    for (const name of ['preinstall', 'install', 'postinstall', 'prepare'])
      expect(Object.keys(scripts)).not.toContain(name)
  })

  it('has the right outcomes of docs/faults.md', () => {
    const others = ['undici', 'got', 'axios', 'node:http2', 'connect-node'].map((client) => {
      const { right, later } = toOutcomes(client)
      return right === later ? `${right}` : `${right}; ${later} later`
    })
    const [wire, node] = [toOutcomes('dodici (wire)').right, toOutcomes('dodici (node)').right]
    const row = page.split('\n').find((line) => line.startsWith('| Right outcome'))
    const own = `${wire} (\`wire\`), ${node} (\`node\`)`
    expect(toCells(String(row), String(row?.split(' | ')[0]?.slice(2)))).toEqual([own, ...others])
    expect(row).toContain(`${count} faults`)
    const undici = toOutcomes('undici')
    expect(readme).toContain(
      `Of ${count} faults, \`wire\` handles ${wire} correctly, the default engine ${node}, and undici 8 handles ${undici.right}: `,
    )
  })

  it.each([
    'docs/engines.md',
    'docs/README.md',
  ])('is at one with %s about how many faults there are', (name) => {
    const told = [...readRepository(name).matchAll(/(\d+) (?:behaviours|kinds of misbehaviour)/g)]
    expect(told.map(([, number]) => number)).toEqual([count])
  })

  it('is at one with docs/engines.md about the outcomes of both engines', () => {
    const { right, late } = toOutcomes('dodici (wire)')
    const node = toOutcomes('dodici (node)')
    const text = readRepository('docs/engines.md').replaceAll('\n  ', ' ')
    expect(text).toContain(`engine \`wire\` has the right outcome in ${right}, and in ${late} more`)
    expect(text).toContain(`engine \`node\` has it in ${node.right}, and in ${node.late} more`)
  })
})

describe.each(INSTALLED)('of $client docs/comparison.md says', ({ client, column, manifest }) => {
  it('the version that is compared', () => {
    expect(page).toContain(`\n| | ${CLIENTS.join(' | ')} |\n`)
    const [, version = ''] = client.split(' ')
    expect(`${manifest.version}.`).toMatch(new RegExp(`^${version.replace('.', '\\.')}\\.`))
  })

  it('how many packages it depends on', () => {
    const { dependencies = {}, peerDependencies = {} } = manifest
    const count = Object.keys({ ...dependencies, ...peerDependencies }).length
    const said = toCells(page, 'Dependencies')[column] ?? ''
    const expected: Record<string, string> = { 0: 'none', 2: 'Connect, Protobuf' }
    expect(said).toBe(expected[count] ?? `${count}`)
  })

  it('the lines of Node that it is for', () => {
    const [, oldest] = /^>=(\d+(?:\.[1-9]\d*)?)/.exec(manifest.engines?.node ?? '') ?? []
    expect(toCells(page, 'Node.js')[column]).toBe(
      oldest === undefined ? 'it names none' : `${oldest} or newer`,
    )
  })
})
