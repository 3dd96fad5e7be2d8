import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readTree } from './layers.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

const PAGE = 'docs/architecture.md'

/** One page is what a reader sees at once, more or less. */
const MAX_PAGE_LINES = 220

/** What stands between backticks, outside of the picture. */
function findSpans(page: string): string[] {
  const text = page.replaceAll(/^```[\s\S]*?^```$/gm, '')
  return [...text.matchAll(/`([^`]+)`/g)].map(([, span]) => span as string)
}

/** Files and folders. Folders end with a slash. */
function findPaths(page: string): string[] {
  return findSpans(page).filter((span) => /^[\w.-]+(\/[\w.-]+)*(\/|\.(ts|md))$/.test(span))
}

/** Names of classes, members and functions: `Call.begin()` has two. */
function findNames(page: string): string[] {
  return findSpans(page)
    .filter((span) => /^#?[A-Za-z_]\w*(\.#?\w+)?(\(\))?$/.test(span) && !/\.(ts|md)$/.test(span))
    .flatMap((span) => span.replace('()', '').split('.'))
}

/** A path begins at the root or, more often, in src/. */
function isThere(path: string): boolean {
  return existsSync(`${root}${path}`) || existsSync(`${root}src/${path}`)
}

describe('the map of the house', () => {
  const page = read(PAGE)
  const paths = findPaths(page)

  it('names files, folders, and what is in them', () => {
    expect(paths.length).toBeGreaterThan(100)
    expect(findNames(page).length).toBeGreaterThan(100)
  })

  it('names paths that exist alone', () => {
    expect(paths.filter((path) => !isThere(path))).toEqual([])
  })

  it('uses names of the code alone', () => {
    const code = [...readTree(root, ['src', 'types', 'test/support']).values()].join('\n')
    const words = new Set(code.match(/#?\w+/g))
    expect(findNames(page).filter((name) => !words.has(name))).toEqual([])
  })

  it('links to pages that exist alone', () => {
    const links = [...page.matchAll(/\]\(([^)#]+)/g)].map(([, link]) => link as string)
    expect(links.filter((link) => !existsSync(`${root}docs/${link}`))).toEqual([])
  })

  it('has each folder of src/, and each file that lies in src/ itself', () => {
    const entries = readdirSync(`${root}src`, { recursive: true, withFileTypes: true })
    const expected = entries
      .filter((entry) => entry.isDirectory() || `${entry.parentPath}/` === `${root}src/`)
      .map((entry) => `${entry.parentPath}/${entry.name}`.slice(`${root}src/`.length))
      .map((path) => (path.endsWith('.ts') ? path : `${path}/`))
    expect(expected.filter((path) => !paths.includes(path))).toEqual([])
    expect(expected).toContain('session/stream/')
  })

  it('is one page', () => {
    expect(page.split('\n').length).toBeLessThanOrEqual(MAX_PAGE_LINES)
  })

  it.each(['README.md', 'CONTRIBUTING.md'])('is linked from %s', (path) => {
    expect(read(path)).toContain(`](${PAGE})`)
  })
})

describe('the checker of the map', () => {
  it('finds paths and names between backticks', () => {
    const page =
      'In `core/clock.ts` and `session/`: `Call.begin()`, `#tell`, `a sentence`.\n```\n`picture.ts`\n```\n'
    expect(findPaths(page)).toEqual(['core/clock.ts', 'session/'])
    expect(findNames(page)).toEqual(['Call', 'begin', '#tell'])
  })

  it('tells a path that exists from one that does not', () => {
    expect(isThere('core/clock.ts')).toBe(true)
    expect(isThere('test/unit/')).toBe(true)
    expect(isThere('core/watch.ts')).toBe(false)
  })
})

it('what tests share is in its index, and nothing else is', () => {
  const there = readdirSync(`${root}test/support`, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .sort()
  const groups = read('test/support/README.md').split(/^## `(\w+)\/`$/m)
  const named = groups.flatMap((rows, index) =>
    index % 2 === 1
      ? []
      : [...rows.matchAll(/^\| `([\w.-]+\.ts)` \|/gm)].map(([, file]) => `${groups[index - 1]}/${file}`),
  )
  expect(named.sort()).toEqual(there)
})
