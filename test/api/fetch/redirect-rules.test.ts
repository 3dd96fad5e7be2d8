import { describe, expect, it } from 'vitest'
import { fetch } from '../../../src/index.ts'
import type { Origin, Protocol, Reply } from './request-rig.ts'
import { startOrigin, toFailure, toMixedAgent, toValues } from './request-rig.ts'

const PROTOCOLS: readonly Protocol[] = ['HTTP/2', 'HTTP/1.1']

function toAgentFor(protocol: Protocol, ...origins: readonly Origin[]) {
  return protocol === 'HTTP/2' ? toMixedAgent(...origins) : toMixedAgent()
}

/** A redirect from /from to its target. */
function move(status: number, location: string, more: Record<string, string> = {}) {
  return ({ path }: { readonly path: string }): Reply =>
    path.startsWith('/from') ? { status, fields: { location, ...more }, body: 'moved' } : {}
}

/** The request after a redirect: method, body, and the fields about the body. */
const METHODS: readonly (readonly [status: number, before: string, after: string, hasBody: boolean])[] = [
  ...[301, 302].flatMap((status) => [
    [status, 'GET', 'GET', false] as const,
    [status, 'HEAD', 'HEAD', false] as const,
    [status, 'POST', 'GET', false] as const,
    [status, 'PUT', 'PUT', true] as const,
    [status, 'DELETE', 'DELETE', true] as const,
  ]),
  [303, 'GET', 'GET', false],
  [303, 'HEAD', 'HEAD', false],
  [303, 'POST', 'GET', false],
  [303, 'PUT', 'GET', false],
  [303, 'DELETE', 'GET', false],
  ...[307, 308].flatMap((status) => [
    [status, 'GET', 'GET', false] as const,
    [status, 'POST', 'POST', true] as const,
    [status, 'PATCH', 'PATCH', true] as const,
  ]),
]

const BODY_NAMES = [
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
  'content-length',
]

describe.each(PROTOCOLS)('when an origin redirects over %s', (protocol) => {
  for (const [status, before, after, hasBody] of METHODS) {
    it(`asks by ${after} after a ${status} to ${before}${hasBody ? ', with the body' : ''}`, async () => {
      const server = await startOrigin(protocol, move(status, '/to'))
      const hadBody = before !== 'GET' && before !== 'HEAD'
      const headers = {
        'x-a': '1',
        'content-language': 'de',
        'content-encoding': 'x',
        'content-location': '/x',
      }
      const response = await fetch(`${server.origin}/from`, {
        method: before,
        headers,
        body: hadBody ? 'body' : null,
        dispatcher: toAgentFor(protocol, server),
      })
      expect([response.status, response.redirected]).toEqual([200, true])
      expect(response.url).toBe(`${server.origin}/to`)
      expect(await response.text()).toBe(before === 'HEAD' ? '' : '/to')
      const [first, second] = server.seen
      expect(first).toMatchObject({ method: before, body: hadBody ? 'body' : '' })
      expect(second).toMatchObject({ method: after, body: hasBody ? 'body' : '' })
      if (second === undefined) throw new Error('It was not followed')
      expect(toValues(second, 'x-a')).toEqual(['1'])
      const left = BODY_NAMES.filter((name) => toValues(second, name).length > 0)
      const isDropped = hadBody && !hasBody
      const own = hasBody ? BODY_NAMES : ['content-encoding', 'content-language', 'content-location']
      expect(left).toEqual(isDropped ? [] : own)
    })
  }

  it('follows twenty, and not twenty-one', async () => {
    const server = await startOrigin(protocol, ({ path }) => {
      const left = Number(path.slice(1))
      return left === 0 ? {} : { status: 302, fields: { location: `/${left - 1}` } }
    })
    const dispatcher = toAgentFor(protocol, server)
    expect(await (await fetch(`${server.origin}/20`, { dispatcher })).text()).toBe('/0')
    expect(server.seen).toHaveLength(21)
    expect(await toFailure(fetch(`${server.origin}/21`, { dispatcher }))).toBe(
      'TypeError: fetch failed ← redirect count exceeded',
    )
    expect(server.seen).toHaveLength(21 + 21)
  })

  it('fails at a circle of redirects', async () => {
    const server = await startOrigin(protocol, () => ({ status: 307, fields: { location: '' } }))
    const call = fetch(`${server.origin}/?a`, { dispatcher: toAgentFor(protocol, server) })
    expect(await toFailure(call)).toBe('TypeError: fetch failed ← redirect count exceeded')
    expect(new Set(server.seen.map(({ path }) => path))).toEqual(new Set(['/?a']))
  })

  it('removes the fields that another origin must not get', async () => {
    const target = await startOrigin(protocol)
    const server = await startOrigin(protocol, move(302, `${target.origin}/to`))
    const headers = {
      authorization: 'a',
      cookie: 'b',
      'proxy-authorization': 'c',
      'x-a': '1',
      'x-api-key': 'd',
    }
    const names = Object.keys(headers)
    const dispatcher = toAgentFor(protocol, server, target)
    const response = await fetch(`${server.origin}/from`, { headers, dispatcher })
    expect([response.url, response.type]).toEqual([`${target.origin}/to`, 'cors'])
    await response.text()
    const [first, second] = [...server.seen, ...target.seen]
    expect(first?.fields.map(([name]) => name)).toEqual(expect.arrayContaining(names))
    const left = second?.fields.map(([name]) => name).filter((name) => names.includes(name))
    expect(left?.toSorted()).toEqual(['x-a', 'x-api-key'])
  })

  it('removes them also when it comes back to the first origin', async () => {
    const other: { origin: string } = { origin: '' }
    const server = await startOrigin(protocol, ({ path }) =>
      path === '/from' ? { status: 302, fields: { location: `${other.origin}/from` } } : {},
    )
    const target = await startOrigin(protocol, move(302, `${server.origin}/to`))
    other.origin = target.origin
    const dispatcher = toAgentFor(protocol, server, target)
    const response = await fetch(`${server.origin}/from`, { headers: { authorization: 'a' }, dispatcher })
    await response.text()
    expect(server.seen.map((seen) => toValues(seen, 'authorization'))).toEqual([['a'], []])
    expect(response.type).toBe('cors')
  })

  it('keeps them for the same origin', async () => {
    const server = await startOrigin(protocol, move(302, '/to'))
    const dispatcher = toAgentFor(protocol, server)
    await (await fetch(`${server.origin}/from`, { headers: { authorization: 'a' }, dispatcher })).text()
    expect(server.seen.map((seen) => toValues(seen, 'authorization'))).toEqual([['a'], ['a']])
  })
})

describe('when a redirect has a location', () => {
  it.each([
    ['a path', '/to?q', '/to?q'],
    ['a relative path', 'to', '/a/to'],
    ['a path upwards', '../to', '/to'],
    ['a query', '?q=1', '/a/from?q=1'],
    ['a fragment', '#f', '/a/from'],
    ['UTF-8', '/\u00c3\u00bc', '/%C3%BC'],
    ['a space', '/a b', '/a%20b'],
    ['white space around it', ' /to ', '/to'],
    ['an escape', '/%2e%2e/%41', '/%41'],
  ])('follows %s', async (_what, location, path) => {
    let isMoved = false
    const server = await startOrigin('HTTP/1.1', () => {
      if (isMoved) return {}
      isMoved = true
      return { status: 302, fields: { location } }
    })
    const response = await fetch(`${server.origin}/a/from#old`, { dispatcher: toMixedAgent() })
    expect([response.url, await response.text()]).toEqual([server.origin + path, path])
  })

  it.each([
    ['no URL', 'http://', /URL/],
    ['another scheme', 'ftp://localhost/', /scheme/],
    ['data', 'data:,x', /scheme/],
    ['a file', 'file:///etc/hostname', /scheme/],
    ['a blocked port', 'http://localhost:25/', /bad port/],
    ['credentials', 'http://user:secret@localhost/', /credentials/],
  ])('is a network error for %s', async (_what, location, reason) => {
    const server = await startOrigin('HTTP/2', move(302, location))
    const failure = await toFailure(fetch(`${server.origin}/from`, { dispatcher: toMixedAgent(server) }))
    expect(failure).toMatch(/^TypeError: fetch failed ← /)
    expect(failure).toMatch(reason)
    expect(failure).not.toContain('secret')
  })

  it.each([
    ['no location', { status: 302 }],
    ['a status that is no redirect', { status: 300, fields: { location: '/to' } }],
    ['304', { status: 304, fields: { location: '/to' } }],
    ['201', { status: 201, fields: { location: '/to' } }],
  ])('is the response with %s', async (_what, reply) => {
    const server = await startOrigin('HTTP/2', () => reply)
    const response = await fetch(server.origin, { dispatcher: toMixedAgent(server) })
    expect([response.status, response.redirected]).toEqual([reply.status, false])
    await response.text()
    expect(server.seen).toHaveLength(1)
  })

  it('is the response with redirect: manual', async () => {
    const server = await startOrigin('HTTP/2', move(302, '/to'))
    const init = { redirect: 'manual', dispatcher: toMixedAgent(server) } as const
    const response = await fetch(`${server.origin}/from`, init)
    expect([response.status, response.headers.get('location'), response.type]).toEqual([302, '/to', 'basic'])
    expect(await response.text()).toBe('moved')
  })

  it('is a network error with redirect: error', async () => {
    const server = await startOrigin('HTTP/2', move(302, '/to'))
    const call = fetch(`${server.origin}/from`, { redirect: 'error', dispatcher: toMixedAgent(server) })
    expect(await toFailure(call)).toBe('TypeError: fetch failed ← unexpected redirect')
    expect(server.seen).toHaveLength(1)
  })
})

describe('when a redirect has a referrer policy', () => {
  const WHOLE = 'https://a.test/path?token'
  const ORIGIN = 'https://a.test/'

  it.each([
    ['unsafe-url', 'no-referrer', [WHOLE], []],
    ['unsafe-url', 'origin', [WHOLE], [ORIGIN]],
    ['unsafe-url', 'no-referrer, unheard-of', [WHOLE], []],
    ['unsafe-url', 'unheard-of', [WHOLE], [WHOLE]],
    // A part that was removed once isn't sent again (Fetch, "main fetch").
    ['no-referrer', 'unsafe-url', [], []],
    ['same-origin', 'unsafe-url', [], []],
    ['origin', 'unsafe-url', [ORIGIN], [ORIGIN]],
    ['origin', 'unheard-of, unsafe-url', [ORIGIN], [ORIGIN]],
    ['', 'unsafe-url', [ORIGIN], [ORIGIN]],
  ] as const)('begun by %j, goes by %s from then on', async (referrerPolicy, policy, first, second) => {
    const server = await startOrigin('HTTP/2', move(302, '/to', { 'referrer-policy': policy }))
    const dispatcher = toMixedAgent(server)
    const call = fetch(`${server.origin}/from`, { referrer: WHOLE, referrerPolicy, dispatcher })
    await (await call).text()
    expect(server.seen.map((seen) => toValues(seen, 'referer'))).toEqual([first, second])
  })

  it('sends no more of the referrer by a second redirect than by the first', async () => {
    const target = await startOrigin('HTTP/2')
    const server = await startOrigin('HTTP/2', ({ path }) => {
      const fields = { location: '/via', 'referrer-policy': 'origin' }
      if (path === '/from') return { status: 302, fields }
      return { status: 302, fields: { location: `${target.origin}/to`, 'referrer-policy': 'unsafe-url' } }
    })
    const init = { referrer: `${server.origin}/page?token`, dispatcher: toMixedAgent(server, target) }
    await (await fetch(`${server.origin}/from`, init)).text()
    const seen = [...server.seen, ...target.seen].map((one) => toValues(one, 'referer'))
    expect(seen).toEqual([[init.referrer], [`${server.origin}/`], [`${server.origin}/`]])
  })
})

describe('when the mode restricts redirects', () => {
  it('is a network error to leave the origin', async () => {
    const target = await startOrigin('HTTP/2')
    const server = await startOrigin('HTTP/2', move(302, `${target.origin}/to`))
    const call = fetch(`${server.origin}/from`, {
      mode: 'same-origin',
      dispatcher: toMixedAgent(server, target),
    })
    expect(await toFailure(call)).toMatch(/^TypeError: fetch failed ← .*same-origin/)
    expect(target.seen).toEqual([])
  })

  it('shows nothing of another origin without CORS', async () => {
    const target = await startOrigin('HTTP/2', () => ({ status: 404, fields: { 'x-a': '1' } }))
    const server = await startOrigin('HTTP/2', move(302, `${target.origin}/to`))
    const init = { mode: 'no-cors', dispatcher: toMixedAgent(server, target) } as const
    const { type, status, url, body, headers, redirected } = await fetch(`${server.origin}/from`, init)
    expect([type, status, url, body, [...headers], redirected]).toEqual(['opaque', 0, '', null, [], false])
  })
})
