import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { loadModule } from '../support/clients/plain-module.ts'

type Count = readonly [passed: number, failed: number]

interface Recorded {
  readonly nodes: Readonly<Record<string, string>>
  readonly vectors: readonly { readonly source: string; readonly blocks: number }[]
  readonly rules: Readonly<Record<string, Count>>
  readonly fingerprints: Readonly<Record<string, string>>
  readonly days: Readonly<Record<string, string>>
  readonly parts: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, Count>>>>>>
  readonly files: Readonly<Record<string, Readonly<Record<string, Count>>>>
}

interface Part {
  readonly key: string
  readonly titles: RegExp
}

interface Area {
  readonly files: readonly string[]
  readonly parts?: readonly Part[]
}

interface Rule {
  readonly key: string
  readonly section: string
  readonly isChecked: boolean
  readonly tests: readonly { readonly file: string; readonly title: string }[]
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

const { GROUPS, ELSEWHERE } = await loadModule<{
  GROUPS: readonly { readonly areas: readonly Area[] }[]
  ELSEWHERE: Readonly<Record<string, string>>
}>('scripts/conformance/page.mjs')
const { toPage, toMatcher } = await loadModule<{
  toPage(recorded: Recorded, table: string): string
  toMatcher(pattern: string): RegExp
}>('scripts/conformance/page.mjs')
const { toRules, isNamed } = await loadModule<{
  toRules(table: string): Rule[]
  isNamed(title: string, titles: readonly string[]): boolean
}>('scripts/conformance/rules.mjs')
const { readFingerprint, toSources, toTestsFingerprint } = await loadModule<{
  readFingerprint(file: string): string
  toSources(file: string, read: (file: string) => string): Set<string>
  toTestsFingerprint(sources: readonly string[]): string
}>('scripts/conformance/rules.mjs')
const { toVectors } = await loadModule<{ toVectors(): Recorded['vectors'] }>('scripts/conformance/page.mjs')

const table = read('test/protocol/README.md')
const recorded: Recorded = JSON.parse(read('docs/conformance.json'))
const tests = readdirSync(`${root}test`, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
  .map((file) => `test/${file}`)
const patterns = GROUPS.flatMap(({ areas }) => areas.flatMap(({ files }) => files))

/** `a-{b,c}.test.ts` → `a-b.test.ts` and `a-c.test.ts`. */
function toAlternatives(pattern: string): string[] {
  const [all = '', parts = ''] = /\{([^}]*)\}/.exec(pattern) ?? []
  return all === '' ? [pattern] : parts.split(',').map((part) => pattern.replace(all, part))
}

it('docs/conformance.md is what the run has recorded', () => {
  expect(read('docs/conformance.md')).toBe(toPage(recorded, table))
})

it('the run had all of the files, on each line, and nothing failed', () => {
  const matchers = patterns.map(toMatcher)
  const checked = toRules(table).filter(({ isChecked }) => isChecked)
  const rules = checked.flatMap((rule) => rule.tests.map(({ file }) => file))
  const wanted = tests.filter(
    (file) => matchers.some((matcher) => matcher.test(file)) || rules.includes(file),
  )
  expect(Object.keys(recorded.files).sort()).toEqual(wanted.sort())
  const counts = [
    ...Object.values(recorded.rules),
    ...Object.values(recorded.files).flatMap((by) => Object.values(by)),
  ]
  expect(counts.filter(([, failed]) => failed > 0)).toEqual([])
  expect(Object.keys(recorded.nodes)).toEqual(['20', '22', '24', '26'])
})

it('no test and no case was added, removed or renamed since the run: npm run conformance -- --missing', () => {
  const { fingerprints, files, days } = recorded
  const changed = Object.keys(fingerprints).filter((file) => readFingerprint(file) !== fingerprints[file])
  expect(changed).toEqual([])
  expect(Object.keys(fingerprints)).toEqual(Object.keys(files))
  expect(Object.keys(days)).toEqual(Object.keys(files))
})

it('what is counted apart was counted in each file of its area, and there is some of each part', () => {
  for (const { files, parts = [] } of GROUPS.flatMap(({ areas }) => areas)) {
    if (parts.length === 0) continue
    const own = Object.keys(recorded.files).filter((file) => files.some((one) => toMatcher(one).test(file)))
    for (const [line, file] of own.flatMap((one) =>
      Object.keys(recorded.files[one] ?? {}).map((line) => [line, one] as const),
    )) {
      const counts = recorded.parts[file]?.[line] ?? {}
      expect(Object.keys(counts)).toEqual(parts.map(({ key }) => key))
      const [passed = 0] = recorded.files[file]?.[line] ?? []
      expect(Object.values(counts).reduce((sum, [part]) => sum + part, 0)).toBeLessThanOrEqual(passed)
    }
    for (const { key } of parts) {
      const sum = own.reduce((all, file) => all + (recorded.parts[file]?.['26']?.[key]?.[0] ?? 0), 0)
      expect(sum, key).toBeGreaterThan(0)
    }
  }
})

it('each row of the rules that tests are about had one that ran, and the record has no other row', () => {
  const checked = toRules(table).filter(({ isChecked }) => isChecked)
  expect(checked.filter(({ key }) => (recorded.rules[key]?.[0] ?? 0) === 0)).toEqual([])
  expect(Object.keys(recorded.rules).sort()).toEqual(checked.map(({ key }) => key).sort())
})

it('the vectors are as many as there are', () => {
  expect(recorded.vectors).toEqual(expect.arrayContaining([...toVectors()]))
})

it('each pattern of an area is of a file, and each test of these folders is in one, or elsewhere', () => {
  // `{a,b}` may not name a file that is gone, either.
  expect(
    patterns
      .flatMap(toAlternatives)
      .filter((pattern) => !tests.some((file) => toMatcher(pattern).test(file))),
  ).toEqual([])
  const folders = /^test\/(interop|fetch|protocol|session)\//
  const shown = tests.filter((file) => folders.test(file) && ELSEWHERE[file] === undefined)
  const missing = shown.filter(
    (file) =>
      recorded.files[file] === undefined && !patterns.some((pattern) => toMatcher(pattern).test(file)),
  )
  expect(missing).toEqual([])
  expect(Object.keys(ELSEWHERE).filter((file) => !tests.includes(file))).toEqual([])
})

it('a title of a table of cases names each of its cases, and no other test', () => {
  const titles = ['SETTINGS', 'RFC 9113 §6.5: of 5 octets is FRAME_SIZE_ERROR']
  expect(isNamed('§6.5: of %i octets is FRAME_SIZE_ERROR', titles)).toBe(true)
  expect(isNamed('SETTINGS › §6.5: of $octets octets is FRAME_SIZE_ERROR', titles)).toBe(true)
  expect(isNamed('§6.5: of %i octets is PROTOCOL_ERROR', titles)).toBe(false)
  expect(isNamed('octets is FRAME_SIZE_ERROR', titles)).toBe(false)
})

it('a title with a section is that of the section of its row', () => {
  const row =
    '| 6.1 | Index 0 | [e](hpack/e.test.ts) › when ${what} › throws an HpackError (RFC 7541 ${section}) |'
  const [rule] = toRules(row)
  const toTitles = (section: string): string[] => [
    'the decoder',
    `when an index is 0 › throws an HpackError (RFC 7541 ${section})`,
  ]
  expect(isNamed(rule?.tests[0]?.title ?? '', toTitles('§6.1'))).toBe(true)
  expect(isNamed(rule?.tests[0]?.title ?? '', toTitles('§5.2'))).toBe(false)
})

it('a row that says why there is no test is not checked, whatever test it names besides', () => {
  const [none, one] = toRules(
    '| 6.1 | Padding | none: see [f](f.test.ts) › a |\n| 6.2 | Padding | [f](f.test.ts) › a |',
  )
  expect([none?.isChecked, one?.isChecked]).toEqual([false, true])
})

it('the fingerprint is another one for another title, and the same where tests were moved or explained', () => {
  const source = "test('a', () => {})\ntest('b', () => {})"
  expect(toTestsFingerprint(["// It's first.\ntest('b', () => {})\n\ntest('a', () => run())"])).toBe(
    toTestsFingerprint([source]),
  )
  // Where a file imports from isn't a part of what it tests.
  expect(toTestsFingerprint([`import { run } from './run.ts'\n${source}`])).toBe(toTestsFingerprint([source]))
  expect(toTestsFingerprint([source.replace('b', 'c')])).not.toBe(toTestsFingerprint([source]))
  expect(toTestsFingerprint(["test('a', () => {})"])).not.toBe(toTestsFingerprint([source]))
})

/** One case of each kind of table, and what is left without it. */
const TABLES = [
  {
    what: 'its own',
    file: 'test/interop/talkative.test.ts',
    of: 'test/interop/talkative.test.ts',
    without: / {2}\{ name: 'Go: bodies[^\n]*\n/,
  },
  {
    what: 'one of numbers',
    file: 'test/interop/round-bodies.test.ts',
    of: 'test/interop/round-bodies.test.ts',
    without: /(?<=DELAYS = \[0), 5/,
  },
  {
    what: 'one that it imports',
    file: 'test/interop/websocket-echo.test.ts',
    of: 'test/interop/websocket-scenes.ts',
    without: / {2}'κόσμε',\n/,
  },
  {
    what: 'one behind its rig',
    file: 'test/interop/fetch-nginx.test.ts',
    of: 'test/interop/fetch-request-cases.ts',
    without: / {4}what: [^\n]*\n/,
  },
  {
    what: 'one behind its judge',
    file: 'test/api/fetch/standard.test.ts',
    of: 'test/api/fetch/standard-codings.ts',
    without: / {2}\['br', [^\n]*\n/,
  },
  {
    what: 'one of test/support',
    file: 'test/session/attacks.test.ts',
    of: 'test/support/peers/attacks.ts',
    without: / {2}\{ name: 'SETTINGS', [^\n]*\n/,
  },
  {
    what: 'a table in a table',
    file: 'test/interop/websocket-builtin.test.ts',
    of: 'test/interop/websocket-builtin.test.ts',
    without: /, DESTROY_SCENE\]/,
  },
]

it.each(TABLES)('the fingerprint of $file is another one without a case of a table: $what', ({
  file,
  of,
  without,
}) => {
  const toFingerprintOf = (readOne: (path: string) => string): string =>
    toTestsFingerprint([...toSources(file, readOne)].map(readOne))
  expect(readFingerprint(file)).toBe(toFingerprintOf(read))
  const changed = read(of).replace(without, '')
  expect(changed).not.toBe(read(of))
  expect(toFingerprintOf((path) => (path === of ? changed : read(path)))).not.toBe(toFingerprintOf(read))
})

it('a change of a server that half of the tests start has none of them run again', () => {
  expect([...toSources('test/api/tunnel.test.ts', read)]).not.toContain('test/support/servers/server.ts')
})

it('docs/engines.md names no server as untried that the two pages have', () => {
  const [, sentence = ''] =
    /\*\*What neither was\s+ever tested with\*\*:(.*?)If you are/s.exec(read('docs/engines.md')) ?? []
  expect(sentence).toContain('IIS')
  const pages: { versions: Record<string, string> }[] = ['conformance', 'chaos'].map((page) =>
    JSON.parse(read(`docs/${page}.json`)),
  )
  const tried = pages.flatMap(({ versions }) => Object.keys(versions))
  expect(tried).toEqual(expect.arrayContaining(['nginx', 'squid', 'HAProxy', 'h2o', 'Caddy', 'Hypercorn']))
  expect(tried.filter((name) => sentence.toLowerCase().includes(name.toLowerCase()))).toEqual([])
})
