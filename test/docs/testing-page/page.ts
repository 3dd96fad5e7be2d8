/** What a page has in it, and what docs/testing.md has, for the tests that hold pages to the code. */

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))

export const readRepository = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

/** One block of code. */
export interface Snippet {
  readonly language: string
  /** What stands behind the language, such as `tls` or `needs: a proxy`. */
  readonly info: string
  readonly code: string
  /** The heading above it. */
  readonly heading: string
  /** The file that it quotes, by the comment ahead of it. */
  readonly file: string | null
  /** What it prints, by the block of text behind it. */
  readonly prints: string | null
  /** From 1: of its first line of code. */
  readonly line: number
}

const FENCE =
  /(?:<!-- (\S+) -->\n)?^```(\w+)(?: ([^\n]+))?\n([\s\S]*?)\n```$(?:\n\nIt prints:\n\n```text\n([\s\S]*?\n)```$)?/gm

/** The blocks of code of a page. */
export function findSnippets(page: string): Snippet[] {
  return [...page.matchAll(FENCE)].map((match) => {
    const [whole, file = null, language = '', info = '', code = '', prints = null] = match
    const before = page.slice(0, match.index + whole.indexOf('```'))
    const heading = [...before.matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? ''
    return { language, info, code, heading, file, prints, line: before.split('\n').length + 1 }
  })
}

/** The names in the first column of the table below a heading. */
export function findNames(page: string, heading: string): string[] {
  const [, section = ''] = page.split(`\n### ${heading}\n`)
  const [own = ''] = section.split('\n#')
  return [...own.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = '']) => name)
}

export const PAGE = readRepository('docs/testing.md')
export const SNIPPETS = findSnippets(PAGE)
/** Those that are whole, or need no more than a server and an agent. Quotes are tested as files. */
export const TYPESCRIPT = SNIPPETS.filter(({ language, file }) => language === 'ts' && file === null)
