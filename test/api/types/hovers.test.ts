/** What an editor shows for a name of the package: a sentence for each, and an example for those that are used most. */

import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const ENTRY = `${root}src/index.ts`

const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
const service = ts.createLanguageService({
  getCompilationSettings: () => options,
  getCurrentDirectory: () => root,
  getScriptFileNames: () => [ENTRY],
  getScriptVersion: () => '1',
  getScriptSnapshot(file) {
    const text = ts.sys.readFile(file)
    return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
  },
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  fileExists: ts.sys.fileExists,
  readFile: ts.sys.readFile,
})

interface Hover {
  readonly name: string
  readonly text: string
  readonly tags: readonly string[]
}

/** The hover of each name that the package exports. */
function readHovers(): Hover[] {
  const program = service.getProgram()
  const source = program?.getSourceFile(ENTRY)
  const checker = program?.getTypeChecker()
  const symbol = source && checker?.getSymbolAtLocation(source)
  if (symbol === undefined || checker === undefined) throw new Error(`${ENTRY} exports nothing`)
  return checker
    .getExportsOfModule(symbol)
    .map((exported) => {
      const target =
        (exported.flags & ts.SymbolFlags.Alias) === 0 ? exported : checker.getAliasedSymbol(exported)
      const [declaration] = target.declarations ?? []
      // A namespace, which is a file of its own.
      if (declaration === undefined || ts.isSourceFile(declaration)) return null
      const name = ts.getNameOfDeclaration(declaration) ?? declaration
      const info = service.getQuickInfoAtPosition(declaration.getSourceFile().fileName, name.getStart())
      return {
        name: exported.name,
        text: ts.displayPartsToString(info?.documentation),
        tags: (info?.tags ?? []).map(({ name: tag }) => tag),
      }
    })
    .filter((hover) => hover !== null)
}

const HOVERS = readHovers()

describe('the hover of an export', () => {
  it('is there for each', () => {
    expect(HOVERS.length).toBeGreaterThan(60)
  })

  it.each(HOVERS)('of $name has a sentence, which no tag cuts off', ({ text }) => {
    expect(text.split(/\s+/).length).toBeGreaterThanOrEqual(3)
    expect(text).not.toMatch(/@(default|param|returns)/)
  })

  it.each(['request', 'fetch', 'Client', 'Agent', 'Pool', 'install'])('of %s has an example', (name) => {
    expect(HOVERS.find((hover) => hover.name === name)?.tags).toContain('example')
  })
})
