/** The fields that a request gets without its caller, and those that its caller can't have. */

import { expect } from 'vitest'
import type { Case } from './standard-scene.ts'
import { fieldOf, inSection, toSeen } from './standard-scene.ts'

const inFetch = inSection('4. Fetching: default fields')
const inNetwork = inSection('4.5 HTTP-network-or-cache fetch: append fields')
const inLength = inSection('4.5 HTTP-network-or-cache fetch: content-length')
const inCache = inSection('4.5 HTTP-network-or-cache fetch: the cache mode')
const inForbidden = inSection('2.2.2 Headers: forbidden request-header')
const inReferrer = inSection('4.1 Main fetch: determine the referrer')

const DEFAULTS: readonly Case[] = [
  inFetch('accept is */*', async (scene) => {
    expect(fieldOf(await scene.inspect(), 'accept')).toBe('*/*')
  }),
  inFetch('accept-language is there', async (scene) => {
    expect(fieldOf(await scene.inspect(), 'accept-language')).toMatch(/./)
  }),
  inNetwork('user-agent is there', async (scene) => {
    expect(fieldOf(await scene.inspect(), 'user-agent')).toMatch(/./)
  }),
  inNetwork('sec-fetch-mode is the mode', async (scene) => {
    expect(fieldOf(await scene.inspect(), 'sec-fetch-mode')).toBe('cors')
  }),
  inNetwork('accept-encoding names what is understood', async (scene) => {
    expect(fieldOf(await scene.inspect(), 'accept-encoding')).toMatch(/\bgzip\b.*\bdeflate\b/)
  }),
  inNetwork('accept-encoding of a request with a range is identity', async (scene) => {
    const seen = await scene.inspect({ headers: { range: 'bytes=0-' } })
    expect(fieldOf(seen, 'accept-encoding')).toBe('identity')
    expect(fieldOf(seen, 'range')).toBe('bytes=0-')
  }),
  ...['accept', 'accept-language', 'user-agent', 'accept-encoding'].map((name) =>
    inFetch(`${name} of the caller wins`, async (scene) => {
      const seen = await scene.inspect({ headers: { [name]: 'a/b' } })
      expect(fieldOf(seen, name)).toBe('a/b')
    }),
  ),
  // Where the standard has an origin of the environment, Node has none.
  inNetwork('a POST has no origin', async (scene) => {
    expect(fieldOf(await scene.inspect({ method: 'POST' }), 'origin')).toBeNull()
  }),
  inNetwork('there is no cookie and no authorization', async (scene) => {
    const seen = await scene.inspect({ credentials: 'include' })
    expect([fieldOf(seen, 'cookie'), fieldOf(seen, 'authorization')]).toEqual([null, null])
  }),
  inNetwork('each field comes once', async (scene) => {
    const names = (await scene.inspect({ method: 'POST', body: 'text' })).headers.map(([name]) => name)
    expect(names).toEqual([...new Set(names)])
  }),
]

const LENGTHS: readonly Case[] = [
  ...['POST', 'PUT'].map((method) =>
    inLength(`${method} without a body has content-length: 0`, async (scene) => {
      expect(fieldOf(await scene.inspect({ method }), 'content-length')).toBe('0')
    }),
  ),
  ...['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH', 'PROPFIND'].map((method) =>
    inLength(`${method} without a body has no content-length`, async (scene) => {
      const response = await scene.fetch(scene.inspectUrl, { method })
      expect(fieldOf(await toSeen(response), 'content-length')).toBeNull()
    }),
  ),
  ...['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method) =>
    inLength(`${method} with a body says how long it is`, async (scene) => {
      expect(fieldOf(await scene.inspect({ method, body: 'é' }), 'content-length')).toBe('2')
    }),
  ),
  inLength('without a body there is no content-type', async (scene) => {
    expect(fieldOf(await scene.inspect({ method: 'POST' }), 'content-type')).toBeNull()
  }),
]

const NO_CACHE = { 'cache-control': 'no-cache', pragma: 'no-cache' }
const NEITHER = { 'cache-control': null, pragma: null }
const CACHES: readonly (readonly [string, Readonly<Record<string, string | null>>])[] = [
  ['default', NEITHER],
  ['no-store', NO_CACHE],
  ['reload', NO_CACHE],
  ['no-cache', { 'cache-control': 'max-age=0', pragma: null }],
  ['force-cache', NEITHER],
]
const CONDITIONS = ['if-modified-since', 'if-none-match', 'if-unmodified-since', 'if-match', 'if-range']

const CACHE: readonly Case[] = [
  ...CACHES.map(([cache, fields]) =>
    inCache(`cache: ${cache} is said by its fields`, async (scene) => {
      const seen = await scene.inspect({ cache })
      for (const [name, value] of Object.entries(fields)) expect(fieldOf(seen, name), name).toBe(value)
    }),
  ),
  ...['no-cache', 'no-store'].map((cache) =>
    inCache(`cache-control of the caller wins over cache: ${cache}`, async (scene) => {
      const seen = await scene.inspect({ cache, headers: { 'cache-control': 'max-age=5', pragma: 'mine' } })
      expect([fieldOf(seen, 'cache-control'), fieldOf(seen, 'pragma')]).toEqual(['max-age=5', 'mine'])
    }),
  ),
  ...CONDITIONS.map((name) =>
    inCache(`${name} of the caller makes it no-store`, async (scene) => {
      const seen = await scene.inspect({ headers: { [name]: '"a"' } })
      expect(fieldOf(seen, name)).toBe('"a"')
      expect(fieldOf(seen, 'cache-control')).toBe('no-cache')
      expect(fieldOf(seen, 'pragma')).toBe('no-cache')
    }),
  ),
  inCache('only-if-cached fails: nothing is cached', (scene) =>
    scene.refuse(scene.inspectUrl, { cache: 'only-if-cached', mode: 'same-origin' }),
  ),
  inCache('a 304 to a condition of the caller is what the caller gets', async (scene) => {
    const response = await scene.ask({ status: 304 }, { headers: { 'if-none-match': '"a"' } })
    expect([response.status, response.body]).toEqual([304, null])
  }),
]

/**
 * Fields of a connection's, or of the body's framing: the standard passes over what the caller says, and so the request
 * succeeds. It does so for `te` and `connection: close` too, of which a server-side client has some use.
 */
const FRAMING: readonly (readonly [string, string])[] = [
  ['content-length', '999'],
  ['transfer-encoding', 'chunked'],
  ['keep-alive', 'timeout=5'],
  ['upgrade', 'websocket'],
]

const FORBIDDEN: readonly Case[] = FRAMING.map(([name, value]) =>
  inForbidden(`${name} of the caller is passed over`, async (scene) => {
    const seen = await scene.inspect({ method: 'POST', body: 'text', headers: { [name]: value } })
    expect(fieldOf(seen, name)).not.toBe(value)
    expect(seen.body).toBe(Buffer.from('text').toString('base64'))
  }),
)

/**
 * By policy: what `Referer` says to the same origin, and to another. Null is nothing, `url` all, `origin` that alone.
 */
const POLICIES: readonly (readonly [string, 'url' | 'origin' | null, 'url' | 'origin' | null])[] = [
  ['no-referrer', null, null],
  ['no-referrer-when-downgrade', 'url', 'url'],
  ['origin', 'origin', 'origin'],
  ['origin-when-cross-origin', 'url', 'origin'],
  ['same-origin', 'url', null],
  ['strict-origin', 'origin', 'origin'],
  ['strict-origin-when-cross-origin', 'url', 'origin'],
  ['unsafe-url', 'url', 'url'],
  ['', 'url', 'origin'],
]

function toReferrer(what: 'url' | 'origin' | null, origin: string): string | null {
  if (what === null) return null
  return what === 'url' ? `${origin}/page?query` : `${origin}/`
}

// In a browser a referrer of another origin than the page's is refused; a server has no page, and Node lets it name
// any.
const REFERRERS: readonly Case[] = [
  ...POLICIES.flatMap(([referrerPolicy, same, cross]) => [
    inReferrer(`referrerPolicy '${referrerPolicy}' says '${same}' to the same origin`, async (scene) => {
      const referrer = `${scene.origin}/page?query#fragment`
      const seen = await scene.inspect({ referrer, referrerPolicy })
      expect(fieldOf(seen, 'referer')).toBe(toReferrer(same, scene.origin))
    }),
    inReferrer(`referrerPolicy '${referrerPolicy}' says '${cross}' to another origin`, async (scene) => {
      const referrer = `${scene.other}/page?query#fragment`
      const seen = await scene.inspect({ referrer, referrerPolicy })
      expect(fieldOf(seen, 'referer')).toBe(toReferrer(cross, scene.other))
    }),
  ]),
  ...['', 'about:client'].map((referrer) =>
    inReferrer(`the referrer '${referrer}' is none`, async (scene) => {
      const seen = await scene.inspect({ referrer, referrerPolicy: 'unsafe-url' })
      expect(fieldOf(seen, 'referer')).toBeNull()
    }),
  ),
  inReferrer('credentials of a referrer are not said', async (scene) => {
    const referrer = `${scene.origin.replace('//', '//user:secret@')}/page`
    const seen = await scene.inspect({ referrer, referrerPolicy: 'unsafe-url' })
    expect(fieldOf(seen, 'referer')).toBe(`${scene.origin}/page`)
  }),
  inReferrer('a referrer of more than 4096 characters is cut to its origin', async (scene) => {
    const referrer = `${scene.origin}/${'a'.repeat(4096)}`
    const seen = await scene.inspect({ referrer, referrerPolicy: 'unsafe-url' })
    expect(fieldOf(seen, 'referer')).toBe(`${scene.origin}/`)
  }),
  inReferrer('the Referrer-Policy of a redirection counts from there on', async (scene) => {
    const init = { referrer: `${scene.origin}/page`, referrerPolicy: 'unsafe-url' }
    const response = await scene.redirect(302, '/inspect', init, [['referrer-policy', 'no-referrer']])
    expect(fieldOf(await toSeen(response), 'referer')).toBeNull()
  }),
  inReferrer('a redirection that allows more says no more than was said before', async (scene) => {
    const init = { referrer: `${scene.origin}/page?token`, referrerPolicy: 'no-referrer' }
    const response = await scene.redirect(302, '/inspect', init, [['referrer-policy', 'unsafe-url']])
    expect(fieldOf(await toSeen(response), 'referer')).toBeNull()
  }),
  inReferrer('by default another origin that is redirected to learns the origin alone', async (scene) => {
    const init = { referrer: `${scene.origin}/page` }
    const response = await scene.redirect(302, `${scene.other}/inspect`, init)
    expect(fieldOf(await toSeen(response), 'referer')).toBe(`${scene.origin}/`)
  }),
]

export const REQUEST_HEADERS: readonly Case[] = [
  ...DEFAULTS,
  ...LENGTHS,
  ...CACHE,
  ...FORBIDDEN,
  ...REFERRERS,
]
