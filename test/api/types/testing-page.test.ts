/** The snippets of docs/testing.md compile, as a user of the built package would compile them. */

import { describe, expect, it } from 'vitest'
import { SNIPPETS } from '../../docs/testing-page/page.ts'
import type { SnippetFile } from './snippet-compiler.ts'
import { compile, toPath } from './snippet-compiler.ts'

/** What a snippet has around it. In a block, so that it may declare names of its own. */
const AROUND = `
import type { Agent as AroundAgent } from 'dodici'
import type { FaultServer as AroundServer } from 'dodici/testing'
declare const server: AroundServer
declare const agent: AroundAgent
`

/** Imports stay outside of the block. */
function toFile(code: string, line: number): SnippetFile {
  const lines = code.split('\n')
  const isImport = (text: string): boolean => text.startsWith('import ')
  const imports = lines.filter(isImport).join('\n')
  const rest = lines.filter((text) => !isImport(text)).join('\n')
  return { path: toPath(`at-line-${line}`), text: `${imports}${AROUND}{\n${rest}\n}\nvoid [server, agent]\n` }
}

describe('the snippets of docs/testing.md', () => {
  const snippets = SNIPPETS.filter(({ language }) => language === 'ts')

  it('compile', () => {
    expect(snippets.length).toBeGreaterThan(20)
    expect(compile(snippets.map(({ code, line }) => toFile(code, line)))).toEqual([])
  })

  it('when one is wrong, the compiler objects to that one', () => {
    const right = toFile("server.onRequest('/', (stream) => stream.refuse())", 1)
    const wrong = toFile("server.onRequest('/', (stream) => stream.headerBomb('small'))", 2)
    expect(compile([right, wrong])).toEqual([
      expect.stringMatching(/^examples\/snippet-at-line-2\.ts: .*'"small"'/),
    ])
  })
})
