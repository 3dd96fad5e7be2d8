/** A program of the system is started with the PATH in which it was looked for. */

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { PROGRAMS } from '../support/servers/programs.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const NAMES = [...Object.keys(PROGRAMS), 'h2load', 'haproxy', 'h2o', 'caddy']

/** What a source says that starts a program. */
const STARTS = /\b(spawn|execFile)(Sync)?\b/

/** The calls in a source that start one of these programs by its name, and give it another environment. */
function findCalls(source: ts.SourceFile): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && STARTS.test(node.expression.getText(source))) {
      const [program] = node.arguments
      const isProgram = program !== undefined && ts.isStringLiteral(program) && NAMES.includes(program.text)
      if (isProgram && !/\benv: (PROGRAM_ENV\b|\{ \.\.\.PROGRAM_ENV\b)/.test(node.getText(source))) {
        found.push(node.getText(source))
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

const parse = (name: string, text: string): ts.SourceFile =>
  ts.createSourceFile(name, text, ts.ScriptTarget.Latest)

it.each(['test', 'scripts', 'bench'])('%s/ starts each program with PROGRAM_ENV', (folder) => {
  const files = readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
  const sources = files.filter(
    (file) => /\.(ts|mjs)$/.test(file) && file !== 'unit/programs.test.ts' && !file.includes('node_modules/'),
  )
  expect(sources.length).toBeGreaterThan(10)
  const found = sources.flatMap((file) => {
    const text = readFileSync(`${root}${folder}/${file}`, 'utf8')
    return STARTS.test(text) ? findCalls(parse(file, text)).map((call) => `${file}: ${call}`) : []
  })
  expect(found).toEqual([])
})

it('a call without PROGRAM_ENV is found', () => {
  const calls = ["spawn('nghttpd', args)", "promisify(execFile)('curl', [], { env })"]
  const right = ["spawn('nghttpd', [], { env: PROGRAM_ENV })", "spawnSync('git', [])"]
  expect(findCalls(parse('a.ts', [...calls, ...right].join('\n')))).toEqual(calls)
})
