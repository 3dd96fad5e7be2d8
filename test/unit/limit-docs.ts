import ts from 'typescript'
import type { LimitRow } from '../../src/options/limits.ts'

/** The table, or a part of it. */
export type LimitTable = Readonly<Record<string, LimitRow>>

/** Milliseconds. */
const MINUTE = 60_000

/** How the docs write a number: `60_000`. Null for none of ours. */
function toDocumented({ default: value, max }: LimitRow): string {
  return value >= max ? 'null' : value.toLocaleString('en').replaceAll(',', '_')
}

/** `60_000`, `60,000`, `2^31 - 1`. */
function toNumber(text: string): number {
  const [base = '', power] = text.replaceAll(/[,_]/g, '').split('^')
  if (power === undefined) return Number(base)
  const [exponent, less = '0'] = power.split(' - ')
  return Number(base) ** Number(exponent) - Number(less)
}

/**
 * Where the docs of an interface's fields don't say what the table says, or leave it out.
 *
 * @param text a file of types/
 */
export function checkTypeDocs(text: string, interfaceName: string, table: LimitTable): string[] {
  const docs = toFieldDocs(text, interfaceName)
  return Object.entries(table).flatMap(([name, row]) => {
    const doc = docs.get(name)
    if (doc === undefined) return [`${interfaceName}.${name}: there is no such field, or it has no docs`]
    return checkFieldDoc(doc, row).map((problem) => `${interfaceName}.${name}: ${problem}`)
  })
}

function checkFieldDoc(doc: string, row: LimitRow): string[] {
  const problems: string[] = []
  const expect = (what: string, found: unknown, expected: unknown): void => {
    if (found !== expected) problems.push(`${what} is ${String(found)}, and ${String(expected)} in the table`)
  }
  expect('@default', /@default ([^\s;]+)/.exec(doc)?.[1], toDocumented(row))
  if (row.off !== undefined) expect('the value for no limit', doc.includes(`\`${row.off}\`:`), true)
  const most = / to ([\d_^]+(?: - 1)?)[,.]/.exec(doc)?.[1] ?? /At most ([\d_]+)/.exec(doc)?.[1]
  const least = / from ([\d_]+)/.exec(doc)?.[1]
  if (most !== undefined) expect('the largest value', toNumber(most), row.max)
  // What can't be turned off has its range in the docs, unless that is the protocol's own.
  else if (row.off === undefined) expect('the largest value', row.default, row.max)
  if (least !== undefined) expect('the smallest value', toNumber(least), row.min)
  return problems
}

/** The docs of each field of an interface, with line breaks and stars taken out. */
function toFieldDocs(text: string, interfaceName: string): Map<string, string> {
  const source = ts.createSourceFile('types.ts', text, ts.ScriptTarget.Latest, true)
  const docs = new Map<string, string>()
  for (const statement of source.statements) {
    if (!ts.isInterfaceDeclaration(statement) || statement.name.text !== interfaceName) continue
    for (const member of statement.members) {
      const [range] = ts.getLeadingCommentRanges(text, member.pos) ?? []
      if (range === undefined || member.name === undefined) continue
      const comment = text.slice(range.pos, range.end)
      docs.set(member.name.getText(source), comment.replaceAll(/\s*\n\s*\*?\s*/g, ' '))
    }
  }
  return docs
}

/** One row of one of the docs' tables that has a column `default`. */
interface DocsRow {
  readonly name: string
  readonly line: number
  readonly default: string
  /** Null where the table has no column `error`. */
  readonly error: string | null
}

export function toDocsRows(text: string): DocsRow[] {
  const rows: DocsRow[] = []
  let titles: readonly string[] = []
  for (const [index, line] of text.split('\n').entries()) {
    const cells = line.startsWith('|') ? line.split('|').map((cell) => cell.trim()) : []
    if (cells.length === 0) titles = []
    else if (titles.length === 0) titles = cells
    const name = /^`(\w+)`/.exec(cells[1] ?? '')?.[1]
    const value = cells[titles.indexOf('default')]
    if (name === undefined || value === undefined || titles === cells) continue
    const errorAt = titles.indexOf('error')
    rows.push({
      name,
      line: index + 1,
      default: value,
      error: errorAt === -1 ? null : (cells[errorAt] ?? ''),
    })
  }
  return rows
}

/** Where a page of the docs says something else of a limit than the table, each as `line N: what`. */
export function checkDocs(text: string, table: LimitTable): string[] {
  return [...checkDocsTables(text, table), ...checkProse(text, table)]
}

/** The names of the limits that a page has in tables: those with errors, and those without. */
export function findDocumented(text: string): { withError: string[]; withoutError: string[] } {
  const rows = toDocsRows(text)
  return {
    withError: rows.filter(({ error }) => error !== null).map(({ name }) => name),
    withoutError: rows.filter(({ error }) => error === null).map(({ name }) => name),
  }
}

function checkDocsTables(text: string, table: LimitTable): string[] {
  const problems: string[] = []
  for (const { name, line, default: value, error } of toDocsRows(text)) {
    const row = table[name]
    if (row === undefined) continue
    const documented = toDocumented(row)
    // A limit that isn't ours may be called so: "the peer's".
    const isNone = documented === 'null' && !value.includes('`')
    if (!isNone && /^`([^`]+)`/.exec(value)?.[1] !== documented) {
      problems.push(`line ${line}: the default of ${name} is ${value}, and ${documented} in the table`)
    }
    const expected = toErrorCell(row)
    if (error !== null && error !== expected) {
      problems.push(`line ${line}: the error of ${name} is ${error}, and ${expected} in the table`)
    }
  }
  return problems
}

function toErrorCell({ error }: LimitRow): string {
  return error === null ? '' : `\`${error.name}\`, \`${String(Reflect.get(error.prototype, 'code'))}\``
}

/** `` `name` (60,000) ``, `` `name` (5 minutes) `` and `` `name` defaults to 4 ``. */
function checkProse(text: string, table: LimitTable): string[] {
  const problems: string[] = []
  for (const pattern of [
    /`(\w+)`[^`.()]{0,20}\((\d[\d,_]*)( minutes)?/g,
    /`(\w+)` defaults to (\d[\d,_]*)( minutes)?/g,
  ]) {
    for (const { 1: name = '', 2: figure = '', 3: unit, index } of text.matchAll(pattern)) {
      const row = table[name]
      const value = toNumber(figure) * (unit === undefined ? 1 : MINUTE)
      if (row === undefined || value === row.default) continue
      const line = text.slice(0, index).split('\n').length
      problems.push(`line ${line}: the default of ${name} is ${value}, and ${row.default} in the table`)
    }
  }
  return problems
}
