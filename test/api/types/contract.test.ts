/**
 * The types' own tests: the compiler is run over every `*.test-d.ts`, whose lines are the assertions.
 *
 * `npm run typecheck` compiles them as well; here they count as tests, and the compiler is shown to object when it
 * should.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '../../..')
const contract = join(root, 'types')

/** In the same folder as the others, so that its imports resolve alike. It exists only in memory. */
const wrongFile = join(here, 'wrong.test-d.ts')
const wrongText = `
import type { Dispatcher as Undici6 } from 'undici-types-6'
import type { DispatchController, Dispatcher } from '../../../types/index.ts'
declare const dispatcher: Dispatcher
declare const controller: DispatchController
export const fits: Undici6 = dispatcher
export const lacks: Undici6 = controller
export const wrong: number[] | null = controller.rawHeaders
`

function readOptions(): ts.CompilerOptions {
  const { config, error } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  if (error) throw new Error(ts.flattenDiagnosticMessageText(error.messageText, '\n'))
  return { ...ts.parseJsonConfigFileContent(config, ts.sys, root).options, noEmit: true, skipLibCheck: false }
}

function toHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (path) => path === wrongFile || fileExists(path)
  host.readFile = (path) => (path === wrongFile ? wrongText : readFile(path))
  host.getSourceFile = (path, target, ...rest) =>
    path === wrongFile ? ts.createSourceFile(path, wrongText, target) : getSourceFile(path, target, ...rest)
  return host
}

/** `file:line: TS1234: message`, for people and for `toEqual`. */
function show({ file, start, code, messageText }: ts.Diagnostic): string {
  const text = ts.flattenDiagnosticMessageText(messageText, '\n')
  if (file === undefined || start === undefined) return `TS${code}: ${text}`
  const line = ts.getLineAndCharacterOfPosition(file, start).line + 1
  return `${file.fileName.slice(root.length + 1)}:${line}: TS${code}: ${text}`
}

function listFiles(folder: string, ending: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
}

describe('the public types', () => {
  const options = readOptions()
  const host = toHost(options)
  const typeTests = listFiles(here, '.test-d.ts')
  let program: ts.Program

  describe('when the type tests are compiled', () => {
    it('there are some', () => {
      expect(typeTests.length).toBeGreaterThan(2)
    })

    it('the compiler has nothing to object, not even to undici-types', () => {
      program = ts.createProgram({ rootNames: typeTests, options, host })
      // `npm run typecheck` looks at src/ itself.
      const isOther = ({ fileName }: ts.SourceFile): boolean => !fileName.startsWith(join(root, 'src/'))
      const files = program.getSourceFiles().filter(isOther)
      const found = files.flatMap((file) => ts.getPreEmitDiagnostics(program, file))
      expect(found.map(show)).toEqual([])
    })

    it.each(typeTests)('each expected error of %s has a reason', (path) => {
      const bare = readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line.includes('@ts-expect-error') && !/@ts-expect-error: \w/.test(line))
      expect(bare).toEqual([])
    })
  })

  describe('when a snippet misuses them', () => {
    it('the compiler objects to what is wrong, and to nothing else', () => {
      const wrong = ts.createProgram({ rootNames: [wrongFile], options, host, oldProgram: program })
      const diagnostics = wrong.getSemanticDiagnostics(wrong.getSourceFile(wrongFile))
      expect(diagnostics.map((diagnostic) => show(diagnostic).split('\n')[0])).toEqual([
        expect.stringMatching(
          /^test\/api\/types\/wrong\.test-d\.ts:7: TS2740: .* is missing the following properties/,
        ),
        expect.stringMatching(
          /^test\/api\/types\/wrong\.test-d\.ts:8: TS2322: Type 'RawHeaders \| null' is not/,
        ),
      ])
    })
  })

  describe('when they are emitted', () => {
    it.each(listFiles(contract, '.ts'))('%s leaves nothing for the runtime', (path) => {
      const { outputText } = ts.transpileModule(readFileSync(path, 'utf8'), {
        compilerOptions: {
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ES2022,
          removeComments: true,
        },
      })
      expect(outputText.trim()).toBe('export {};')
    })
  })
})
