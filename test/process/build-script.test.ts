/** `scripts/build.mjs` builds again where a build would write something else, and `--if-changed` at no other time. */

import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'

const script = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))
const TSUP = 'node_modules/tsup/dist/cli-default.js'

/** What the bundler of declarations makes of an error class: an alias, without the comment above the class. */
const DECLARATIONS = `/** It went wrong. */
declare class WrongError extends Error {}

type errorClasses_WrongError = WrongError;
declare namespace errorClasses {
}
`

/** In the place of tsup: it notes its arguments, and writes what the script reads. */
const FAKE = `
const { appendFileSync, mkdirSync, writeFileSync } = require('node:fs')
appendFileSync('calls', process.argv.slice(2).join(' ') + ';')
mkdirSync('dist')
writeFileSync('dist/index.js', 'built')
writeFileSync('dist/index.d.cts', process.env.BUILD_DECLARES ?? '')
process.exitCode = process.env.BUILD_FAILS === undefined ? 0 : 3`

/** A checkout with a source, the script and that tsup. */
function makeCheckout() {
  const folder = mkdtempSync(join(tmpdir(), 'dodici-build-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  write('src/index.ts', 'first')
  write(TSUP, FAKE)
  mkdirSync(join(folder, 'scripts'))
  copyFileSync(script, join(folder, 'scripts/build.mjs'))
  const buildWith = (env: Record<string, string>, ...args: string[]): string =>
    execFileSync(process.execPath, ['scripts/build.mjs', ...args], {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
      env: { ...process.env, ...env },
    })
  const build = (...args: string[]): string => buildWith({}, ...args)
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8')
  const has = (file: string): boolean => existsSync(join(folder, file))
  const remove = (file: string): void => rmSync(join(folder, file), { recursive: true })
  return { build, buildWith, write, remove, has, read, calls: () => read('calls') }
}

it('with --if-changed it builds once, and not a second time', () => {
  const { build, calls } = makeCheckout()
  build('--if-changed')
  build('--if-changed')
  expect(calls()).toBe('--silent;')
})

it('without it it builds each time, and that build counts', () => {
  const { build, calls } = makeCheckout()
  build('--minify')
  build()
  build('--if-changed')
  expect(calls()).toBe('--minify;;')
})

it.each<[string, (checkout: ReturnType<typeof makeCheckout>) => void]>([
  ['a source has changed', ({ write }) => write('src/index.ts', 'second')],
  ['a source is new', ({ write }) => write('src/core/new.ts', '')],
  ['other tools are installed', ({ write }) => write('node_modules/.package-lock.json', '{}')],
  ['a file of dist/ has changed', ({ write }) => write('dist/index.js', 'edited')],
  ['a file of dist/ is new', ({ write }) => write('dist/parts/old.js', '')],
  ['dist/ is gone', ({ remove }) => remove('dist')],
])('where %s, --if-changed builds', (_what, change) => {
  const checkout = makeCheckout()
  checkout.build('--if-changed')
  change(checkout)
  checkout.build('--if-changed')
  expect(checkout.calls()).toBe('--silent;--silent;')
  expect(checkout.has('dist/parts')).toBe(false)
})

it('a build that fails is told, and done again', () => {
  const { build, buildWith, calls } = makeCheckout()
  const failed = expect.objectContaining({ status: 3 })
  expect(() => buildWith({ BUILD_FAILS: 'yes' }, '--if-changed')).toThrow(failed)
  build('--if-changed')
  expect(calls()).toBe('--silent;--silent;')
})

it('without the development dependencies --if-changed says so, and succeeds', () => {
  const { build, remove, has } = makeCheckout()
  remove('node_modules')
  expect(build('--if-changed')).toMatch(/^dist\/ was not built: .* tsup/)
  expect(has('dist')).toBe(false)
  expect(() => build()).toThrow()
})

it('the alias of an error class gets the comment of the class', () => {
  const { buildWith, read } = makeCheckout()
  buildWith({ BUILD_DECLARES: DECLARATIONS })
  expect(read('dist/index.d.cts').match(/.*\n(type|declare namespace) .*/g)).toEqual([
    '/** It went wrong. */\ntype errorClasses_WrongError = WrongError;',
    "/** Dodici's error classes, and those that only undici throws. */\ndeclare namespace errorClasses {",
  ])
})

it('an error class without a comment fails the build', () => {
  const { buildWith } = makeCheckout()
  const BUILD_DECLARES = DECLARATIONS.replace('/** It went wrong. */\n', '')
  expect(() => buildWith({ BUILD_DECLARES })).toThrow('The class WrongError has no comment')
})
