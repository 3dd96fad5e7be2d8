import { describe, expect, it } from 'vitest'
import { fetch } from '../../../src/index.ts'
import type { Reply } from './request-rig.ts'
import { startOrigin, toFailure, toMixedAgent, toValues } from './request-rig.ts'

/** A redirect from /from to its target. */
function move(status: number, location: string, more: Record<string, string> = {}) {
  return ({ path }: { readonly path: string }): Reply =>
    path.startsWith('/from') ? { status, fields: { location, ...more }, body: 'moved' } : {}
}

describe('when a redirect can not be followed', () => {
  it.each([
    ['itself, again and again', '', /redirect count exceeded/],
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
})
