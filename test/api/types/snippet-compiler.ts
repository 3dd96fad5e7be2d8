/** Compiles snippets of the pages, as a user of the built package would compile them. */

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect } from 'vitest'
import { USER_OPTIONS } from './user-options.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** They exist only in memory, in a folder from which packages are found. `dodici` is this package. */
export const toPath = (name: string): string => join(root, 'examples', `snippet-${name}.ts`)

export interface SnippetFile {
  readonly path: string
  readonly text: string
}

/**
 * What the compiler says of these files.
 *
 * @param undici the folder of node_modules that `undici` stands for
 */
export function compile(files: readonly SnippetFile[], undici = 'undici'): string[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]))
  const options: ts.CompilerOptions = {
    ...USER_OPTIONS,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
    paths: { undici: [join(root, 'node_modules', undici, 'index.d.ts')] },
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
  expect(built.filter((path) => /^dist\/\w+\.d\.c?ts$/.test(path))).not.toEqual([])
  expect(built.filter((path) => path.startsWith('src/'))).toEqual([])
  return ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file, messageText }) =>
        `${file?.fileName.slice(root.length)}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    )
}
