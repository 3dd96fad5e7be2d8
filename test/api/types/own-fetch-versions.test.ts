/** Dodici's own `fetch` in place of the global one, under each `@types/node`, with a browser's types and without. */

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Setting } from './fetch-compiler.ts'
import { compile } from './fetch-compiler.ts'

/**
 * The folder of `@types` for the Node that runs this: what a compiler says of the others doesn't depend on it, so each
 * line has its own.
 */
const LINE =
  { 20: 'node-20', 22: 'node-22', 24: 'node-24' }[Number.parseInt(process.versions.node, 10)] ?? 'node'

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

const OWN = read('own-fetch.test-d.ts')
const LIBRARIES = read('own-fetch-libraries.ts')

/** What `lib` says in a tsconfig.json, in front of a file. */
const withLibs = (text: string, ...libs: string[]): string =>
  [...libs.map((lib) => `/// <reference lib="${lib}" />`), text].join('\n')

/** Behind the test of our own: the declarations of ofetch are for programs that have a browser's types. */
const OFETCH = `
import { createFetch, ofetch } from 'ofetch'
export const made = createFetch({ fetch })
export const fetched = ofetch(url, { dispatcher: new Agent() })
// @ts-expect-error: what gives something else than a response
export const notMade = createFetch({ fetch: async () => 'text' })
`

const SNIPPET = `
import { Agent, fetch, type FetchInit } from '../../../src/index.ts'
export const global: typeof globalThis.fetch = fetch
export const asked: Promise<Response> = fetch(new Request('a:'), { dispatcher: null, headers: [['a', 'b']] })
declare const given: RequestInit
export const init: FetchInit = { ...given, dispatcher: new Agent(), body: 'text' }
`

/** Replaces one part of the declarations by another. */
function changed(part: string, other: string): (declarations: string) => string {
  return (declarations) => {
    expect(declarations.split(part)).toHaveLength(2)
    return declarations.replace(part, other)
  }
}

/** The library of a browser's types, where a program has it. */
const domOf = (files: readonly string[]): string[] => files.filter((file) => file.endsWith('/lib.dom.d.ts'))

describe.each([LINE])('the published types of our fetch, by @types/%s', (nodeTypes) => {
  const setting: Setting = { nodeTypes, declarations: 'index.d.ts' }
  const common: Setting = { nodeTypes, declarations: 'index.d.cts', isPlain: true }

  describe('when Node is all there is', () => {
    it('it is what the global one is, takes what it should, and refuses the rest', () => {
      const { errors, files } = compile(setting, OWN, 'all')
      expect(errors).toEqual([])
      expect(domOf(files)).toEqual([])
      expect(files).toContain('dist/index.d.ts')
      expect(files).toContain(`node_modules/@types/${nodeTypes}/globals.d.ts`)
    })

    it('so it is with those of CommonJS, and a compiler that is strict and nothing more', () => {
      expect(compile(common, OWN, 'own').errors).toEqual([])
    })

    it('libraries take it for theirs', () => {
      const { errors, files } = compile(setting, LIBRARIES, 'own')
      expect(errors).toEqual([])
      expect(domOf(files)).toEqual([])
    })
  })

  describe('when there are the types of a browser too', () => {
    it('it is what the global one is, and ofetch takes it for its own', () => {
      const text = withLibs(OWN + OFETCH, 'dom', 'dom.iterable', 'dom.asynciterable')
      const { errors, files } = compile(setting, text, 'own')
      expect(errors).toEqual([])
      expect(domOf(files)).toHaveLength(1)
    })

    it('it is, when a Headers of theirs is nothing to iterate over', () => {
      const { errors, files } = compile(common, withLibs(OWN, 'dom'), 'own')
      expect(errors).toEqual([])
      expect(files.filter((file) => file.endsWith('/lib.dom.iterable.d.ts'))).toEqual([])
    })
  })
})

describe('the published types of our fetch, when one of them is another', () => {
  const setting: Setting = { nodeTypes: 'node', declarations: 'index.d.ts' }
  const head = 'declare function fetch(input: string | URL | RequestLike, init?: FetchInit | null)'

  it('there is nothing to object to a snippet before that', () => {
    expect(compile(setting, SNIPPET, 'own').errors).toEqual([])
  })

  it.each([
    { what: 'no Request is taken', part: head, other: head.replace(' | RequestLike', ''), at: ['3', '4'] },
    {
      what: 'an init is a text',
      part: head,
      other: head.replace('FetchInit', 'string'),
      at: ['3', '4'],
    },
    {
      what: 'a text is given',
      part: `${head}: Promise<Response>`,
      other: `${head}: Promise<string>`,
      at: ['3', '4'],
    },
    {
      what: 'there is no null',
      part: ' dispatcher?: FallbackDispatcher | null |',
      other: ' dispatcher?: FallbackDispatcher |',
      at: ['4'],
    },
    {
      what: 'a body is bytes',
      part: "body?: RequestInit['body'] | string |",
      other: 'body?:',
      at: ['3', '6'],
    },
    {
      what: 'fields are a text',
      part: "headers?: RequestInit['headers'] |",
      other: 'headers?: string; fields?:',
      at: ['3', '4', '6'],
    },
  ])('the compiler objects when $what', ({ part, other, at }) => {
    const mutate = changed(part, other)
    const lines = compile({ ...setting, mutate }, SNIPPET, 'own').errors.map((error) => error.split(':')[1])
    expect([...new Set(lines)]).toEqual(at)
  })
})
