/** The TypeScript of README.md and docs/ that runs compiles as well. */

import { describe, expect, it } from 'vitest'
import { SNIPPET_PAGES, toProgram } from '../../docs/pages/pages.ts'
import { findSnippets, readRepository } from '../../docs/testing-page/page.ts'
import { compile, toPath } from './snippet-compiler.ts'

const FILES = SNIPPET_PAGES.flatMap((page) =>
  findSnippets(readRepository(page))
    .filter(({ language, info }) => language === 'ts' && info.startsWith('run'))
    .map((snippet) => ({
      path: toPath(`${page.replaceAll('/', '-')}-${snippet.line}`),
      text: toProgram(snippet),
    })),
)

describe('the TypeScript snippets of the pages', () => {
  it('compile, and the compiler would object to a wrong one', () => {
    const right = {
      path: toPath('right'),
      text: toProgram({ info: 'run client', code: "client.request({ path: '/', method: 'GET' })" }),
    }
    const wrong = {
      path: toPath('wrong'),
      text: toProgram({ info: 'run client', code: 'client.request({ path: 1 })' }),
    }
    const said = compile([...FILES, right, wrong])
    expect(said.length).toBeGreaterThan(0)
    expect(said.filter((line) => !line.startsWith('examples/snippet-wrong.ts: '))).toEqual([])
  })
})
