import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { checkLayers, findWideLines, MAX_COLUMNS, readTree } from './layers.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What the checker says of a tree of made-up files. */
function check(files: Record<string, string>): string[] {
  return checkLayers(new Map(Object.entries(files)))
}

describe('the sources', () => {
  const tree = readTree(root, ['src', 'types'])

  it('are found', () => {
    expect([...tree.keys()]).toContain('src/index.ts')
  })

  it('keep to the layers', () => {
    expect(checkLayers(tree)).toEqual([])
  })

  it(`have no line of more than ${MAX_COLUMNS} columns`, () => {
    expect(findWideLines(tree)).toEqual([])
  })
})

describe('the width checker', () => {
  it('reports a line that is too wide, of code and of a comment', () => {
    const wide = `// ${'x'.repeat(MAX_COLUMNS)}`
    const tree = new Map([
      ['src/core/clock.ts', `export {}\n${wide}\n`],
      ['types/limits.ts', `export type A = ${'x'.repeat(MAX_COLUMNS)}\n`],
      ['src/api/request.ts', `${wide.slice(0, MAX_COLUMNS)}\n`],
    ])
    expect(findWideLines(tree)).toEqual([
      `src/core/clock.ts:2: ${MAX_COLUMNS + 3} columns`,
      `types/limits.ts:1: ${MAX_COLUMNS + 16} columns`,
    ])
  })
})

describe('the layer checker', () => {
  describe('when every import runs downwards', () => {
    it('reports nothing', () => {
      const breaches = check({
        'types/headers.ts':
          "import type { Readable } from 'node:stream'\nexport type Body = Readable | null\n",
        'types/errors.d.ts': 'export declare class DodiciError extends Error {}\n',
        'types/index.ts': "export type * from './headers.ts'\nexport {}\ndeclare const mark: unique symbol\n",
        'src/errors/errors.ts':
          "import type { Body } from '../../types/headers.ts'\nexport class AError extends Error { body?: Body }\n",
        'src/core/class-mark.ts': "import { AError } from '../errors/errors.ts'\nexport const a = AError\n",
        'src/core/clock.ts': "import { a } from './class-mark.ts'\nexport const b = a\n",
        'src/options/options.ts': "export { b } from '../core/clock.ts'\n",
        'src/request/request.ts': "export { b } from '../options/options.ts'\n",
        'src/handler/shape.ts': "export { b } from '../request/request.ts'\n",
        'src/call/call.ts': "import { b } from '../handler/shape.ts'\nexport const call = b\n",
        'src/protocol/hpack/table.ts': "import { b } from '../../core/clock.ts'\nexport const table = b\n",
        'src/protocol/limits.ts': "import { table } from './hpack/table.ts'\nexport const limits = table\n",
        'src/session/session.ts':
          "import http2 from 'node:http2'\nimport { call } from '../call/call.ts'\nimport '../protocol/limits.ts'\n" +
          'export const session = [http2, call]\n',
        'src/api/request.ts': "import { call } from '../call/call.ts'\nexport const request = call\n",
        'src/scheduler/scheduler.ts': "export { session } from '../session/session.ts'\n",
        'src/dispatcher/client.ts':
          "import { request } from '../api/request.ts'\nimport { session } from '../scheduler/scheduler.ts'\n" +
          'export const client = [request, session]\n',
        'src/fetch/fetch.ts': "export { client } from '../dispatcher/client.ts'\n",
        'src/proxy/proxy-agent.ts': "export { client } from '../dispatcher/client.ts'\n",
        'src/global/global.ts': "export { client } from '../proxy/proxy-agent.ts'\n",
        'src/install.ts': "export const install = () => import('./dispatcher/client.ts')\n",
        'src/testing/server.ts': "export { b } from '../core/clock.ts'\n",
        'src/cli/serve/serve.ts': "export * from '../../index.ts'\nexport * from '../../testing/server.ts'\n",
        'src/index.ts': "export * from './fetch/fetch.ts'\nexport * from './install.ts'\n",
      })
      expect(breaches).toEqual([])
    })
  })

  describe('when a file imports from a higher layer', () => {
    const forms = {
      import: "import { a } from '../dispatcher/client.ts'",
      'import type': "import type { A } from '../dispatcher/client.ts'",
      'import for effect': "import '../dispatcher/client.ts'",
      'export from': "export { a } from '../dispatcher/client.ts'",
      'export type from': "export type { A } from '../dispatcher/client.ts'",
      'export *': "export * from '../dispatcher/client.ts'",
      'dynamic import': "export const load = () => { void import('../dispatcher/client.ts') }",
      'dynamic import of a template': 'export const load = () => import(`../dispatcher/client.ts`)',
      'type in place': "export type A = import('../dispatcher/client.ts').A",
      'typeof import': "export type A = typeof import('../dispatcher/client.ts')",
      'import =': "import a = require('../dispatcher/client.ts')",
      require: "export const a = require('../dispatcher/client.ts')",
    }
    it.each(Object.entries(forms))('reports it: %s', (_form, text) => {
      expect(check({ 'src/api/request.ts': text, 'src/dispatcher/client.ts': '' })).toEqual([
        'src/api/request.ts:1: imports src/dispatcher/client.ts: api lies below dispatcher',
      ])
    })

    const pairs = [
      ['src/errors/errors.ts', 'src/core/clock.ts'],
      ['src/core/clock.ts', 'src/options/options.ts'],
      ['src/options/options.ts', 'src/request/request.ts'],
      ['src/request/request.ts', 'src/protocol/limits.ts'],
      ['src/request/request.ts', 'src/handler/shape.ts'],
      ['src/handler/shape.ts', 'src/call/call.ts'],
      ['src/call/call.ts', 'src/session/session.ts'],
      ['src/protocol/limits.ts', 'src/api/request.ts'],
      ['src/session/session.ts', 'src/scheduler/scheduler.ts'],
      ['src/scheduler/scheduler.ts', 'src/dispatcher/client.ts'],
      ['src/dispatcher/client.ts', 'src/proxy/proxy-agent.ts'],
      ['src/proxy/proxy-agent.ts', 'src/global/global.ts'],
      ['src/global/global.ts', 'src/fetch/fetch.ts'],
      ['src/global/global.ts', 'src/install.ts'],
      ['src/fetch/fetch.ts', 'src/index.ts'],
      ['src/install.ts', 'src/index.ts'],
      ['src/index.ts', 'src/cli/cli.ts'],
    ] as const
    it.each(pairs)('reports it: %s to %s', (from, to) => {
      expect(check({ [from]: importType(from, to), [to]: '' })).toEqual([
        expect.stringContaining('lies below'),
      ])
    })
  })

  describe('when two units of one layer know each other', () => {
    const pairs = [
      ['src/api/request.ts', 'src/session/session.ts'],
      ['src/session/session.ts', 'src/api/request.ts'],
      ['src/handler/shape.ts', 'src/protocol/limits.ts'],
      ['src/protocol/limits.ts', 'src/handler/shape.ts'],
      ['src/fetch/fetch.ts', 'src/install.ts'],
      ['src/undici/entry.ts', 'src/cli/cli.ts'],
      ['src/connect/entry.ts', 'src/undici/entry.ts'],
    ] as const
    it.each(pairs)('reports it: %s to %s', (from, to) => {
      expect(check({ [from]: importType(from, to), [to]: '' })).toEqual([
        expect.stringContaining('share a layer and may not import each other'),
      ])
    })
  })

  describe('when a file lies outside the layers', () => {
    it.each([
      'src/utils/sleep.ts',
      'src/helpers.ts',
      'src/errors.ts',
      'src/index/list.ts',
    ])('reports it: %s', (path) => {
      expect(check({ [path]: '' })).toEqual([`${path}: is in no layer`])
    })

    it('reports a file that is not TypeScript', () => {
      expect(check({ 'src/core/clock.js': '' })).toEqual([expect.stringContaining('is not TypeScript')])
    })
  })

  describe('when errors/ imports', () => {
    it.each(["import 'node:util'", "import { inspect } from 'node:util'"])('reports it: %s', (text) => {
      expect(check({ 'src/errors/errors.ts': text })).toEqual([
        "src/errors/errors.ts:1: imports 'node:util': errors/ imports nothing at runtime",
      ])
    })

    it('reports types/ imported at runtime', () => {
      const text = "import { type A } from '../../types/a.ts'"
      expect(check({ 'src/errors/errors.ts': text, 'types/a.ts': '' })).toEqual([
        "src/errors/errors.ts:1: imports types/a.ts without 'import type'",
      ])
    })
  })

  describe('when types/ holds more than types', () => {
    const statements = [
      'export const a = 1',
      'export class A {}',
      'export function a() {}',
      'export const enum A { B }',
      'export namespace A { export const b = 1 }',
      'globalThis.a = 1',
      'export default 1',
      "import { Readable } from 'node:stream'",
      "export * from './b.ts'",
    ]
    it.each(statements)('reports it: %s', (text) => {
      const breaches = check({ 'types/a.ts': `export interface A {}\n${text}`, 'types/b.ts': '' })
      expect(breaches).toEqual([`types/a.ts:2: '${text}' is no type, and types/ holds types alone`])
    })

    it('reports an import from src/', () => {
      const text = "import type { A } from '../src/errors/errors.ts'"
      expect(check({ 'types/a.ts': text, 'src/errors/errors.ts': '' })).toEqual([
        'types/a.ts:1: imports src/errors/errors.ts: types/ knows nothing of src/',
      ])
    })
  })

  describe('when testing/ and the rest meet', () => {
    it('reports testing/ using more than errors and core/', () => {
      const text = "import { b } from '../protocol/limits.ts'"
      expect(check({ 'src/testing/server.ts': text, 'src/protocol/limits.ts': '' })).toEqual([
        'src/testing/server.ts:1: imports src/protocol/limits.ts: testing/ uses errors and core/, and nothing else',
      ])
    })

    it('reports a file that imports from testing/', () => {
      const text = "export * from './testing/server.ts'"
      expect(check({ 'src/index.ts': text, 'src/testing/server.ts': '' })).toEqual([
        'src/index.ts:1: imports src/testing/server.ts: nothing but cli/ uses testing/',
      ])
    })
  })

  describe('when imports go round', () => {
    it('reports the cycle', () => {
      expect(
        check({
          'src/core/a.ts': "import { b } from './b.ts'",
          'src/core/b.ts': "import { c } from './c.ts'",
          'src/core/c.ts': "import { a } from './a.ts'",
        }),
      ).toEqual([
        'src/core/a.ts: import cycle: src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts',
      ])
    })

    it('reports a cycle of types', () => {
      expect(
        check({
          'types/a.ts': "import type { B } from './b.ts'",
          'types/b.ts': "export type B = import('./a.ts').A",
        }),
      ).toEqual(['types/a.ts: import cycle: types/a.ts → types/b.ts → types/a.ts'])
    })

    it('reports a file that imports itself', () => {
      expect(check({ 'src/core/a.ts': "import type { A } from './a.ts'" })).toEqual([
        'src/core/a.ts: import cycle: src/core/a.ts → src/core/a.ts',
      ])
    })

    it('reports nothing when two ways lead to one file', () => {
      expect(
        check({
          'src/core/a.ts': "import './b.ts'\nimport './c.ts'",
          'src/core/b.ts': "import './d.ts'",
          'src/core/c.ts': "import './d.ts'",
          'src/core/d.ts': '',
        }),
      ).toEqual([])
    })
  })

  describe('when an import leaves src/ and types/', () => {
    it.each([
      '../support/servers/server.ts',
      '../../package.json',
      './missing.ts',
      './clock',
    ])('reports it: %s', (specifier) => {
      const text = `import '${specifier}'`
      expect(check({ 'src/core/a.ts': text, 'src/core/clock.ts': '' })).toEqual([
        `src/core/a.ts:1: imports '${specifier}', which is no file of src/ or types/`,
      ])
    })

    it('reports a package used at runtime', () => {
      expect(check({ 'src/core/a.ts': "import { Agent } from 'undici'" })).toEqual([
        "src/core/a.ts:1: imports 'undici' at runtime: only node: modules are there at runtime",
      ])
    })

    it('allows a package used for its types', () => {
      expect(check({ 'src/core/a.ts': "import type { Agent } from 'undici-types'" })).toEqual([])
    })

    it('reports the package imported by its own name', () => {
      expect(check({ 'src/core/a.ts': "import type { Agent } from 'dodici'" })).toEqual([
        'src/core/a.ts:1: imports the package by its own name',
      ])
    })

    it('reports a specifier that is computed', () => {
      expect(check({ 'src/core/a.ts': 'export const load = (name: string) => import(name)' })).toEqual([
        expect.stringContaining("imports '<computed>'"),
      ])
    })
  })
})

/** An `import type` of one made-up file from another. */
function importType(from: string, to: string): string {
  const upwards = '../'.repeat(from.split('/').length - 1)
  return `import type { A } from '${upwards}${to}'`
}
