/** The snippets of docs/testing.md compile, as a user of the built package would compile them. */

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { SNIPPETS } from '../testing-page/page.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** They exist only in memory, in a folder from which packages are found. `dodici` is this package. */
const toPath = (line: number): string => join(root, 'examples', `snippet-at-line-${line}.ts`)

/** What a snippet has around it. In a block, so that it may declare names of its own. */
const AROUND = `
import type { Agent as AroundAgent } from 'dodici'
import type { FaultServer as AroundServer } from 'dodici/testing'
declare const server: AroundServer
declare const agent: AroundAgent
`

interface File {
  readonly path: string
  readonly text: string
}

/** Imports stay outside of the block. */
function toFile(code: string, line: number): File {
  const lines = code.split('\n')
  const isImport = (text: string): boolean => text.startsWith('import ')
  const imports = lines.filter(isImport).join('\n')
  const rest = lines.filter((text) => !isImport(text)).join('\n')
  return { path: toPath(line), text: `${imports}${AROUND}{\n${rest}\n}\nvoid [server, agent]\n` }
}

function compile(files: readonly File[]): string[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]))
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (path) => texts.has(path) || fileExists(path)
  host.readFile = (path) => texts.get(path) ?? readFile(path)
  host.getSourceFile = (path, target, ...rest) => {
    const text = texts.get(path)
    return text === undefined
      ? getSourceFile(path, target, ...rest)
      : ts.createSourceFile(path, text, target, true)
  }
  const program = ts.createProgram([...texts.keys()], options, host)
  // The declarations that were built, and no sources.
  const built = program.getSourceFiles().map(({ fileName }) => fileName.slice(root.length))
  expect(built).toContain('dist/testing.d.cts')
  expect(built.filter((path) => path.startsWith('src/'))).toEqual([])
  return ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file, messageText }) =>
        `${file?.fileName.slice(root.length)}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    )
}

describe('the snippets of docs/testing.md', () => {
  const snippets = SNIPPETS.filter(({ language }) => language === 'ts')

  test('compile', () => {
    expect(snippets.length).toBeGreaterThan(20)
    expect(compile(snippets.map(({ code, line }) => toFile(code, line)))).toEqual([])
  })

  test('when one is wrong, the compiler objects to that one', () => {
    const right = toFile("server.onRequest('/', (stream) => stream.refuse())", 1)
    const wrong = toFile("server.onRequest('/', (stream) => stream.headerBomb('small'))", 2)
    expect(compile([right, wrong])).toEqual([
      expect.stringMatching(/^examples\/snippet-at-line-2\.ts: .*'"small"'/),
    ])
  })
})
