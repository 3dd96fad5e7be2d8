/** Each link of the pages into the checkout leads to a file, and to a heading, that is there. */

import { describe, expect, it } from 'vitest'
import { readRepository } from '../testing-page/page.ts'
import { findAnchors, findLinks, isThere, LINK_PAGES } from './pages.ts'

const HERE = 'https://github.com/dodici/dodici/blob/main/'

describe('the links', () => {
  it.each(LINK_PAGES)('of %s lead to files and headings that exist', (page) => {
    const links = findLinks(readRepository(page))
    expect(links.filter((link) => !isThere(page, link))).toEqual([])
  })

  it('of README.md are relative: on the page of the package npm completes them', () => {
    const links = findLinks(readRepository('README.md'))
    expect(links.length).toBeGreaterThan(20)
    expect(links.filter((link) => link.startsWith('https://'))).toEqual([])
  })

  it('of docs/README.md lead to every page for users', () => {
    const links = findLinks(readRepository('docs/README.md')).map((link) => `docs/${link}`)
    const pages = LINK_PAGES.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md')
    expect(pages.filter((page) => !links.includes(page))).toEqual([])
  })
})

describe('the checker of links', () => {
  it('finds those that lead nowhere', () => {
    const broken = ['no.md', '#no', 'cli.md#no', '../../outside.md', `${HERE}no.md`, `${HERE}docs/cli.md#no`]
    expect(broken.filter((link) => isThere('docs/start.md', link))).toEqual([])
    const good = [
      'cli.md',
      '#a-request',
      'cli.md#files',
      '../README.md',
      `${HERE}docs/cli.md#files`,
      '../examples/grpc',
    ]
    expect(good.filter((link) => !isThere('docs/start.md', link))).toEqual([])
  })

  it('leaves other sites and code out', () => {
    const page = '[a](b.md#c) [d](https://example.com) ![e](../f.svg)\n```js\n[g](h)\n```\n'
    expect(findLinks(page)).toEqual(['b.md#c', '../f.svg'])
  })

  it('makes the anchors that GitHub makes', () => {
    expect(findAnchors('# A `b()` c\n## HTTP/1.1\n## [x](y.md), z\n## HTTP/1.1\n```\n# no\n```\n')).toEqual([
      'a-b-c',
      'http11',
      'x-z',
      'http11-1',
    ])
  })
})
