/** What docs/threat-model.md says, read back: its tables, and what they are held to. */

import { ATTACKS } from '../support/peers/attacks.ts'

/** A table of a page: each row's cells by the titles of their columns. */
type Row = Readonly<Record<string, string>>

/** The rows of the one table that begins with these columns. @throws Error when there is none */
export function findRows(page: string, ...titles: readonly string[]): Row[] {
  const lines = page.split('\n')
  const head = lines.findIndex((line) => line.startsWith(`| ${titles.join(' | ')} |`))
  if (head === -1) throw new Error(`There is no table with the columns ${titles.join(', ')}`)
  const names = toCells(lines[head] ?? '')
  // Behind the head comes the line of dashes.
  const end = lines.findIndex((line, index) => index > head && !line.startsWith('|'))
  return lines
    .slice(head + 2, end === -1 ? lines.length : end)
    .map((line) => Object.fromEntries(toCells(line).map((cell, index) => [names[index] ?? '', cell])))
}

function toCells(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}

/** What stands between backticks. */
function toSpans(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, span]) => span ?? '')
}

/** `65_536`, `2 ** 23`. */
function toFigure(text: string): number {
  const [base = '', exponent = '1'] = text.split(' ** ')
  return Number(base.replaceAll('_', '')) ** Number(exponent)
}

/**
 * Where the table of fixed limits says something else than the sources.
 *
 * @param read the text of a file; null when there is none
 */
export function checkConstants(page: string, read: (path: string) => string | null): string[] {
  return findRows(page, 'constant', 'figure').flatMap((row) => {
    const [name = ''] = toSpans(row.constant)
    const [figure = ''] = toSpans(row.figure)
    const [file = ''] = toSpans(row.file)
    const code = read(file)
    if (code === null) return [`${name}: there is no ${file}`]
    const value = new RegExp(`^(?:export )?const ${name} = ([\\d_]+(?: \\*\\* \\d+)?)$`, 'm').exec(code)?.[1]
    if (value === undefined) return [`${name}: ${file} has no such constant`]
    return toFigure(value) === toFigure(figure) ? [] : [`${name} is ${figure}, and ${value} in ${file}`]
  })
}

/** Rows of the table of attacks without an existing test, and with figures that nothing measures; attacks without a row. */
export function checkAttacks(page: string, exists: (path: string) => boolean): string[] {
  const measured = new Set(ATTACKS.map(({ name }) => name))
  const told = new Set<string>()
  const problems: string[] = []
  for (const row of findRows(page, 'attack', 'engine `wire`', 'engine `node`')) {
    const tests = toSpans(row.tests)
    if (tests.length === 0) problems.push(`${row.attack}: no test`)
    for (const path of tests) {
      if (!/^test\/.*\.test\.ts$/.test(path) || !exists(path)) problems.push(`${row.attack}: no test ${path}`)
    }
    for (const name of (row.figures ?? '').split(' · ')) {
      if (name !== '' && !measured.has(name)) problems.push(`${row.attack}: no figures of ${name}`)
      told.add(name)
    }
  }
  return [...problems, ...[...measured].filter((name) => !told.has(name)).map((name) => `${name}: no row`)]
}
