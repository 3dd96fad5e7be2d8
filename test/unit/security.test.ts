import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ENGINES } from '../support/clients/engines.ts'
import { ATTACKS } from '../support/peers/attacks.ts'
import { checkAttacks, checkConstants, findRows } from './security-docs.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const exists = (path: string): boolean => existsSync(`${root}${path}`)
const read = (path: string): string | null => (exists(path) ? readFileSync(`${root}${path}`, 'utf8') : null)

const PAGE = 'docs/threat-model.md'
const page = read(PAGE) ?? ''
const policy = read('SECURITY.md') ?? ''

describe('docs/threat-model.md', () => {
  it('says of each fixed limit what the sources say', () => {
    expect(checkConstants(page, read)).toEqual([])
    expect(findRows(page, 'constant', 'figure').length).toBeGreaterThan(30)
  })

  it('has tests for each attack, and each attack that is played', () => {
    expect(checkAttacks(page, exists)).toEqual([])
    expect(findRows(page, 'attack', 'engine `wire`').length).toBeGreaterThan(25)
  })

  it('has figures of each attack on each engine', () => {
    const rows = findRows(page, 'attack', 'engine', 'the call')
    const expected = ATTACKS.flatMap(({ name }) =>
      [...ENGINES].reverse().map((engine) => [name, `\`${engine}\``]),
    )
    expect(rows.map(({ attack, engine }) => [attack, engine])).toEqual(expected)
  })

  it('names files that exist alone', () => {
    const links = [...page.matchAll(/\]\(([^)#]+)/g)].map(([, link = '']) =>
      posix.join(posix.dirname(PAGE), link),
    )
    const comments = [...page.matchAll(/<!-- ((?:test|src)\/.*?) -->/g)].flatMap(
      ([, list]) => list?.split(', ') ?? [],
    )
    const spans = [...page.matchAll(/`((?:src|test|bench)\/[^`]+)`/g)].map(([, span]) => span ?? '')
    expect(comments.length).toBeGreaterThan(3)
    expect([...links, ...comments, ...spans].filter((path) => !exists(path))).toEqual([])
  })

  it.each(['SECURITY.md', 'CONTRIBUTING.md', 'docs/security.md'])('is linked from %s', (path) => {
    expect(read(path)).toMatch(/\]\((docs\/)?threat-model\.md\)/)
  })
})

describe('SECURITY.md', () => {
  it('fits on one page', () => {
    expect(policy.split(/\s+/).length).toBeLessThanOrEqual(450)
  })

  it.each([
    ['how to report', '## Report a vulnerability', /security\/advisories\/new/],
    ['the time to answer', '## What happens next', /\| within \d+ working days \|/],
    ['which versions get fixes', '## Supported versions', /\| the latest release \| yes \|/],
    ['the promise', '## What we promise', /Your process survives, every call ends/],
  ])('says %s', (_what, heading, text) => {
    const section = policy.split(/^(?=## )/m).find((part) => part.startsWith(`${heading}\n`))
    expect(section).toMatch(text)
  })

  it.each(['README.md', 'CONTRIBUTING.md'])('is linked from %s', (path) => {
    expect(read(path)).toMatch(/\]\((https:\/\/github\.com\/dodici\/dodici\/blob\/main\/)?SECURITY\.md\)/)
  })
})

describe('the checker of docs/threat-model.md', () => {
  const constants = (name: string, figure: string, file: string): string =>
    `| constant | figure | file |\n| --- | --- | --- |\n| \`${name}\` | \`${figure}\` | \`${file}\` |\n`
  const LIMITS = 'src/protocol/limits.ts'

  it('tells a figure from that of the source', () => {
    expect(checkConstants(constants('BURST', '5_000', LIMITS), read)).toEqual([])
    expect(checkConstants(constants('BURST', '5_001', LIMITS), read)).toEqual([
      `BURST is 5_001, and 5_000 in ${LIMITS}`,
    ])
    expect(checkConstants(constants('BURSTS', '5_000', LIMITS), read)).toHaveLength(1)
    expect(checkConstants(constants('BURST', '5_000', 'src/none.ts'), read)).toHaveLength(1)
  })

  it('tells an attack without a test, with a test that is gone, and without figures', () => {
    const toPage = (tests: string, figures: string): string =>
      `| attack | engine \`wire\` | engine \`node\` | tests | figures |\n| --- | --- | --- | --- | --- |\n| a | b | c | ${tests} | ${figures} |\n`
    const check = (tests: string, figures: string): string[] =>
      checkAttacks(toPage(tests, figures), exists).filter((problem) => problem.startsWith('a: '))
    expect(check('`test/unit/security.test.ts`', 'PING')).toEqual([])
    expect(check('', 'PING')).toEqual(['a: no test'])
    expect(check('`test/unit/none.test.ts`', 'PING')).toEqual(['a: no test test/unit/none.test.ts'])
    expect(check('`test/unit/security.test.ts`', 'PONG')).toEqual(['a: no figures of PONG'])
  })

  it('misses an attack that has no row', () => {
    const all = checkAttacks(page.replaceAll(' · PING, no ACK is read', ''), exists)
    expect(all).toEqual(['PING, no ACK is read: no row'])
  })
})
