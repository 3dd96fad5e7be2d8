import { describe, expect, it } from 'vitest'
import { FetchRequest } from '../../../src/fetch/fetch-request.ts'
import { splitUrl } from '../../../src/fetch/fetch-url.ts'
import { isRedirect, redirectRequest } from '../../../src/fetch/redirect.ts'
import { FakeDispatcher } from '../../support/clients/fake-dispatcher.ts'

const SOURCED = { content: 'body', length: 4, form: null, hasSource: true, contentType: null }
const STREAM = { content: 'body', length: null, form: null, hasSource: false, contentType: null }

function toRequest(more: Partial<FetchRequest> = {}): FetchRequest {
  const rare = { mode: 'cors', cache: 'default', integrity: '', referrer: '', referrerPolicy: '' }
  const fields: string[] = ['authorization', 'a', 'cookie', 'b', 'content-type', 'c', 'x-a', 'd']
  const url = splitUrl('http://a.test/x/y?q#f')
  return Object.assign(
    new FetchRequest(url, 'GET', fields, null, 'follow', new FakeDispatcher(), null, rare),
    more,
  )
}

/** The error of a redirect; null when it is valid. */
function toError(request: FetchRequest, location: string, status = 302): string | null {
  return redirectRequest(request, status, {}, location)?.message ?? null
}

describe('isRedirect', () => {
  it('accepts the five redirect statuses and no other', () => {
    const statuses = Array.from({ length: 600 }, (_, status) => status)
    expect(statuses.filter(isRedirect)).toEqual([301, 302, 303, 307, 308])
  })
})

describe('when a request is redirected', () => {
  it.each([
    ['z', { origin: 'http://a.test', path: '/x/z' }],
    ['/z', { origin: 'http://a.test', path: '/z' }],
    ['?z', { origin: 'http://a.test', path: '/x/y?z' }],
    ['#z', { origin: 'http://a.test', path: '/x/y?q' }],
    ['', { origin: 'http://a.test', path: '/x/y?q' }],
    ['//b.test', { origin: 'http://b.test', path: '/' }],
    ['https://a.test/#g', { origin: 'https://a.test', path: '/' }],
    ['/\u00c3\u00bc', { origin: 'http://a.test', path: '/%C3%BC' }],
  ])('goes to %j', (location, url) => {
    const request = toRequest()
    expect(toError(request, location)).toBeNull()
    expect(request.url).toEqual(url)
    expect([request.redirectCount, request.method]).toEqual([1, 'GET'])
  })

  it('keeps its fields within the same origin', () => {
    const request = toRequest()
    const { fields } = request
    expect(toError(request, '/z')).toBeNull()
    expect(request.fields).toBe(fields)
    expect(request.isTainted).toBe(false)
  })

  it.each([
    '//b.test/',
    'https://a.test/',
    'http://a.test:81/',
  ])('removes the fields meant for one origin on the way to %s, in a new list', (location) => {
    const request = toRequest()
    const { fields } = request
    expect(toError(request, location)).toBeNull()
    expect(request.fields).toEqual(['content-type', 'c', 'x-a', 'd'])
    expect(fields).toHaveLength(8)
    expect(request.isTainted).toBe(true)
  })

  it('removes its body and the fields that describe it when the method becomes GET', () => {
    const request = toRequest({ method: 'POST', body: SOURCED })
    expect(toError(request, '/z')).toBeNull()
    expect([request.method, request.body, request.fields]).toEqual([
      'GET',
      null,
      ['authorization', 'a', 'cookie', 'b', 'x-a', 'd'],
    ])
  })

  it('stays tainted when it returns to the first origin', () => {
    const request = toRequest()
    expect([toError(request, '//b.test/'), toError(request, '//a.test/')]).toEqual([null, null])
    expect([request.isTainted, request.url.origin, request.redirectCount]).toEqual([true, 'http://a.test', 2])
  })

  it('follows twenty redirects', () => {
    const request = toRequest()
    for (let i = 0; i < 20; i++) expect(toError(request, '/z')).toBeNull()
    expect(toError(request, '/z')).toBe('redirect count exceeded')
  })

  it('applies the referrer policy of the response', () => {
    const request = toRequest({ referrerPolicy: 'origin' })
    redirectRequest(request, 302, { 'referrer-policy': 'unheard-of' }, '/z')
    expect(request.referrerPolicy).toBe('origin')
    redirectRequest(request, 302, { 'referrer-policy': 'origin, no-referrer' }, '/z')
    expect(request.referrerPolicy).toBe('no-referrer')
  })
})

describe('when a redirect must not be followed', () => {
  it.each([
    'http://',
    'ftp://a.test/',
    'data:,x',
    'about:blank',
    'javascript:1',
  ])('reports the reason: %s', (location) => {
    const request = toRequest()
    expect(toError(request, location)).toMatch(/URL/)
    expect(request.url.origin).toBe('http://a.test')
  })

  it('reports credentials in the URL, without showing them', () => {
    expect(toError(toRequest(), 'http://user:secret@b.test/')).toMatch(/^(?!.*secret).*credentials/)
  })

  it.each([301, 302, 307, 308])('fails on a %i when the body was a stream', (status) => {
    expect(toError(toRequest({ method: 'POST', body: STREAM }), '/z', status)).toMatch(/stream/)
    expect(toError(toRequest({ method: 'POST', body: SOURCED }), '/z', status)).toBeNull()
  })

  it('follows a 303, which drops the body, when the body was a stream', () => {
    expect(toError(toRequest({ method: 'PUT', body: STREAM }), '/z', 303)).toBeNull()
  })

  it.each([
    ['same-origin', 'follow', '//b.test/', /same-origin/],
    ['same-origin', 'follow', '/z', null],
    ['no-cors', 'follow', '//b.test/', null],
    ['cors', 'follow', '//b.test/', null],
  ])('in mode %s, with %s, goes to %s', (mode, redirect, location, expected) => {
    const error = toError(toRequest({ mode, redirect }), location)
    if (expected === null) expect(error).toBeNull()
    else expect(error).toMatch(expected)
  })
})
