/** The pages for users, and what their links and snippets lead to. */

import { existsSync, readdirSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Snippet } from '../testing-page/page.ts'
import { readRepository } from '../testing-page/page.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

const DOCS = readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
  // docs/site/ has packages of others, and copies of these pages.
  .filter((file) => file.endsWith('.md') && !/^site[\\/]/.test(file))
  .map((file) => `docs/${file.replaceAll('\\', '/')}`)
  .sort()

/** Those whose snippets are tested here. docs/testing.md has tests of its own. */
export const SNIPPET_PAGES = ['README.md', ...DOCS].filter((page) => page !== 'docs/testing.md')

/** Those whose links are tested. */
export const LINK_PAGES = ['README.md', ...DOCS, 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']

/** What stands ahead of a part, by the word behind `run`. */
export const BEGINNINGS: Readonly<Record<string, string>> = {
  client: `import { Client } from 'dodici'
const client = new Client('http://localhost:12080')
`,
  agent: `import { Agent } from 'dodici'
const agent = new Agent({ h2c: true })
`,
  ca: `import { readFileSync as readCa } from 'node:fs'
const ca = readCa('ca.pem')
`,
}

const MARK = new RegExp(`^(run( (${Object.keys(BEGINNINGS).join('|')}))?|needs: \\S.*)$`)

/** Says whether a snippet is run, or what it needs. */
export const isMark = (info: string): boolean => MARK.test(info)

/** The whole module of a snippet that runs. */
export const toProgram = ({ info, code }: Pick<Snippet, 'info' | 'code'>): string =>
  `${BEGINNINGS[info.slice('run '.length)] ?? ''}${code}\n`

/** The text of a page and its code, without the marks: in one line, without backticks and slashes. */
export const withoutMarks = (page: string): string =>
  page.replaceAll(/^```.*$/gm, '').replaceAll(/[\s`/]+/g, ' ')

const withoutCode = (page: string): string => page.replaceAll(/^```[\s\S]*?^```$/gm, '')

/** The anchors of a page's headings, as GitHub makes them. */
export function findAnchors(page: string): string[] {
  const seen = new Map<string, number>()
  return [...withoutCode(page).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => {
    const anchor = text
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    const times = seen.get(anchor) ?? 0
    seen.set(anchor, times + 1)
    return times === 0 ? anchor : `${anchor}-${times}`
  })
}

const OURS =
  /^https:\/\/(?:github\.com\/dodici\/dodici\/blob\/main|raw\.githubusercontent\.com\/dodici\/dodici\/main)\//

/** The links of a page that lead into the checkout, as they stand there. */
export function findLinks(text: string): string[] {
  const links = [...withoutCode(text).matchAll(/\]\((?:<([^>]+)>|([^)\s]+))[^)]*\)/g)]
  return links
    .map(([, quoted, plain]) => quoted ?? plain ?? '')
    .filter((link) => OURS.test(link) || !/^[a-z]+:/.test(link))
}

/** Whether a link of a page leads to a file, and a heading, of the checkout. */
export function isThere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const isOurs = OURS.test(link)
  const target = isOurs ? path.replace(OURS, '') : posix.join(posix.dirname(page), decodeURI(path))
  const file = path === '' ? page : target
  if (file.startsWith('..') || !existsSync(`${root}${file}`)) return false
  return anchor === undefined || (file.endsWith('.md') && findAnchors(readRepository(file)).includes(anchor))
}
