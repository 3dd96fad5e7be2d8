/** The examples of docs/testing.md, each by its own runner, in a project that has the built package installed. */

import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { lacksPackages } from '../../support/clients/packages.ts'
import { SNIPPETS } from './page.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const tools = join(root, 'test/interop/user-tools/node_modules')

/** The command lines: the first part is a script, or a flag of Node's own. */
const RUNNERS = {
  'node.test.mjs': ['--test', '--test-reporter=tap', 'node.test.mjs'],
  'vitest.test.ts': [join(root, 'node_modules/vitest/vitest.mjs'), 'run', 'vitest.test.ts'],
  'jest.test.cjs': [join(tools, 'jest/bin/jest.js'), '--ci', '--watchman=false', 'jest.test.cjs'],
  'rolling-restart.test.mjs': ['--test', '--test-reporter=tap', 'rolling-restart.test.mjs'],
} as const

type Example = keyof typeof RUNNERS

/** A change of a file of the examples. */
interface Change {
  readonly file: string
  readonly from: string
  readonly to: string
}

interface Outcome {
  readonly code: number
  readonly output: string
}

/** A folder with the examples, and with what they import. */
function makeProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dodici-examples-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(join(root, 'examples/testing'), folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, '@jest'), { recursive: true })
  mkdirSync(join(modules, 'dodici'))
  cpSync(join(root, 'dist'), join(modules, 'dodici/dist'), { recursive: true })
  cpSync(join(root, 'package.json'), join(modules, 'dodici/package.json'))
  symlinkSync(join(root, 'node_modules/vitest'), join(modules, 'vitest'))
  symlinkSync(join(tools, '@jest/globals'), join(modules, '@jest/globals'))
  return folder
}

function run(folder: string, args: readonly string[]): Promise<Outcome> {
  // Nothing of this runner's environment is for another one.
  const { PATH, HOME } = process.env
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      args,
      { cwd: folder, timeout: 120_000, env: { PATH, HOME, NO_COLOR: '1' } },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), output: stdout + stderr }),
    )
  })
}

function play(example: Example, change: Change | null): Promise<Outcome> {
  const folder = makeProject()
  if (change !== null) {
    const path = join(folder, change.file)
    const text = readFileSync(path, 'utf8')
    expect(text.split(change.from)).toHaveLength(2)
    writeFileSync(path, text.replace(change.from, change.to))
  }
  return run(folder, RUNNERS[example])
}

const BROKEN: readonly (Change & { example: Example; what: string; says: RegExp })[] = [
  ...(['node.test.mjs', 'vitest.test.ts', 'jest.test.cjs'] as const).flatMap((example) => [
    {
      example,
      file: example,
      what: 'its code repeats no request',
      from: 'attempt === 2',
      to: 'attempt === 1',
      says: /503/,
    },
    {
      example,
      file: example,
      what: 'the client gives up with its first connection',
      from: 'id}`, { dispatcher }',
      to: 'id}`, { dispatcher, method: "POST", body: (async function* () { yield "x" })() }',
      says: /Error/,
    },
  ]),
  {
    example: 'rolling-restart.test.mjs',
    file: 'shop.mjs',
    what: 'the service allows no retry of a request that may have been processed',
    from: 'idempotent: true',
    to: 'idempotent: false',
    says: /502/,
  },
]

const LACKS_JEST = lacksPackages('user-tools')

describe.each(Object.keys(RUNNERS) as Example[])('the example %s', (example) => {
  beforeEach(({ skip }) => skip(LACKS_JEST && example === 'jest.test.cjs'))

  it('passes', async () => {
    const { code, output } = await play(example, null)
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
    // It has run.
    expect(output).toMatch(example.startsWith('rolling') ? /# pass 1\b/ : /# pass 2\b|2 passed/)
  })

  it.each(BROKEN.filter((each) => each.example === example))('fails when $what', async (broken) => {
    const { code, output } = await play(example, broken)
    expect(code).not.toBe(0)
    expect(output).toMatch(broken.says)
  })
})

describe('the first test of docs/testing.md', () => {
  const { code = '' } = SNIPPETS.find(({ heading }) => heading === 'A first test') ?? {}

  async function playFirst(text: string): Promise<Outcome> {
    const folder = makeProject()
    writeFileSync(join(folder, 'first.test.mjs'), text)
    return run(folder, ['--test', '--test-reporter=tap', 'first.test.mjs'])
  }

  it('passes', async () => {
    const { code: exit, output } = await playFirst(code)
    expect([exit, exit === 0 ? '' : output]).toEqual([0, ''])
    expect(output).toMatch(/# pass 1\b/)
  })

  it('fails when the server refuses more often than the client asks', async () => {
    expect(code).toContain('refuse(1)')
    const { code: exit, output } = await playFirst(code.replace('refuse(1)', 'refuse(10)'))
    expect(exit).not.toBe(0)
    expect(output).toMatch(/REFUSED_STREAM/)
  })
})
