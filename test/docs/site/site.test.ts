/** The site in Chromium. `npm run site` builds it; `npm run site:check` runs this, which is no part of `npm cit`. */

import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Browser } from '../../support/clients/chromium.ts'
import {
  lacksChromium,
  prefer,
  resize,
  startChromium,
  takeComplaints,
} from '../../support/clients/chromium.ts'
import { isFull } from '../../support/clocks/sample.ts'
import type { Page, Site } from './built.ts'
import { findBroken, lacksSite, readPages, readSearchIndex, serveSite } from './built.ts'

/** As a script for the page: functions, and no module. */
const inspection = (await readFile(new URL('inspect.mjs', import.meta.url), 'utf8')).replace(
  'export function',
  'function',
)

const { version }: { version: string } = JSON.parse(
  await readFile(new URL('../../../package.json', import.meta.url), 'utf8'),
)

/** The most that the index of the search may have, compressed. Bytes. */
const MAX_INDEX = 300_000

/** The reference has a page for each symbol, all of the same make. These are looked at in the browser. */
const REFERENCE = [
  '/reference/',
  '/reference/undici',
  '/reference/dodici/Client',
  '/reference/dodici/ClientOptions',
  '/reference/dodici/errors',
  '/reference/dodici/fetch',
  '/reference/dodici/HeadersIn',
  '/reference/testing/FaultServer',
  '/reference/testing/presets',
]

const isReference = ({ path }: Page): boolean => path.startsWith('/reference')

const isLacking = lacksSite()
const pages: ReadonlyMap<string, Page> = isLacking ? new Map() : readPages()
const guides = [...pages.values()].filter((page) => !isReference(page)).map(({ path }) => path)

describe.skipIf(isLacking)('the site', () => {
  it('has the guides, and a page for each symbol', () => {
    const paths = [...pages.keys()]
    expect(paths).toEqual(expect.arrayContaining(['/', '/start', '/security-policy', ...REFERENCE]))
    expect(guides.length).toBeGreaterThan(25)
    expect([...pages.values()].filter(isReference).length).toBeGreaterThan(100)
  })

  it('has no link that leads nowhere', () => {
    const broken = [...pages.values()].flatMap((page) =>
      findBroken(page, pages).map((link) => `${page.path}: ${link}`),
    )
    expect(broken).toEqual([])
    const links = ['/no', '/start#no', '#no', 'https://github.com/dodici/dodici/blob/main/no.md']
    const wrong: Page = { path: '/start', html: '', ids: new Set(), links }
    expect(findBroken(wrong, pages)).toEqual(links)
  })

  it('has code of each language of the guides highlighted, and no marks behind it', () => {
    const plain = [...pages.values()].flatMap(({ path, html }) =>
      [...html.matchAll(/<div class="language-([^ "]*)/g)].map(([, language]) => `${path}: ${language}`),
    )
    const known = /: (js|ts|mjs|cjs|sh|bash|json|text|txt|html|yaml|diff|proto|go|nginx|http|console)$/
    expect(plain.filter((line) => !known.test(line))).toEqual([])
  })

  it('has an index for its search that is small enough to download', () => {
    expect(gzipSync(readSearchIndex(), { level: 9 }).length).toBeLessThanOrEqual(MAX_INDEX)
  })

  describe.skipIf(lacksChromium)('in a browser', () => {
    let site: Site
    let browser: Browser

    beforeAll(async () => {
      site = await serveSite()
      browser = await startChromium()
      // Whatever a page asks of another host is refused, and a failure of the test.
      await browser.send('Network.setBlockedURLs', { urls: ['https://*'] })
    })

    afterAll(async () => {
      await browser?.close()
      await site?.close()
    })

    const evaluate = <T>(expression: string): Promise<T> => browser.evaluate<T>(expression)

    /** Opens a page, and settles once its scripts run it. */
    async function open(path: string): Promise<void> {
      await browser.open(`${site.origin}${path}`)
      await expect.poll(() => evaluate(`document.querySelector('#app').__vue_app__ !== undefined`)).toBe(true)
    }

    /** What the browser didn't like, and what was asked of other hosts. */
    const complaints = (): string[] =>
      takeComplaints(browser, (url) => url.startsWith(`${site.origin}/`) || url.startsWith('data:'))

    const inspect = (): Promise<string[]> => evaluate<string[]>(`(() => {${inspection}\nreturn inspect()})()`)

    /**
     * What is wrong with a page: as wide as on a desktop and on a telephone, in the light and in the dark. Each scheme at each width is for the night:
     * colours don't depend on the width, and widths not on the colours.
     */
    async function look(path: string): Promise<string[]> {
      const faults: string[] = []
      await prefer(browser, 'light')
      await resize(browser, 1280)
      await open(path)
      for (const scheme of ['light', 'dark'] as const) {
        await prefer(browser, scheme)
        await expect
          .poll(() => evaluate(`document.documentElement.classList.contains('dark')`))
          .toBe(scheme === 'dark')
        for (const width of isFull ? [1280, 390, 360] : scheme === 'light' ? [1280, 360] : [390]) {
          await resize(browser, width)
          faults.push(...(await inspect()).map((fault) => `${path}, ${scheme}, ${width}: ${fault}`))
        }
      }
      return [...faults, ...complaints().map((complaint) => `${path}: ${complaint}`)]
    }

    it.each([
      ...guides,
      ...REFERENCE,
    ])('shows %s without an error, with enough contrast, and no wider than the window', async (path) => {
      expect(await look(path)).toEqual([])
    })

    it('notices text that is too pale, a page that is too wide, an error, and a request to another host', async () => {
      await prefer(browser, 'light')
      await resize(browser, 360)
      await open('/start')
      expect([...(await inspect()), ...complaints()]).toEqual([])
      await evaluate(`(document.querySelector('main h1').style.color = '#aaa')`)
      await evaluate(`(document.querySelector('main h1').style.width = '400px')`)
      expect(await inspect()).toHaveLength(2)
      await evaluate(`(console.error('no'), null)`)
      expect(complaints().join()).toContain('"value":"no"')
      await evaluate(`fetch('https://example.invalid/').catch(() => null)`)
      expect(complaints().join()).toContain('https://example.invalid/')
    })

    it.each([
      'light',
      'dark',
    ] as const)('shows the chart of the %s scheme on its home page', async (scheme) => {
      await prefer(browser, scheme)
      await resize(browser, 1280)
      await open('/')
      const images = `[...document.querySelectorAll('.chart img')].filter((image) => image.offsetWidth > 0)`
      await evaluate(`${images}.map((image) => image.scrollIntoView())`)
      await expect.poll(() => evaluate(`${images}.map((image) => image.naturalWidth)`)).toEqual([700])
      expect(await evaluate(`${images}.every(({ src }) => src.includes('-${scheme}'))`)).toBe(true)
    })

    const SEARCH = `document.querySelector('.VPLocalSearchBox input')`
    const found = (): Promise<string[]> =>
      evaluate(
        `[...document.querySelectorAll('.VPLocalSearchBox a.result')].map(({ href }) => new URL(href).pathname)`,
      )

    /** Types words into the search, and gives the paths of what it finds once there is any. One search follows another in the open box. */
    async function search(words: string): Promise<string[]> {
      if (await evaluate(`${SEARCH} === null`)) {
        await open('/')
        await evaluate(`document.querySelector('.VPNavBarSearch button').click() ?? null`)
        await expect.poll(() => evaluate(`${SEARCH} !== null`)).toBe(true)
      }
      // What was found before would be taken for what these words find.
      await evaluate(`(${SEARCH}.focus(), ${SEARCH}.select(), document.execCommand('delete'), null)`)
      await expect.poll(found).toEqual([])
      await browser.send('Input.insertText', { text: words })
      await expect.poll(async () => (await found()).length).toBeGreaterThan(0)
      return found()
    }

    it.each([
      ['metrics', '/observability'],
      ['prometheus', '/observability'],
      ['graceful shutdown', '/production'],
      ['SIGTERM', '/production'],
      ['Protocol error', '/errors'],
      ['retry', '/retries'],
      ['abort', '/timeouts'],
      ['AbortSignal', '/timeouts'],
      ['timeout', '/timeouts'],
      ['proxy', '/proxies'],
      ['certificate', '/tls'],
      ['self-signed certificate', '/tls'],
      ['mock', '/mocking'],
      ['interceptor', '/clients'],
      ['gzip', '/recipes'],
      ['redirect', '/recipes'],
      ['cache', '/recipes'],
      ['cookies', '/recipes'],
      ['rate limit', '/recipes'],
      ['WebSocket', '/websocket'],
      ['gRPC', '/grpc'],
      ['keep-alive', '/connections'],
      ['GOAWAY', '/connections'],
      ['connection pool', '/clients'],
      ['load balancing', '/upstreams'],
      ['DNS', '/upstreams'],
      ['OpenTelemetry', '/tracing'],
      ['REFUSED_STREAM', '/retries'],
      ['ECONNREFUSED', '/errors'],
      ['axios', '/migrating-axios'],
      ['HTTP/3', '/questions'],
      ['Lambda', '/questions'],
      ['Docker', '/questions'],
      ['vulnerability', '/security-policy'],
      ['upload', '/bodies'],
    ])('finds %s on %s, among the first five', async (words, path) => {
      await resize(browser, 1280)
      expect((await search(words)).slice(0, 5)).toContain(path)
    })

    it('has code, how to install it and the version on the first screen', async () => {
      await resize(browser, 1280)
      await open('/')
      const toBottom = (selector: string): Promise<number> =>
        evaluate(`document.querySelector('${selector}').getBoundingClientRect().bottom`)
      expect(await toBottom('.front-code pre')).toBeLessThan(800)
      expect(await toBottom('.language-sh pre')).toBeLessThan(800)
      const text = await evaluate<string>(`document.querySelector('.front-version').textContent`)
      expect(text).toContain(version)
      expect(await evaluate<string>(`document.querySelector('.VPNavBar').textContent`)).toContain(
        `v${version}`,
      )
    })

    it.each([
      '/start',
      '/reference/',
    ])('has no two entries with one name beside %s, and those of contributors last', async (path) => {
      await resize(browser, 1280)
      await open(path)
      const toTexts = (selector: string): Promise<string[]> =>
        evaluate(`[...document.querySelectorAll('${selector}')].map(({ textContent }) => textContent.trim())`)
      const [names, groups, nav] = [
        await toTexts('.VPSidebar .VPSidebarItem.is-link .text'),
        await toTexts('.VPSidebar .VPSidebarItem.level-0 > .item .text'),
        await toTexts('.VPNavBarMenuLink'),
      ]
      const all = [...names, ...groups, ...nav]
      expect(names.length).toBeGreaterThan(30)
      expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([])
      if (path === '/start') expect(groups.at(-1)).toBe('Contribute')
    })

    it.each(['UND_ERR_HEADERS_TIMEOUT'])('finds guides that say %s', async (words) => {
      await resize(browser, 1280)
      const paths = (await search(words)).filter((path) => guides.includes(path))
      // Words that are alike are found as well.
      expect(paths.filter((path) => pages.get(path)?.html.includes(words))).not.toEqual([])
      expect(complaints()).toEqual([])
    })

    it.each([
      ['BodyFactory', '/reference/dodici/BodyFactory'],
      ['maxSessionBuffer', '/reference/dodici/ClientOptions'],
    ])('finds the symbol %s', async (words, path) => {
      await resize(browser, 1280)
      expect(await search(words)).toContain(path)
      expect(complaints()).toEqual([])
    })

    it('opens what the search has found', async () => {
      const [first = ''] = await search('BodyFactory')
      const key = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' }
      await browser.send('Input.dispatchKeyEvent', { type: 'keyDown', ...key })
      await browser.send('Input.dispatchKeyEvent', { type: 'keyUp', ...key })
      await expect.poll(() => evaluate('location.pathname')).toBe(first)
      await expect
        .poll(() => evaluate(`document.querySelector('main h1')?.textContent ?? ''`))
        .toContain('BodyFactory')
    })
  })
})
