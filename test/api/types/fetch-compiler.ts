/**
 * The compiler as a user of the package has it: any `@types/node`, and the declarations of `dist/` in place of the
 * sources.
 */

import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { USER_OPTIONS } from './user-options.ts'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '../../..')
const typeTest = join(here, 'fetch.test-d.ts')
/** Where a snippet would lie. It exists only in memory. */
const snippetFile = join(here, 'snippet.test-d.ts')

/** Whose types a program is compiled with. */
export interface Setting {
  /** The folder of `@types/node`, or of an alias of it. */
  readonly nodeTypes: string
  /** The declarations that `../../../src/index.ts` stands for. */
  readonly declarations: 'index.d.ts' | 'index.d.cts'
  /** Strict, and nothing more than that. @default false: all that this project itself asks for */
  readonly isPlain?: boolean
  /** Undone in the declarations, for a compiler that has to object. */
  readonly mutate?: (declarations: string) => string
}

/** A program, and what the compiler has to say of it. */
export interface Compiled {
  /** `TS1234: message`, behind `file:line: ` where there is one. */
  readonly errors: string[]
  /** Relative to the root. */
  readonly files: string[]
}

const plainOptions: ts.CompilerOptions = {
  ...USER_OPTIONS,
  allowImportingTsExtensions: true,
}

/** By path: most files are those of every program. They are bound once for all options that are alike. */
const sources = new Map<string, ts.SourceFile | undefined>()

/**
 * Compiles the type test, or a snippet in its place.
 *
 * @param checked 'all' checks the declarations of libraries as well, which takes nearly all of the time; 'own' the package's and the
 * test's alone
 */
export function compile(setting: Setting, snippet: string | null, checked: 'all' | 'own'): Compiled {
  const options = { ...toOptions(setting), noEmit: true, skipLibCheck: false }
  const host = toHost(setting, options, snippet)
  const program = ts.createProgram({
    rootNames: [snippet === null ? typeTest : snippetFile],
    options,
    host,
  })
  return {
    errors: toDiagnostics(
      program,
      checked === 'all' ? null : [distOf(setting), declarationsFile, typeTest, snippetFile],
    ).map(show),
    files: program.getSourceFiles().map(({ fileName }) => toRelative(fileName)),
  }
}

/** Of these files, as far as the program has them; null: of all. */
function toDiagnostics(program: ts.Program, paths: readonly string[] | null): readonly ts.Diagnostic[] {
  if (paths === null) return ts.getPreEmitDiagnostics(program)
  const files = program.getSourceFiles().filter(({ fileName }) => paths.includes(fileName))
  return files.flatMap((file) => ts.getPreEmitDiagnostics(program, file))
}

/** What those of the ES module export from: a mutation is one of it. */
const declarationsFile = join(root, 'dist/index.d.cts')

function distOf({ declarations }: Setting): string {
  return join(root, 'dist', declarations)
}

function toOptions({ isPlain = false }: Setting): ts.CompilerOptions {
  if (isPlain) return plainOptions
  const { config, error } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  if (error) throw new Error(ts.flattenDiagnosticMessageText(error.messageText, '\n'))
  return ts.parseJsonConfigFileContent(config, ts.sys, root).options
}

function toHost(setting: Setting, options: ts.CompilerOptions, snippet: string | null): ts.CompilerHost {
  const { nodeTypes, declarations, isPlain = false, mutate } = setting
  const host = ts.createCompilerHost(options)
  const nodeFile = join(root, 'node_modules/@types', nodeTypes, 'index.d.ts')
  const distFile = distOf(setting)
  const isCommon = declarations === 'index.d.cts'
  const { getSourceFile } = host
  const read = (path: string, ...rest: [ts.ScriptTarget | ts.CreateSourceFileOptions]) => {
    if (path === snippetFile) return ts.createSourceFile(path, snippet ?? '', ...rest)
    if (path !== declarationsFile || mutate === undefined) return getSourceFile(path, ...rest)
    return ts.createSourceFile(path, mutate(ts.sys.readFile(path) ?? ''), ...rest)
  }
  host.getSourceFile = (path, target) => {
    const isOwn = [snippetFile, distFile, declarationsFile].includes(path)
    const key = isOwn ? '' : `${path} ${isPlain}`
    const file = sources.get(key) ?? read(path, target)
    if (!isOwn) sources.set(key, file)
    return file
  }
  // A reference to `node`, also in a library, means these types. Their own references are resolved where npm has put
  // them.
  host.resolveTypeReferenceDirectiveReferences = (references, containing) =>
    references.map((reference: ts.FileReference | string) => {
      const name = typeof reference === 'string' ? reference : reference.fileName
      return name === 'node'
        ? { resolvedTypeReferenceDirective: { primary: true, resolvedFileName: nodeFile } }
        : ts.resolveTypeReferenceDirective(name, containing, options, host)
    })
  host.resolveModuleNameLiterals = (literals, containing, _redirected, given, source) =>
    literals.map((literal) =>
      literal.text === '../../../src/index.ts'
        ? {
            resolvedModule: {
              resolvedFileName: distFile,
              extension: isCommon ? ts.Extension.Dcts : ts.Extension.Dts,
            },
          }
        : ts.resolveModuleName(
            literal.text,
            containing,
            given,
            host,
            undefined,
            undefined,
            ts.getModeForUsageLocation(source, literal, given),
          ),
    )
  return host
}

function show({ file, start, code, messageText }: ts.Diagnostic): string {
  const text = ts.flattenDiagnosticMessageText(messageText, '\n')
  if (file === undefined || start === undefined) return `TS${code}: ${text}`
  const line = ts.getLineAndCharacterOfPosition(file, start).line + 1
  return `${toRelative(file.fileName)}:${line}: TS${code}: ${text}`
}

function toRelative(path: string): string {
  return path.startsWith(root) ? path.slice(root.length + 1) : path
}
