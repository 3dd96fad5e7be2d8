/**
 * What an editor shows over the names of the built package, in a program that a user would write: for each name that an
 * entry exports, and for each member of it.
 */

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { USER_OPTIONS } from './user-options.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** It exists only in memory, in a folder from which packages are found. `dodici` is this package. */
const USER = join(root, 'examples', 'hover-user.ts')
const DIST = join(root, 'dist/')

export interface Hover {
  /** `ClientOptions.pingInterval`, by the interface or class that declares it. */
  readonly name: string
  readonly entry: string
  /** The documentation without its tags. */
  readonly text: string
  readonly tags: readonly { readonly name: string; readonly text: string }[]
  /** What `{@link …}` names and doesn't lead to. */
  readonly brokenLinks: readonly string[]
}

export interface MemberHover extends Hover {
  /** The interface, class or object that declares it. */
  readonly owner: string
  readonly isOptional: boolean
  readonly isNumeric: boolean
  /** The strings that its type names, such as `'node'` and `'wire'`. */
  readonly strings: readonly string[]
}

export interface Hovers {
  readonly exports: readonly Hover[]
  readonly members: readonly MemberHover[]
}

/** A place in the program, and what stands there. */
interface Place {
  readonly position: number
  readonly symbol: ts.Symbol
  readonly name: string
  readonly entry: string
}

const options: ts.CompilerOptions = {
  ...USER_OPTIONS,
  skipLibCheck: true,
  noEmit: true,
}

/** A program that grows: first its imports, from which the checker finds the names, then a use of each. */
class UserProgram {
  #text = ''
  #version = 0
  readonly #service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getCurrentDirectory: () => root,
    getScriptFileNames: () => [USER],
    getScriptVersion: (file) => (file === USER ? `${this.#version}` : '0'),
    getScriptSnapshot: (file) => {
      const text = file === USER ? this.#text : ts.sys.readFile(file)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (file) => file === USER || ts.sys.fileExists(file),
    readFile: (file) => (file === USER ? this.#text : ts.sys.readFile(file)),
    directoryExists: ts.sys.directoryExists,
  })

  /** @returns where the text begins */
  add(text: string): number {
    const start = this.#text.length
    this.#text += `${text}\n`
    this.#version++
    return start
  }

  compile(): { readonly checker: ts.TypeChecker; readonly source: ts.SourceFile } {
    const program = this.#service.getProgram()
    const source = program?.getSourceFile(USER)
    if (program === undefined || source === undefined) throw new Error('There is no program')
    return { checker: program.getTypeChecker(), source }
  }

  /** What the compiler says of it: a use that isn't one would show nothing. */
  errors(): string[] {
    return this.#service
      .getSemanticDiagnostics(USER)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  }

  hover({ name, entry, position }: Place): Hover {
    const info = this.#service.getQuickInfoAtPosition(USER, position)
    if (info === undefined) throw new Error(`An editor shows nothing over ${name}`)
    const tags = info.tags ?? []
    const parts: readonly ts.SymbolDisplayPart[] = [
      ...(info.documentation ?? []),
      ...tags.flatMap(({ text = [] }) => text),
    ]
    return {
      name,
      entry,
      text: ts.displayPartsToString(info.documentation),
      tags: tags.map((tag) => ({ name: tag.name, text: ts.displayPartsToString(tag.text) })),
      brokenLinks: parts
        .filter((part) => part.kind === 'linkText' || (part.kind === 'linkName' && !('target' in part)))
        .map((part) => part.text),
    }
  }
}

/** Declared by this package: not by Node, undici or connect-es. */
function isOurs({ declarations = [] }: ts.Symbol): boolean {
  return declarations.some((one) => one.getSourceFile().fileName.startsWith(DIST))
}

/** Whether a caller may use it: private and protected members are none, nor are those of `Symbol`s. */
function isPublic({ name, declarations = [] }: ts.Symbol): boolean {
  if (!/^[a-z_$][\w$]*$/i.test(name) || name === 'prototype' || name.startsWith('__')) return false
  return declarations.every((declaration) => {
    const flags = ts.getCombinedModifierFlags(declaration)
    const isInternal = ts.getJSDocTags(declaration).some(({ tagName }) => tagName.text === 'internal')
    return (flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) === 0 && !isInternal
  })
}

/** The name of the interface, class or object that declares a member. */
function toOwner({ declarations = [] }: ts.Symbol, fallback: string): string {
  let node: ts.Node | undefined = declarations[0]?.parent
  while (node !== undefined && !ts.isSourceFile(node)) {
    const name = ts.isVariableStatement(node) ? undefined : ts.getNameOfDeclaration(node as ts.Declaration)
    if (name !== undefined && ts.isIdentifier(name)) return name.text
    node = node.parent
  }
  return fallback
}

/** `<object, null>` for the type parameters that have no default: those with a constraint accept null. */
function toArguments({ declarations = [] }: ts.Symbol): string {
  const parameters = declarations.flatMap((one) =>
    ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one) || ts.isClassDeclaration(one)
      ? [...(one.typeParameters ?? [])]
      : [],
  )
  const needed = parameters.filter((one) => one.default === undefined)
  return needed.length === 0
    ? ''
    : `<${needed.map(({ constraint }) => (constraint === undefined ? 'object' : 'null')).join(', ')}>`
}

/** A class that callers make instances of. */
function isConstructible({ declarations = [] }: ts.Symbol): boolean {
  return declarations.some(
    (one) =>
      ts.isClassDeclaration(one) &&
      (ts.getCombinedModifierFlags(one) & ts.ModifierFlags.Abstract) === 0 &&
      one.members.some(
        (member) =>
          ts.isConstructorDeclaration(member) &&
          (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) === 0,
      ),
  )
}

/** A line of the program, which uses one name. */
interface Use {
  readonly line: string
  /** The place in that line that an editor's pointer is over: in the last of these letters. */
  readonly pointed: string
  readonly symbol: ts.Symbol
  readonly name: string
  readonly entry: string
}

/** Writes a use of every name that these entries export, and of their members: each once. */
class Uses {
  readonly exports: Use[] = []
  readonly members: Use[] = []
  readonly #checker: ts.TypeChecker
  readonly #source: ts.SourceFile
  readonly #seen = new Set<ts.Declaration>()

  constructor(checker: ts.TypeChecker, source: ts.SourceFile) {
    this.#checker = checker
    this.#source = source
  }

  /** @param path such as `entry0`, which the program imports */
  addAll(entry: string, path: string, module: ts.Symbol): void {
    for (const exported of this.#checker.getExportsOfModule(module)) {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0
      const symbol = isAlias ? this.#checker.getAliasedSymbol(exported) : exported
      if (!isOurs(symbol) || exported.name === 'default' || !this.#isNew(symbol)) continue
      this.#add(entry, `${path}.${exported.name}`, exported.name, symbol)
    }
  }

  #add(entry: string, path: string, name: string, symbol: ts.Symbol): void {
    const { exports, members } = this
    if ((symbol.flags & ts.SymbolFlags.Value) !== 0) {
      exports.push({ line: path, pointed: path, symbol, name, entry })
      this.#addMembers(entry, path, name, this.#checker.getTypeOfSymbolAtLocation(symbol, this.#source))
    }
    if (isTyped(symbol)) {
      const [type, value] = [`Type${exports.length}`, `value${exports.length}`]
      const line = `type ${type} = ${path}${toArguments(symbol)}; declare const ${value}: ${type}`
      exports.push({ line, pointed: `type ${type} = ${path}`, symbol, name, entry })
      this.#addMembers(entry, value, name, this.#checker.getDeclaredTypeOfSymbol(symbol))
    }
    if (!isConstructible(symbol)) return
    const [signature] = this.#checker.getTypeOfSymbolAtLocation(symbol, this.#source).getConstructSignatures()
    const needed = signature?.parameters.filter(({ valueDeclaration }) => {
      return (
        valueDeclaration !== undefined && ts.isParameter(valueDeclaration) && !valueDeclaration.questionToken
      )
    })
    const pointed = `new ${path}`
    const line = `${pointed}(${needed?.map(() => 'null as never').join(', ')})`
    members.push({ line, pointed, symbol, name: `${name}.constructor`, entry })
  }

  #addMembers(entry: string, path: string, owner: string, type: ts.Type): void {
    for (const member of type.getProperties()) {
      if (!isOurs(member) || !isPublic(member) || !this.#isNew(member)) continue
      const name = `${toOwner(member, owner)}.${member.name}`
      const line = `${path}.${member.name}`
      this.members.push({ line, pointed: line, symbol: member, name, entry })
    }
  }

  #isNew({ declarations = [] }: ts.Symbol): boolean {
    const others = declarations.filter((declaration) => !this.#seen.has(declaration))
    for (const declaration of others) this.#seen.add(declaration)
    return others.length > 0
  }
}

/** The hovers of every name that these entries export, and of their members: each once. */
export function readHovers(entries: readonly string[]): Hovers {
  const user = new UserProgram()
  user.add(entries.map((entry, index) => `import * as entry${index} from '${entry}'`).join('\n'))
  const { checker, source } = user.compile()
  const uses = new Uses(checker, source)
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue
    const entry = statement.moduleSpecifier.text
    const module = checker.getSymbolAtLocation(statement.moduleSpecifier)
    if (module === undefined) throw new Error(`There is no ${entry}: is dist/ built?`)
    uses.addAll(entry, `entry${entries.indexOf(entry)}`, module)
  }
  const toPlace = ({ line, pointed, symbol, name, entry }: Use): Place => {
    const start = user.add(`;${line}`) + 1
    return { position: start + pointed.length - 1, symbol, name, entry }
  }
  const exported = uses.exports.map(toPlace)
  const members = uses.members.map(toPlace)
  const errors = user.errors()
  if (errors.length > 0) throw new Error(`The program of the hovers has errors:\n${errors.join('\n')}`)
  return {
    exports: exported.map((place) => user.hover(place)),
    members: members.map((place) => ({
      ...user.hover(place),
      owner: place.name.slice(0, place.name.indexOf('.')),
      ...toKind(place.symbol, checker),
    })),
  }
}

function isTyped({ flags }: ts.Symbol): boolean {
  return (flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Class)) !== 0
}

function toKind(
  symbol: ts.Symbol,
  checker: ts.TypeChecker,
): Pick<MemberHover, 'isOptional' | 'isNumeric' | 'strings'> {
  const type = checker.getTypeOfSymbol(symbol)
  const parts = type.isUnion() ? type.types : [type]
  return {
    isOptional: (symbol.flags & ts.SymbolFlags.Optional) !== 0,
    isNumeric: parts.some(({ flags }) => (flags & ts.TypeFlags.NumberLike) !== 0),
    strings: parts.flatMap((part) => (part.isStringLiteral() ? [part.value] : [])),
  }
}
