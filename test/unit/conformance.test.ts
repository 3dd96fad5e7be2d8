import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { loadModule } from '../support/plain-module.ts'

type Count = readonly [passed: number, failed: number]

interface Recorded {
  readonly nodes: Readonly<Record<string, string>>
  readonly rules: readonly Count[]
  readonly files: Readonly<Record<string, Readonly<Record<string, Count>>>>
}

interface Area {
  readonly files: readonly string[]
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

const { GROUPS, ELSEWHERE } = await loadModule<{
  GROUPS: readonly { readonly areas: readonly Area[] }[]
  ELSEWHERE: Readonly<Record<string, string>>
}>('scripts/conformance/areas.mjs')
const { toPage, toMatcher } = await loadModule<{
  toPage(recorded: Recorded, table: string): string
  toMatcher(pattern: string): RegExp
}>('scripts/conformance/page.mjs')
const { toRules, isNamed } = await loadModule<{
  toRules(table: string): { readonly tests: readonly { readonly file: string }[] }[]
  isNamed(title: string, titles: readonly string[]): boolean
}>('scripts/conformance/rules.mjs')

const table = read('test/protocol/README.md')
const recorded: Recorded = JSON.parse(read('docs/conformance.json'))
const tests = readdirSync(`${root}test`, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`)
const patterns = GROUPS.flatMap(({ areas }) => areas.flatMap(({ files }) => files))

test('docs/conformance.md is what the run has recorded', () => {
  expect(read('docs/conformance.md')).toBe(toPage(recorded, table))
})

test('the run had all of the files, on each line, and nothing failed', () => {
  const matchers = patterns.map(toMatcher)
  const rules = toRules(table).flatMap((rule) => rule.tests.map(({ file }) => file))
  const wanted = tests.filter(
    (file) => matchers.some((matcher) => matcher.test(file)) || rules.includes(file),
  )
  expect(Object.keys(recorded.files).sort()).toEqual(wanted.sort())
  const counts = [...recorded.rules, ...Object.values(recorded.files).flatMap((by) => Object.values(by))]
  expect(counts.filter(([, failed]) => failed > 0)).toEqual([])
  expect(Object.keys(recorded.nodes)).toEqual(['20', '22', '24', '26'])
})

test('each rule that has a test had one that ran', () => {
  const bare = toRules(table).filter(
    ({ tests }, index) => tests.length > 0 && recorded.rules[index]?.[0] === 0,
  )
  expect(bare).toEqual([])
})

test('each pattern of an area is of a file, and each test of a real server or of fetch is in one', () => {
  expect(patterns.filter((pattern) => !tests.some((file) => toMatcher(pattern).test(file)))).toEqual([])
  const shown = tests.filter((file) => /^test\/(interop|fetch)\//.test(file) && ELSEWHERE[file] === undefined)
  const missing = shown.filter((file) => !patterns.some((pattern) => toMatcher(pattern).test(file)))
  expect(missing).toEqual([])
  expect(Object.keys(ELSEWHERE).filter((file) => !tests.includes(file))).toEqual([])
})

test('a title of a table of cases names each of its cases, and no other test', () => {
  const titles = ['SETTINGS', 'RFC 9113 §6.5: of 5 octets is FRAME_SIZE_ERROR']
  expect(isNamed('§6.5: of %i octets is FRAME_SIZE_ERROR', titles)).toBe(true)
  expect(isNamed('SETTINGS › §6.5: of $octets octets is FRAME_SIZE_ERROR', titles)).toBe(true)
  expect(isNamed('§6.5: of %i octets is PROTOCOL_ERROR', titles)).toBe(false)
  expect(isNamed('octets is FRAME_SIZE_ERROR', titles)).toBe(false)
})
