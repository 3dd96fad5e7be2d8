/** Redirections. */

import { expect } from 'vitest'
import { toStream } from './standard-request-bodies.ts'
import type { Case, Fields } from './standard-scene.ts'
import { bodyOf, fieldOf, inSection, toSeen } from './standard-scene.ts'

const inMethod = inSection('4.4 HTTP-redirect fetch: the method and the body')
const inHeaders = inSection('4.4 HTTP-redirect fetch: request-body-header names')
const inOrigin = inSection('4.4 HTTP-redirect fetch: another origin')
const inLocation = inSection('2.2.6 Responses: location URL')
const inScheme = inSection('4.4 HTTP-redirect fetch: the scheme of the location')
const inCount = inSection('4.4 HTTP-redirect fetch: the redirect count')
const inMode = inSection('4.3 HTTP fetch: the redirect mode')
const inStatus = inSection('2.2.3 Statuses: redirect status')

const STATUSES = [301, 302, 303, 307, 308]

/** What becomes of a method, and whether its body stays. */
function toNext(status: number, method: string): readonly [string, boolean] {
  if ((status === 301 || status === 302) && method === 'POST') return ['GET', false]
  if (status === 303 && method !== 'GET' && method !== 'HEAD') return ['GET', false]
  return [method, true]
}

const METHODS: readonly Case[] = STATUSES.flatMap((status) => [
  ...['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].map((method) => {
    const [next, isKept] = toNext(status, method)
    const hasBody = method !== 'GET' && method !== 'HEAD'
    return inMethod(`${method} becomes ${next} by a ${status}`, async (scene) => {
      const init = hasBody ? { method, body: 'text' } : { method }
      const response = await scene.redirect(status, '/inspect', init)
      expect([response.status, response.redirected, response.url]).toEqual([200, true, scene.inspectUrl])
      const seen = await toSeen(response)
      const text = hasBody && isKept ? 'text' : ''
      expect([seen.method, bodyOf(seen)]).toEqual([next, text])
      expect(fieldOf(seen, 'content-length')).toBe(text === '' ? null : '4')
    })
  }),
  inMethod(`POST without a body keeps to the rule of ${status}`, async (scene) => {
    const seen = await toSeen(await scene.redirect(status, '/inspect', { method: 'POST' }))
    const [next] = toNext(status, 'POST')
    expect([seen.method, fieldOf(seen, 'content-length')]).toEqual([next, next === 'POST' ? '0' : null])
  }),
])

const NO_REDIRECTS: readonly Case[] = [300, 304, 305, 306, 200, 201, 400].map((status) =>
  inStatus(`${status} with a location is none`, async (scene) => {
    const response = await scene.redirect(status, '/inspect')
    expect([response.status, response.redirected]).toEqual([status, false])
  }),
)

const CONTENT = ['content-encoding', 'content-language', 'content-location', 'content-type']

const HEADERS: readonly Case[] = [
  ...[303, 307].map((status) =>
    inHeaders(
      `those that tell of a body ${status === 303 ? 'go with it' : 'stay with it'} by a ${status}`,
      async (scene) => {
        const fields = CONTENT.map((name) => [name, 'a/b'] as const)
        const headers = [...fields, ['x-a', '1']]
        const seen = await toSeen(
          await scene.redirect(status, '/inspect', { method: 'POST', body: 'text', headers }),
        )
        for (const [name] of fields) expect(fieldOf(seen, name), name).toBe(status === 303 ? null : 'a/b')
        expect(fieldOf(seen, 'x-a')).toBe('1')
      },
    ),
  ),
  inHeaders('those of a GET stay', async (scene) => {
    const headers = { 'content-type': 'a/b', 'content-language': 'en' }
    const seen = await toSeen(await scene.redirect(302, '/inspect', { headers }))
    expect([fieldOf(seen, 'content-type'), fieldOf(seen, 'content-language')]).toEqual(['a/b', 'en'])
  }),
  inHeaders('the type of a FormData fits its body after a 307', async (scene) => {
    const body = new FormData()
    body.append('a', '1')
    const seen = await toSeen(await scene.redirect(307, '/inspect', { method: 'POST', body }))
    const [, boundary = 'none'] = /boundary=(\S+)$/.exec(fieldOf(seen, 'content-type') ?? '') ?? []
    expect(bodyOf(seen)).toContain(`--${boundary}`)
  }),
  ...['a=1', new Blob(['a=1']), new URLSearchParams('a=1'), new TextEncoder().encode('a=1')].map((body) =>
    inHeaders(`a body of ${Object.prototype.toString.call(body)} is sent again by a 308`, async (scene) => {
      expect(bodyOf(await toSeen(await scene.redirect(308, '/inspect', { method: 'PUT', body })))).toBe('a=1')
    }),
  ),
  ...STATUSES.filter((status) => status !== 303).map((status) =>
    inHeaders(`a body that is a stream is refused by a ${status}`, (scene) => {
      const url = scene.url({ status, headers: [['location', '/inspect']] })
      const body = toStream(new TextEncoder().encode('a'))
      return scene.refuse(url, { method: 'POST', body, duplex: 'half' })
    }),
  ),
  inHeaders('a body that is a stream is dropped by a 303', async (scene) => {
    const body = toStream(new TextEncoder().encode('a'))
    const seen = await toSeen(await scene.redirect(303, '/inspect', { method: 'POST', body, duplex: 'half' }))
    expect([seen.method, seen.body]).toEqual(['GET', ''])
  }),
]

const SECRETS = { authorization: 'Basic YTpi', cookie: 'a=1', 'x-a': '1' }

const ORIGINS: readonly Case[] = [
  ...STATUSES.map((status) =>
    inOrigin(`authorization is not sent there by a ${status}`, async (scene) => {
      const seen = await toSeen(await scene.redirect(status, `${scene.other}/inspect`, { headers: SECRETS }))
      expect([fieldOf(seen, 'authorization'), fieldOf(seen, 'x-a')]).toEqual([null, '1'])
    }),
  ),
  // The standard knows no cookie of the caller's; Node drops it, and proxy-authorization and host, for the same reason.
  ...['cookie', 'proxy-authorization'].map((name) =>
    inOrigin(`${name} of the caller is not sent there`, async (scene) => {
      const seen = await toSeen(
        await scene.redirect(302, `${scene.other}/inspect`, { headers: { [name]: 'secret' } }),
      )
      expect(fieldOf(seen, name)).toBeNull()
    }),
  ),
  inOrigin('the same origin gets them', async (scene) => {
    const seen = await toSeen(await scene.redirect(302, '/inspect', { headers: SECRETS }))
    expect([fieldOf(seen, 'authorization'), fieldOf(seen, 'cookie')]).toEqual(['Basic YTpi', 'a=1'])
  }),
  inOrigin('what was dropped does not come back with the first origin', async (scene) => {
    const back = scene.url({ status: 302, headers: [['location', scene.inspectUrl]] }, scene.other)
    const seen = await toSeen(await scene.redirect(302, back, { headers: SECRETS }))
    expect([fieldOf(seen, 'authorization'), fieldOf(seen, 'x-a')]).toEqual([null, '1'])
  }),
  inOrigin('a body is sent there by a 307', async (scene) => {
    const init = { method: 'POST', body: 'text' }
    const response = await scene.redirect(307, `${scene.other}/inspect`, init)
    expect(response.url).toBe(`${scene.other}/inspect`)
    expect(bodyOf(await toSeen(response))).toBe('text')
  }),
  inOrigin('mode: same-origin refuses it', async (scene) => {
    const location: Fields = [['location', `${scene.other}/inspect`]]
    await scene.refuse(scene.url({ status: 302, headers: location }), { mode: 'same-origin' })
  }),
  inOrigin('mode: same-origin lets the same be', async (scene) => {
    expect((await scene.redirect(302, '/inspect', { mode: 'same-origin' })).status).toBe(200)
  }),
  inOrigin('credentials of a location are refused there', async (scene) => {
    const location: Fields = [['location', `${scene.other.replace('//', '//a:b@')}/inspect`]]
    await scene.refuse(scene.url({ status: 302, headers: location }))
  }),
  inOrigin('the response says where it came from', async (scene) => {
    const response = await scene.redirect(302, `${scene.other}/inspect`)
    expect([response.url, response.redirected]).toEqual([`${scene.other}/inspect`, true])
    // A browser would need permission (CORS), and hide most headers; a server-side client hides none.
    expect([response.type, response.headers.has('x-protocol')]).toEqual(['cors', true])
  }),
  inOrigin('with mode: no-cors the response is opaque', async (scene) => {
    const response = await scene.redirect(302, `${scene.other}/inspect`, { mode: 'no-cors' })
    const { type, status, ok, url, redirected, body } = response
    expect([type, status, ok, url, redirected, body]).toEqual(['opaque', 0, false, '', false, null])
    expect([[...response.headers], await response.text()]).toEqual([[], ''])
  }),
]

/** [what, the location, the path of the next request] */
const LOCATIONS: readonly (readonly [string, string, string])[] = [
  ['an absolute path', '/a/inspect?b', '/a/inspect?b'],
  ['a relative path', 'inspect', '/inspect'],
  ['a path with dots', './a/../inspect', '/inspect'],
  ['a path with spaces', '/inspect?a b', '/inspect?a%20b'],
  ['a percent-encoded path', '/%7e%C3%A9/inspect', '/%7e%C3%A9/inspect'],
  ['quotes in it', '/inspect?"\'', '/inspect?%22%27'],
  ['backslashes', '\\a\\inspect', '/a/inspect'],
]

const LOCATION: readonly Case[] = [
  ...LOCATIONS.map(([what, location, path]) =>
    inLocation(`${what} is resolved`, async (scene) => {
      expect((await toSeen(await scene.redirect(302, location))).path).toBe(path)
    }),
  ),
  inLocation('one without a scheme is resolved', async (scene) => {
    const response = await scene.redirect(302, `${scene.other.replace(/^https?:/, '')}/inspect`)
    expect(response.url).toBe(`${scene.other}/inspect`)
  }),
  inLocation('a query alone is resolved against the path', async (scene) => {
    const end = Buffer.from('{"status":200,"headers":[],"body":"ZW5k","repeat":1,"pieces":1,"end":"end"}')
    expect(await (await scene.redirect(302, `?${end.toString('base64url')}`)).text()).toBe('end')
  }),
  inLocation('one in UTF-8 is percent-encoded', async (scene) => {
    const location = Buffer.from('/é🎾/inspect?é').toString('latin1')
    expect((await toSeen(await scene.redirect(302, location))).path).toBe(
      '/%C3%A9%F0%9F%8E%BE/inspect?%C3%A9',
    )
  }),
  inLocation('the fragment of the request is inherited, and not sent', async (scene) => {
    const url = scene.url({ status: 302, headers: [['location', '/inspect']] })
    const response = await scene.fetch(`${url}#fragment`)
    expect([response.url, (await toSeen(response)).path]).toEqual([scene.inspectUrl, '/inspect'])
  }),
  inLocation('a fragment of its own is not sent', async (scene) => {
    const response = await scene.redirect(302, '/inspect?a#fragment')
    expect([response.url, (await toSeen(response)).path]).toEqual([`${scene.inspectUrl}?a`, '/inspect?a'])
  }),
  ...STATUSES.map((status) =>
    inLocation(`a ${status} without one is the response`, async (scene) => {
      const response = await scene.ask({ status, body: 'text' })
      expect([response.status, response.redirected, await response.text()]).toEqual([status, false, 'text'])
    }),
  ),
  inLocation('an empty one is the request itself, 20 times', (scene) =>
    scene.refuse(scene.url({ status: 302, headers: [['location', '']] })),
  ),
  ...['http://', 'http://a b/', 'http://[::1', 'https://h:99999/'].map((location) =>
    inLocation(`'${location}' is refused`, (scene) =>
      scene.refuse(scene.url({ status: 302, headers: [['location', location]] })),
    ),
  ),
]

const SCHEMES: readonly Case[] = [
  ...[
    'data:text/plain,a',
    'blob:a',
    'about:blank',
    'file:///',
    'ftp://localhost/',
    'mailto:a@b',
    'ws://a/',
    'javascript:a',
  ].map((location) =>
    inScheme(`'${location}' is refused`, (scene) =>
      scene.refuse(scene.url({ status: 302, headers: [['location', location]] })),
    ),
  ),
]

const COUNTS: readonly Case[] = [
  inCount('20 are followed', async (scene) => {
    const response = await scene.fetch(`${scene.origin}/loop?20`)
    expect([response.status, response.redirected, response.url]).toEqual([200, true, scene.inspectUrl])
  }),
  inCount('21 are not', (scene) => scene.refuse(`${scene.origin}/loop?21`)),
]

const MODES: readonly Case[] = [
  ...STATUSES.map((status) =>
    inMode(`error refuses a ${status}`, (scene) =>
      scene.refuse(scene.url({ status, headers: [['location', '/inspect']] }), { redirect: 'error' }),
    ),
  ),
  // A browser gives an opaque response without status and headers; a server-side client wants them, and Node gives
  // them.
  ...STATUSES.map((status) =>
    inMode(`manual gives the ${status} itself`, async (scene) => {
      const headers: Fields = [
        ['location', '/inspect'],
        ['x-a', '1'],
      ]
      const response = await scene.ask({ status, headers, body: 'text' }, { redirect: 'manual' })
      expect([response.status, response.redirected, response.headers.get('location')]).toEqual([
        status,
        false,
        '/inspect',
      ])
      expect([response.headers.get('x-a'), await response.text()]).toEqual(['1', 'text'])
    }),
  ),
  ...['error', 'manual'].map((redirect) =>
    inMode(`${redirect} lets other responses be`, async (scene) => {
      const response = await scene.ask({ body: 'text' }, { redirect })
      expect([response.status, response.redirected, await response.text()]).toEqual([200, false, 'text'])
    }),
  ),
  inMode('manual gives one with a location that is no URL', async (scene) => {
    const init = { redirect: 'manual' }
    expect((await scene.redirect(302, 'http://a b/', init)).headers.get('location')).toBe('http://a b/')
  }),
  inMode('a large body of a redirection is dropped', async (scene) => {
    const headers: Fields = [['location', '/inspect']]
    const response = await scene.ask({ status: 302, headers, body: 'dodici', repeat: 100_000, pieces: 10 })
    expect((await toSeen(response)).method).toBe('GET')
  }),
  inMode('a redirection whose body does not end is followed', async (scene) => {
    const response = await scene.ask({
      status: 302,
      headers: [['location', '/inspect']],
      body: 'text',
      end: 'open',
    })
    expect((await toSeen(response)).method).toBe('GET')
  }),
  inMode('no-cors takes no other mode than follow, where it matters', async (scene) => {
    const url = scene.url({ status: 302, headers: [['location', `${scene.other}/inspect`]] })
    await scene.refuse(url, { mode: 'no-cors', redirect: 'error' })
  }),
]

export const REDIRECTS: readonly Case[] = [
  ...METHODS,
  ...NO_REDIRECTS,
  ...HEADERS,
  ...ORIGINS,
  ...LOCATION,
  ...SCHEMES,
  ...COUNTS,
  ...MODES,
]
