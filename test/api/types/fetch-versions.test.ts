/** `fetch(url, { dispatcher })` under each `@types/node`, with undici 6, 7 and 8 in the same program. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Setting } from './fetch-compiler.ts'
import { compile } from './fetch-compiler.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The folders of `@types`, and the major version of the `undici-types` that each depends on. */
const LINES = [
  ['node-20', '6'],
  ['node-22', '6'],
  ['node-24', '7'],
  ['node', '8'],
] as const

const SNIPPET = `
import { Agent } from '../../../src/index.ts'
export const fits: Promise<Response> = fetch('https://localhost/', { dispatcher: new Agent() })
export const lacks: Promise<Response> = fetch('https://localhost/', { dispatcher: new URL('a:') })
export const wrong: number = new Agent()
`

/** As if only handlers of undici 8's shape were taken, whole ones. */
function takeOneShape(declarations: string): string {
  const both = 'type AnyDispatchHandler = DispatchHandler | LegacyDispatchHandler'
  expect(declarations).toContain(both)
  return declarations.replace(both, 'type AnyDispatchHandler = Required<DispatchHandler>')
}

function readVersion(file: string): unknown {
  const content: unknown = JSON.parse(readFileSync(join(root, file), 'utf8'))
  return Object(content).version
}

describe.each(LINES)('the published types, by @types/%s', (nodeTypes, major) => {
  const setting: Setting = { nodeTypes, declarations: 'index.d.ts' }

  describe('when they meet fetch, and undici 6, 7 and 8', () => {
    it('the compiler has nothing to object, not even to a library', () => {
      const { errors, files } = compile(setting, null, 'all')
      expect(errors).toEqual([])
      // It has looked at what it was to look at: the package, and no other Node's types.
      const own = ['dist/index.d.cts', 'dist/index.d.ts']
      expect(files.filter((file) => /^(src|types|dist)\//.test(file)).sort()).toEqual(own)
      const globals = files.filter((file) => /@types\/node[^/]*\/globals\.d\.ts$/.test(file))
      expect(globals).toEqual([`node_modules/@types/${nodeTypes}/globals.d.ts`])
      const [undiciTypes = '', ...more] = files.filter((file) => file.endsWith('/undici-types/index.d.ts'))
      expect(more).toEqual([])
      expect(readVersion(undiciTypes.replace('index.d.ts', 'package.json'))).toMatch(
        new RegExp(`^${major}\\.`),
      )
    })

    it('nor has one that is strict and nothing more, with those of CommonJS', () => {
      expect(compile({ ...setting, declarations: 'index.d.cts', isPlain: true }, null, 'own').errors).toEqual(
        [],
      )
    })
  })

  describe('when something is wrong', () => {
    it('the compiler objects to that, and to nothing else', () => {
      expect(compile(setting, SNIPPET, 'own').errors.map((error) => error.split('\n')[0])).toEqual([
        expect.stringMatching(
          /^test\/api\/types\/snippet\.test-d\.ts:4: TS2769: No overload|:4: TS\d+: .*'URL'/,
        ),
        expect.stringMatching(
          /^test\/api\/types\/snippet\.test-d\.ts:5: TS2322: Type 'Agent' is not assignable/,
        ),
      ])
    })

    it('the compiler objects to a dispatch() that takes one shape of handlers alone', () => {
      const { errors } = compile({ ...setting, mutate: takeOneShape }, SNIPPET, 'own')
      expect(errors.join('\n')).toMatch(/^test\/api\/types\/snippet\.test-d\.ts:3: /)
    })
  })
})

for (const version of ['6', '7', '8'])
  it(`the undici ${version} that is tried is one`, () => {
    const name = version === '7' ? 'undici' : `undici-${version}`
    expect(readVersion(`node_modules/${name}/package.json`)).toMatch(new RegExp(`^${version}\\.`))
  })
