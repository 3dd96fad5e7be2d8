/** The site as `npm run site` has built it: its pages, what they link to, and a server for it. */

import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const folder = join(root, 'docs/site/.vitepress/dist')

const isBuilt = existsSync(join(folder, 'index.html'))

/** Whether the tests of the site are skipped: outside of CI, where it isn't built. That is said aloud. */
export function lacksSite(): boolean {
  if (process.env.CI === 'true' || isBuilt) return false
  console.warn('SKIPPED: the tests of the site. `npm run site` builds it.')
  return true
}

/** One page. */
export interface Page {
  /** Such as `/start`, or `/reference/`. */
  readonly path: string
  readonly html: string
  /** The ids of its elements. */
  readonly ids: ReadonlySet<string>
  /** Where its links lead, as they stand there. */
  readonly links: readonly string[]
}

/** Every page of the site but that of error 404, by its path. */
export function readPages(): ReadonlyMap<string, Page> {
  if (!isBuilt) throw new Error('The site is not built: npm run site')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const pages = files
    .filter((file) => file.endsWith('.html') && file !== '404.html')
    .map((file) => toPage(file.replaceAll('\\', '/')))
  return new Map(pages.map((page) => [page.path, page]))
}

function toPage(file: string): Page {
  const html = readFileSync(join(folder, file), 'utf8')
  const all = (pattern: RegExp): string[] =>
    [...html.matchAll(pattern)].map(([, value = '']) => withoutEntities(value))
  return {
    path: `/${file.replace(/(^|(?<=\/))index\.html$|\.html$/, '')}`,
    html,
    ids: new Set(all(/\sid="([^"]+)"/g)),
    links: all(/<a\s[^>]*?href="([^"]+)"/g),
  }
}

const withoutEntities = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')

const BLOB = /^https:\/\/github\.com\/dodici\/dodici\/(?:blob|tree)\/main\//

/** The links of a page to a page, a heading or a file of the repository that isn't there. */
export function findBroken(page: Page, pages: ReadonlyMap<string, Page>): string[] {
  return page.links.filter((link) => {
    if (BLOB.test(link)) return !existsSync(join(root, decodeURI(link.replace(BLOB, '').replace(/#.*/, ''))))
    if (/^[a-z]+:/.test(link)) return false
    const { pathname, hash } = new URL(link, `http://site${page.path}`)
    const target = pages.get(pathname)
    if (target === undefined) return !existsSync(join(folder, pathname)) || pathname.endsWith('/')
    return hash !== '' && !target.ids.has(decodeURIComponent(hash.slice(1)))
  })
}

/** The index of the search, as it is downloaded. */
export function readSearchIndex(): Buffer {
  const chunks = join(folder, 'assets/chunks')
  const files = readdirSync(chunks).filter((file) => file.startsWith('@localSearchIndex'))
  return Buffer.concat(files.map((file) => readFileSync(join(chunks, file))))
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
}

/** A server of the site on loopback. */
export interface Site {
  readonly origin: string
  close(): Promise<void>
}

/** Serves what is built, as a host of static pages does: `/start` is `start.html`. */
export async function serveSite(): Promise<Site> {
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://site')
    // A URL has no `../..` any more.
    const path = join(folder, decodeURIComponent(pathname))
    const file = [path, `${path}.html`, join(path, 'index.html')].find(
      (name) => existsSync(name) && extname(name) !== '',
    )
    const type = TYPES[extname(file ?? '')] ?? 'application/octet-stream'
    response.writeHead(file === undefined ? 404 : 200, { 'content-type': type })
    response.end(file === undefined ? '' : readFileSync(file))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
