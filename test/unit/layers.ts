import { readdirSync, readFileSync } from 'node:fs'
import { posix, relative, resolve, sep } from 'node:path'
import ts from 'typescript'

/** Source text by path from the repository's root, with forward slashes: `src/options/options.ts`. */
export type SourceTree = ReadonlyMap<string, string>

/** One way in which a file names another module. */
interface ModuleReference {
  readonly specifier: string
  /** False when the import is still there once the types are erased. */
  readonly typeOnly: boolean
  readonly line: number
}

/**
 * Units of src/ by layer, lowest first. A unit is a folder of src/, or a file that lies in src/ itself. An import goes
 * to its own unit or to a lower layer: the units of one layer don't know each other.
 */
const LAYERS: readonly (readonly string[])[] = [
  ['errors'],
  ['core'],
  ['options'],
  ['request'],
  ['handler', 'protocol'],
  ['call'],
  ['api', 'session'],
  ['scheduler'],
  ['dispatcher'],
  ['proxy'],
  ['global'],
  ['fetch', 'install'],
  ['index'],
  ['undici', 'connect', 'grpc-js', 'cli'],
]

/** The units that are a single file of src/; every other unit is a folder. */
const FILE_UNITS: ReadonlySet<string> = new Set(['install', 'index'])

const RANK_OF: ReadonlyMap<string, number> = new Map(
  LAYERS.flatMap((units, rank) => units.map((unit) => [unit, rank] as const)),
)

/** The optional peers that an entry may import at runtime. */
const PEERS: ReadonlyMap<string, RegExp> = new Map([
  ['undici', /^undici(\/package\.json)?$/],
  ['connect', /^@(connectrpc\/connect|bufbuild\/protobuf)(\/.*)?$/],
])

/** The most columns of a line of src/ or types/, comments included. */
export const MAX_COLUMNS = 120

/** Reads every file below the given folders. */
export function readTree(root: string, folders: readonly string[]): SourceTree {
  const tree = new Map<string, string>()
  for (const folder of folders) {
    for (const entry of readdirSync(resolve(root, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const file = resolve(entry.parentPath, entry.name)
      tree.set(relative(root, file).split(sep).join('/'), readFileSync(file, 'utf8'))
    }
  }
  return tree
}

/** The lines with more than {@link MAX_COLUMNS} columns, each as `path:line: N columns`. */
export function findWideLines(tree: SourceTree): string[] {
  const found: string[] = []
  for (const [path, text] of tree) {
    for (const [index, line] of text.split('\n').entries()) {
      if (line.length > MAX_COLUMNS) found.push(`${path}:${index + 1}: ${line.length} columns`)
    }
  }
  return found
}

/** Every breach of the layers in a tree, each as `path:line: what is wrong`. An empty list means that they hold. */
export function checkLayers(tree: SourceTree): string[] {
  const breaches: string[] = []
  const graph = new Map<string, Set<string>>()

  for (const [path, text] of tree) {
    const unit = unitOf(path)
    if (unit === undefined) {
      breaches.push(`${path}: is in no layer`)
      continue
    }
    if (!path.endsWith('.ts')) {
      breaches.push(`${path}: is not TypeScript, so its imports go unchecked`)
      continue
    }

    const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
    if (unit === 'types') breaches.push(...findRuntimeStatements(source))

    const targets = new Set<string>()
    graph.set(path, targets)
    for (const reference of findReferences(source)) {
      const at = `${path}:${reference.line}`
      if (!reference.specifier.startsWith('.')) {
        const breach = checkExternal(unit, reference)
        if (breach) breaches.push(`${at}: ${breach}`)
        continue
      }
      const target = posix.join(posix.dirname(path), reference.specifier)
      if (!tree.has(target)) {
        breaches.push(`${at}: imports '${reference.specifier}', which is no file of src/ or types/`)
        continue
      }
      targets.add(target)
      const breach = checkInternal(unit, target, reference)
      if (breach) breaches.push(`${at}: ${breach}`)
    }
  }

  for (const cycle of findCycles(graph)) breaches.push(`${cycle[0]}: import cycle: ${cycle.join(' → ')}`)
  return breaches
}

/** The unit that a path belongs to (`types` and `testing` included), or undefined when the design knows none. */
function unitOf(path: string): string | undefined {
  const [top, second, ...rest] = path.split('/')
  if (top === 'types') return 'types'
  if (top !== 'src' || second === undefined) return undefined
  if (rest.length === 0) {
    const name = second.replace(/\.ts$/, '')
    return FILE_UNITS.has(name) ? name : undefined
  }
  if (second === 'testing') return 'testing'
  return RANK_OF.has(second) && !FILE_UNITS.has(second) ? second : undefined
}

function checkExternal(unit: string, reference: ModuleReference): string | undefined {
  if (reference.typeOnly) {
    return isSelf(reference.specifier) ? 'imports the package by its own name' : undefined
  }
  if (unit === 'errors') return `imports '${reference.specifier}': errors/ imports nothing at runtime`
  // A module of Node's; anything else would be a runtime dependency.
  if (reference.specifier.startsWith('node:')) return undefined
  // An optional peer, for its users alone: they have it.
  if (PEERS.get(unit)?.test(reference.specifier)) return undefined
  return `imports '${reference.specifier}' at runtime: only node: modules are there at runtime`
}

/** Imports of the package by its own name would go round the layers. */
function isSelf(specifier: string): boolean {
  return specifier === 'dodici' || specifier.startsWith('dodici/')
}

function checkInternal(unit: string, target: string, reference: ModuleReference): string | undefined {
  const targetUnit = unitOf(target)
  // A file in no layer is reported once, as such, and not by each of its importers.
  if (targetUnit === undefined) return undefined
  if (targetUnit === 'types') {
    return reference.typeOnly || unit === 'types' ? undefined : `imports ${target} without 'import type'`
  }
  if (unit === targetUnit) return undefined
  if (unit === 'types') return `imports ${target}: types/ knows nothing of src/`
  if (unit === 'testing') {
    return targetUnit === 'errors' || targetUnit === 'core'
      ? undefined
      : `imports ${target}: testing/ uses errors and core/, and nothing else`
  }
  // A command starts its server.
  if (targetUnit === 'testing')
    return unit === 'cli' ? undefined : `imports ${target}: nothing but cli/ uses testing/`

  const rank = RANK_OF.get(unit) ?? -1
  const targetRank = RANK_OF.get(targetUnit) ?? Number.POSITIVE_INFINITY
  if (targetRank < rank) return undefined
  return targetRank === rank
    ? `imports ${target}: ${unit} and ${targetUnit} share a layer and may not import each other`
    : `imports ${target}: ${unit} lies below ${targetUnit}`
}

/** All the ways a file can name a module, wherever they stand in it. */
function findReferences(source: ts.SourceFile): ModuleReference[] {
  const references: ModuleReference[] = []

  const add = (node: ts.Node, specifier: ts.Node | undefined, typeOnly: boolean): void => {
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1
    // A computed specifier can't be checked, so it is passed on as text that no rule allows.
    const isText = specifier !== undefined && ts.isStringLiteralLike(specifier)
    references.push({ specifier: isText ? specifier.text : '<computed>', typeOnly, line })
  }

  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      // `import { type A }` leaves an empty import behind under verbatimModuleSyntax, so it isn't a type import.
      add(node, node.moduleSpecifier, node.importClause?.isTypeOnly ?? false)
    } else if (ts.isExportDeclaration(node)) {
      if (node.moduleSpecifier) add(node, node.moduleSpecifier, node.isTypeOnly)
    } else if (ts.isImportEqualsDeclaration(node)) {
      if (ts.isExternalModuleReference(node.moduleReference)) {
        add(node, node.moduleReference.expression, node.isTypeOnly)
      }
    } else if (ts.isImportTypeNode(node)) {
      const { argument } = node
      add(node, ts.isLiteralTypeNode(argument) ? argument.literal : undefined, true)
    } else if (ts.isCallExpression(node) && isLoad(node.expression)) {
      add(node, node.arguments[0], false)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)

  return references
}

/** Whether an expression that is called is `import` or `require`. */
function isLoad(callee: ts.Expression): boolean {
  return callee.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(callee) && callee.text === 'require')
}

/** The statements of a file of types/ that would be left when its types are erased. */
function findRuntimeStatements(source: ts.SourceFile): string[] {
  return source.statements
    .filter((statement) => !isTypeStatement(statement, source.isDeclarationFile))
    .map((statement) => {
      const line = source.getLineAndCharacterOfPosition(statement.getStart(source)).line + 1
      const [start] = statement.getText(source).split('\n')
      return `${source.fileName}:${line}: '${start}' is no type, and types/ holds types alone`
    })
}

function isTypeStatement(statement: ts.Statement, isDeclarationFile: boolean): boolean {
  if (ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)) return true
  if (ts.isImportDeclaration(statement)) return statement.importClause?.isTypeOnly ?? false
  if (ts.isImportEqualsDeclaration(statement)) return statement.isTypeOnly
  if (ts.isExportDeclaration(statement)) {
    // `export {}` only says that the file is a module.
    return statement.isTypeOnly || (!statement.moduleSpecifier && isEmptyExport(statement))
  }
  // The whole of a .d.ts file is ambient.
  if (isDeclarationFile) return true
  return (
    ts.canHaveModifiers(statement) &&
    (ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.DeclareKeyword) ?? false)
  )
}

function isEmptyExport({ exportClause }: ts.ExportDeclaration): boolean {
  return exportClause !== undefined && ts.isNamedExports(exportClause) && exportClause.elements.length === 0
}

/** One cycle for each edge that closes one, each as the files on it with the first repeated at the end. */
function findCycles(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const cycles: string[][] = []
  const done = new Set<string>()
  const path: string[] = []

  const visit = (file: string): void => {
    const start = path.indexOf(file)
    if (start !== -1) {
      cycles.push([...path.slice(start), file])
      return
    }
    if (done.has(file)) return
    path.push(file)
    for (const target of graph.get(file) ?? []) visit(target)
    path.pop()
    done.add(file)
  }
  for (const file of graph.keys()) visit(file)

  return cycles
}
