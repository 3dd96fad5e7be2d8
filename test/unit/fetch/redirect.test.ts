import { describe, expect, test } from 'vitest'
import { FetchRequest } from '../../../src/fetch/fetch-request.ts'
import { splitUrl } from '../../../src/fetch/fetch-url.ts'
import { isRedirect, redirectRequest } from '../../../src/fetch/redirect.ts'
import { FakeDispatcher } from '../../support/fake-dispatcher.ts'

const SOURCED = { content: 'body', hasSource: true, contentType: null }
const STREAM = { content: 'body', hasSource: false, contentType: null }

function toRequest(more: Partial<FetchRequest> = {}): FetchRequest {
  const rare = { mode: 'cors', cache: 'default', integrity: '', referrer: '', referrerPolicy: '' }
  const fields: string[] = ['authorization', 'a', 'cookie', 'b', 'content-type', 'c', 'x-a', 'd']
  const url = splitUrl('http://a.test/x/y?q#f')
  return Object.assign(
    new FetchRequest(url, 'GET', fields, null, 'follow', new FakeDispatcher(), null, rare),
    more,
  )
}

/** What is wrong with a redirect; null when nothing is. */
function toError(request: FetchRequest, location: string, status = 302): string | null {
  return redirectRequest(request, status, {}, location)?.message ?? null
}

describe('isRedirect', () => {
  test('knows five of all statuses', () => {
    const statuses = Array.from({ length: 600 }, (_, status) => status)
    expect(statuses.filter(isRedirect)).toEqual([301, 302, 303, 307, 308])
  })
})

describe('when a request is redirected', () => {
  test.each([
    ['z', { origin: 'http://a.test', path: '/x/z' }],
    ['/z', { origin: 'http://a.test', path: '/z' }],
    ['?z', { origin: 'http://a.test', path: '/x/y?z' }],
    ['#z', { origin: 'http://a.test', path: '/x/y?q' }],
    ['', { origin: 'http://a.test', path: '/x/y?q' }],
    ['//b.test', { origin: 'http://b.test', path: '/' }],
    ['https://a.test/#g', { origin: 'https://a.test', path: '/' }],
    ['/\u00c3\u00bc', { origin: 'http://a.test', path: '/%C3%BC' }],
  ])('is aimed at %j', (location, url) => {
    const request = toRequest()
    expect(toError(request, location)).toBeNull()
    expect(request.url).toEqual(url)
    expect([request.redirectCount, request.method]).toEqual([1, 'GET'])
  })

  test('keeps its fields on its origin', () => {
    const request = toRequest()
    const { fields } = request
    expect(toError(request, '/z')).toBeNull()
    expect(request.fields).toBe(fields)
    expect(request.isTainted).toBe(false)
  })

  test.each([
    '//b.test/',
    'https://a.test/',
    'http://a.test:81/',
  ])('loses what is meant for one origin on its way to %s, in a list of its own', (location) => {
    const request = toRequest()
    const { fields } = request
    expect(toError(request, location)).toBeNull()
    expect(request.fields).toEqual(['content-type', 'c', 'x-a', 'd'])
    expect(fields).toHaveLength(8)
    expect(request.isTainted).toBe(true)
  })

  test('loses its body, and what tells of it, where GET comes next', () => {
    const request = toRequest({ method: 'POST', body: SOURCED })
    expect(toError(request, '/z')).toBeNull()
    expect([request.method, request.body, request.fields]).toEqual([
      'GET',
      null,
      ['authorization', 'a', 'cookie', 'b', 'x-a', 'd'],
    ])
  })

  test('stays tainted when it comes back', () => {
    const request = toRequest()
    expect([toError(request, '//b.test/'), toError(request, '//a.test/')]).toEqual([null, null])
    expect([request.isTainted, request.url.origin, request.redirectCount]).toEqual([true, 'http://a.test', 2])
  })

  test('takes twenty redirects', () => {
    const request = toRequest()
    for (let i = 0; i < 20; i++) expect(toError(request, '/z')).toBeNull()
    expect(toError(request, '/z')).toBe('redirect count exceeded')
  })

  test('goes by the referrer policy of the response', () => {
    const request = toRequest({ referrerPolicy: 'origin' })
    redirectRequest(request, 302, { 'referrer-policy': 'unheard-of' }, '/z')
    expect(request.referrerPolicy).toBe('origin')
    redirectRequest(request, 302, { 'referrer-policy': 'origin, no-referrer' }, '/z')
    expect(request.referrerPolicy).toBe('no-referrer')
  })
})

describe('when a redirect is not to be followed', () => {
  test.each([
    'http://',
    'ftp://a.test/',
    'data:,x',
    'about:blank',
    'javascript:1',
  ])('says why of %s', (location) => {
    const request = toRequest()
    expect(toError(request, location)).toMatch(/URL/)
    expect(request.url.origin).toBe('http://a.test')
  })

  test('says so of credentials, without them', () => {
    expect(toError(toRequest(), 'http://user:secret@b.test/')).toMatch(/^(?!.*secret).*credentials/)
  })

  test.each([301, 302, 307, 308])('says so of a %i for a body that was a stream', (status) => {
    expect(toError(toRequest({ method: 'POST', body: STREAM }), '/z', status)).toMatch(/stream/)
    expect(toError(toRequest({ method: 'POST', body: SOURCED }), '/z', status)).toBeNull()
  })

  test('lets a 303 drop a body that was a stream', () => {
    expect(toError(toRequest({ method: 'PUT', body: STREAM }), '/z', 303)).toBeNull()
  })

  test.each([
    ['same-origin', 'follow', '//b.test/', /same-origin/],
    ['same-origin', 'follow', '/z', null],
    ['no-cors', 'follow', '//b.test/', null],
    ['cors', 'follow', '//b.test/', null],
  ])('goes by the mode %s, with %s, to %s', (mode, redirect, location, expected) => {
    const error = toError(toRequest({ mode, redirect }), location)
    if (expected === null) expect(error).toBeNull()
    else expect(error).toMatch(expected)
  })
})
