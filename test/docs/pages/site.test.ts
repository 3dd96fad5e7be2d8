/** How the pages become those of the site (docs/site/). `test/docs/site/` looks at what is built of them. */

import { describe, expect, it } from 'vitest'
import { loadModule } from '../../support/clients/plain-module.ts'
import { readRepository } from '../testing-page/page.ts'
import { LINK_PAGES } from './pages.ts'

interface Groups {
  readonly LIST: string
  toGroups(
    list: string,
    groups?: Readonly<Record<string, readonly string[]>>,
  ): { text: string; pages: string[] }[]
}

interface Guides {
  toSitePath(file: string): string | null
  toSiteLink(page: string, link: string): string
  toSiteMarkdown(page: string, text: string): string
  toScheme(svg: string, scheme: 'light' | 'dark'): string
}

interface Home {
  toHome(readme: string, version: string): string
}

const { LIST, toGroups } = await loadModule<Groups>('docs/site/build/groups.mjs')
const { toSitePath, toSiteLink, toSiteMarkdown, toScheme } = await loadModule<Guides>(
  'docs/site/build/guides.mjs',
)
const { toHome } = await loadModule<Home>('docs/site/build/home.mjs')

describe('the sidebar of the site', () => {
  it('has every page, each in one group', () => {
    const pages = toGroups(readRepository(LIST)).flatMap((group) => group.pages)
    expect(pages.length).toBeGreaterThan(20)
    expect(new Set(pages).size).toBe(pages.length)
    const others = ['README.md', 'CHANGELOG.md', LIST]
    expect(LINK_PAGES.filter((page) => !pages.includes(page) && !others.includes(page))).toEqual([])
  })

  it('is in the order of docs/README.md', () => {
    const list = '[c](c.md) [a](a.md) [r](../R.md)'
    expect(toGroups(list, { X: ['docs/a.md', 'docs/c.md'], Y: ['R.md'] })).toEqual([
      { text: 'X', pages: ['docs/c.md', 'docs/a.md'] },
      { text: 'Y', pages: ['R.md'] },
    ])
  })

  it.each([
    ['in no group', { X: ['docs/a.md'] }, 'docs/b.md is in no group'],
    ['in two groups', { X: ['docs/a.md', 'docs/b.md'], Y: ['docs/a.md'] }, 'docs/a.md is in two groups'],
    ['that is nowhere', { X: ['docs/a.md', 'docs/b.md', 'docs/c.md'] }, "docs/c.md isn't on docs/README.md"],
  ])('refuses a page %s', (_, groups, message) => {
    expect(() => toGroups('[a](a.md) [b](b.md)', groups)).toThrow(message)
  })
})

describe('a page of the site', () => {
  it.each([
    ['docs/start.md', 'cli.md#files', '/cli.md#files'],
    ['docs/start.md', '#a-request', '#a-request'],
    ['docs/start.md', '../SECURITY.md#what-we-promise', '/security-policy.md#what-we-promise'],
    ['docs/start.md', '../README.md', '/index.md'],
    ['docs/internals/undici.md', '../differences.md', '/differences.md'],
    ['docs/grpc.md', '../examples/grpc', 'https://github.com/dodici/dodici/tree/main/examples/grpc'],
    ['docs/fetch.md', '../bench/NOTES.md', 'https://github.com/dodici/dodici/blob/main/bench/NOTES.md'],
    ['README.md', 'docs/start.md#tls', '/start.md#tls'],
    [
      'README.md',
      'https://github.com/dodici/dodici/blob/main/LICENSE',
      'https://github.com/dodici/dodici/blob/main/LICENSE',
    ],
    ['docs/start.md', 'https://undici.nodejs.org', 'https://undici.nodejs.org'],
  ])('of %s links %s to %s', (page, link, target) => {
    expect(toSiteLink(page, link)).toBe(target)
  })

  it('has the links changed, the marks of code taken off, and the code as it was', () => {
    const text = 'A [b](c.md).\n\n```js run client\n// [d](e.md)\n```\n\n```\nf\n```\n'
    const changed = 'A [b](/c.md).\n\n```js\n// [d](e.md)\n```\n\n```text\nf\n```\n'
    expect(toSiteMarkdown('docs/x.md', text)).toBe(changed)
  })

  it('has a chart once for each colour scheme', () => {
    const text = toSiteMarkdown('docs/performance.md', '![CPU](../bench/recorded/all-cpu.svg)\n')
    expect(text).toContain('![CPU](/charts/all-cpu-light.svg){.light-only}')
    expect(text).toContain('![CPU](/charts/all-cpu-dark.svg){.dark-only}')
    const svg = readRepository('bench/recorded/all-cpu.svg')
    expect(toScheme(svg, 'light')).not.toContain('#0d1117')
    expect(toScheme(svg, 'dark')).toContain('#0d1117')
    expect(toScheme(svg, 'dark')).not.toContain('prefers-color-scheme')
  })

  it('is one for each page of the repository', () => {
    expect(['docs/internals/undici.md', 'examples/README.md', 'bench/NOTES.md'].map(toSitePath)).toEqual([
      'internals/undici.md',
      'examples.md',
      null,
    ])
  })
})

describe('the home page of the site', () => {
  const readme = readRepository('README.md')
  const home = toHome(readme, '1.2.3')

  it('has the sentence, the five points and the first snippet of README.md', () => {
    expect(home).toMatch(/<p class="front-sentence">Dodici is an HTTP\/2-first client .*\.<\/p>/)
    expect(home).toContain('Version 1.2.3')
    const points = home.match(/<p class="point">.*<\/p>/g) ?? []
    const targets = points.map((point) => `docs${/href="([^"#]+)/.exec(point)?.[1]}.md`)
    expect(targets).toHaveLength(5)
    expect(LINK_PAGES).toEqual(expect.arrayContaining(targets))
    // README.md says the same.
    const figures = points.flatMap((point) => point.replaceAll(/<[^>]*>/g, '').match(/\d[\d.]*\d|\d/g) ?? [])
    expect(figures.length).toBeGreaterThan(3)
    expect(figures.filter((figure) => !readme.includes(figure))).toEqual([])
    expect(home).toContain('npm install ')
    expect(home).toContain("const client = new Client('http://localhost:12080')")
  })

  it.each([
    ['a point', /^- \*\*Retries only.*\n/m, '4 points'],
    ['the figure', /^Over TLS, .*$/m, 'lacks a figure'],
    ['the chart', /^!\[CPU.*$/m, 'lacks a chart'],
    ['the first snippet', /^```js run$/m, 'lacks a first snippet'],
    ['how to install it', /^## Install$/m, "no section 'Install'"],
  ])('is refused if README.md has lost %s', (_, part, message) => {
    expect(() => toHome(readme.replace(part, ''), '1.2.3')).toThrow(message)
  })
})
