/** Each snippet of README.md and docs/ is marked: it runs as printed beside `npx dodici serve`, or says what it needs. */

import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Serve } from '../../support/clients/cli.ts'
import { makeFolder, removeFolder, startServe } from '../../support/clients/cli.ts'
import { findSnippets, readRepository } from '../testing-page/page.ts'
import { isMark, SNIPPET_PAGES, toProgram, withoutMarks } from './pages.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** Node 20 runs no TypeScript. */
const COMPILER_OPTIONS = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 }
const LANGUAGES = ['js', 'mjs', 'ts']
/** What a page may tell its reader to install. */
const PACKAGES = ['undici', '@opentelemetry', 'prom-client', 'tough-cookie', 'ky']

const SNIPPETS = SNIPPET_PAGES.flatMap((page) =>
  findSnippets(readRepository(page))
    .filter(({ language }) => LANGUAGES.includes(language))
    .map((snippet) => ({ page, ...snippet, text: withoutMarks(readRepository(page)) })),
)
const RUN = SNIPPETS.filter(({ info }) => info.startsWith('run'))
const PARTS = RUN.filter(({ info }) => info !== 'run')
const NEEDY = SNIPPETS.filter(({ info }) => info.startsWith('needs: '))
const RECIPES = RUN.filter(({ page }) => page === 'docs/recipes.md')
/** A response doesn't show whether its name was looked up in a cache, by dns(). */
const COMPOSED = RECIPES.filter(({ code }) => /interceptors\.(?!dns)\w+\(/.test(code))

let folder = ''
let serve: Serve
let ca: Buffer

beforeAll(async () => {
  folder = await makeFolder()
  // Where `npx dodici serve` keeps its certificates.
  serve = await startServe(join(folder, '.cache'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/dodici'))
  // As `npx dodici ca ca.pem` does, in the folder of each snippet.
  ca = readFileSync(join(folder, '.cache/dodici/ca.pem'))
  for (const name of PACKAGES)
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
})

afterAll(async () => {
  await serve?.running.kill()
  await removeFolder(folder)
})

interface Outcome {
  readonly code: number | string | null
  readonly stdout: string
  readonly stderr: string
}

/** What a snippet prints, by the text behind it, or by the comment behind each `console.log()` of README.md. Null: the page doesn't say. */
function toPrints({ page, code, prints }: Pick<(typeof SNIPPETS)[number], 'page' | 'code' | 'prints'>) {
  if (page !== 'README.md') return prints
  return [...code.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map(([, said]) => `${said}\n`).join('')
}

/** Runs a module in a folder of its own. Only the ports are others than those that are printed: these may be taken. */
function play(name: string, code: string): Promise<Outcome> {
  const cwd = join(folder, name)
  mkdirSync(cwd)
  const here = code
    .replaceAll('localhost:12080', new URL(serve.plain).host)
    .replaceAll('localhost:12443', new URL(serve.secure).host)
  writeFileSync(join(cwd, 'file.mjs'), here)
  writeFileSync(join(cwd, 'ca.pem'), ca)
  const { XDG_CACHE_HOME: _, ...outer } = process.env
  const env = { ...outer, NODE_OPTIONS: '', HOME: folder }
  return new Promise((resolve) => {
    execFile(process.execPath, ['file.mjs'], { cwd, env, timeout: 120_000 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : (error.code ?? null), stdout, stderr }),
    )
  })
}

/** The packages that a snippet imports: none for most. */
const toPackages = ({ code, page, line, text }: (typeof SNIPPETS)[number]) =>
  [...code.matchAll(/^import .* from '([^']+)'$/gm)]
    .map(([, name = '']) => ({ name, page, line, text }))
    .filter(({ name }) => !name.startsWith('node:') && name.split('/')[0] !== 'dodici')

describe('the snippets', () => {
  it('are found', () => {
    expect(SNIPPETS.filter(({ page }) => page === 'README.md')).toHaveLength(4)
    expect(RUN.length).toBeGreaterThan(20)
  })

  it('are all marked: run, or what they need', () => {
    const unmarked = SNIPPETS.filter(({ info }) => !isMark(info)).map(
      ({ page, line, info }) => `${page}:${line} '${info}'`,
    )
    expect(unmarked).toEqual([])
    expect(['', 'runs', 'run no', 'needs:', 'needs: ', 'run client'].filter(isMark)).toEqual(['run client'])
  })

  it('of README.md all run', () => {
    expect(NEEDY.filter(({ page }) => page === 'README.md')).toEqual([])
  })

  it.each(NEEDY)('$page:$line: the page says what it needs, $info', ({ info, text }) => {
    const [, what = ''] = info.split('needs: ')
    const says = text.toLowerCase().includes(withoutMarks(what).toLowerCase())
    expect([what, says]).toEqual([what, true])
  })

  it.each(RUN.flatMap(toPackages))('$page:$line: the page says that $name has to be installed', (snippet) => {
    expect(snippet.text).toMatch(
      new RegExp(
        `npm install \\S.{0,200}${withoutMarks(snippet.name)}|npm install ${withoutMarks(snippet.name)}`,
      ),
    )
  })

  it('name the versions of packages that are tested', () => {
    const { devDependencies }: { devDependencies: Record<string, string> } = JSON.parse(
      readRepository('package.json'),
    )
    const named = [...SNIPPET_PAGES, 'examples/opentelemetry.mjs'].flatMap((page) =>
      [...readRepository(page).matchAll(/`npm install [^`]+`/g)].flatMap(([command]) => [
        ...command.matchAll(/([@\w/-]+)@([\d.]+)/g),
      ]),
    )
    expect(named.length).toBeGreaterThan(5)
    expect(
      named.filter(([, name = '', version]) => !devDependencies[name]?.startsWith(`${version}.`)),
    ).toEqual([])
  })

  it('of docs/recipes.md run for each row of its table', () => {
    const rows = [...readRepository('docs/recipes.md').matchAll(/^\| \[[^\]]+\]\(#([\w-]+)\) \|/gm)]
    const headings = RECIPES.map(({ heading }) => heading.toLowerCase().replaceAll(' ', '-'))
    expect(rows.length).toBeGreaterThan(10)
    expect(rows.map(([, anchor]) => anchor)).toEqual([...new Set(headings)])
  })

  it.each([
    'docs/start.md',
    'docs/api.md',
  ])('%s says which interceptor does what request() does not', (page) => {
    const rows = [
      ...readRepository('docs/recipes.md').matchAll(/\]\((#[\w-]+)\) \| `interceptors\.(\w+)\(\)`/g),
    ]
    const named = rows.filter(([, anchor = '', name = '']) =>
      new RegExp(`\\[\`(interceptors\\.)?${name}\\(\\)\`\\]\\(recipes\\.md${anchor}\\)`).test(
        readRepository(page),
      ),
    )
    const names = named.map(([, , name]) => name)
    expect(names).toEqual(
      expect.arrayContaining(['retry', 'redirect', 'decompress', 'responseError', 'cache']),
    )
  })

  it.each(PARTS)('$page:$line: the page says what stands ahead of it, $info', ({ page, info }) => {
    expect(readRepository(page)).toContain(`\`${info.slice('run '.length)}\``)
  })
})

describe.concurrent('beside npx dodici serve', () => {
  it.each(RUN)('$page:$line runs, and prints what the page says', async (snippet) => {
    const { page, line, language } = snippet
    const prints = toPrints(snippet)
    const program = toProgram(snippet)
    const code = language === 'ts' ? ts.transpile(program, COMPILER_OPTIONS) : program
    const outcome = await play(`${page.replaceAll('/', '-')}-${line}`, code)
    expect(outcome).toMatchObject({ code: 0, ...(prints === null ? {} : { stdout: prints }) })
  })

  it.each(COMPOSED)('$page:$line prints something else without its interceptor', async (snippet) => {
    const without = toProgram(snippet).replace(/interceptors\.\w+\(.*\)\)/, '(dispatch) => dispatch)')
    expect(without).not.toBe(toProgram(snippet))
    expect((await play(`without-${snippet.line}`, without)).stdout).not.toBe(toPrints(snippet))
  })

  it('another text than the page has would be noticed, and so would a failure', async () => {
    const [first] = RUN
    const code = String(first?.code)
    expect((await play('other', code.replace('statusCode, ', ''))).stdout).not.toBe(first && toPrints(first))
    expect((await play('failing', code.replace("'/headers'", "'/nowhere'"))).code).toBe(1)
  })
})
