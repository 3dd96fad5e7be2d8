import { describe, expect, it } from 'vitest'
import {
  checkBodyAllowed,
  checkDuplex,
  checkInit,
  isRequest,
  toCallFields,
  toInitBody,
  toMethod,
  toRareMembers,
  toRedirect,
  toSignalOwner,
} from '../../../src/fetch/request-input.ts'
import { MODULES } from '../../api/fetch/request-modules.ts'

const URL_OF_NOBODY = 'http://a.test/'

describe('checkInit', () => {
  it.each([
    [undefined],
    [null],
    [{}],
    [[]],
    [() => {}],
    [Object.create(null)],
    [Object('string')],
  ])('accepts %o', (init) => {
    expect(() => checkInit(init)).not.toThrow()
  })

  it.each([[0], [''], [false], [1n], [Symbol('x')], [Number.NaN]])('refuses %o', (init) => {
    expect(() => checkInit(init)).toThrow(TypeError)
  })
})

describe('isRequest', () => {
  it.each(MODULES)('recognises a Request of $name, and of a subclass', ({ Request }) => {
    expect(isRequest(new Request(URL_OF_NOBODY))).toBe(true)
    expect(isRequest(new (class extends Request {})(URL_OF_NOBODY))).toBe(true)
  })

  it.each([
    [URL_OF_NOBODY],
    [new URL(URL_OF_NOBODY)],
    [{ url: URL_OF_NOBODY, bodyUsed: false }],
    [new Response()],
    [{ [Symbol.toStringTag]: 'Request' }],
    [null],
    [undefined],
    [() => {}],
  ])('does not accept %o as a Request', (input) => {
    expect(isRequest(input)).toBe(false)
  })
})

describe('toMethod', () => {
  it.each([
    ['get', 'GET'],
    ['Head', 'HEAD'],
    ['pOST', 'POST'],
    ['put', 'PUT'],
    ['delete', 'DELETE'],
    ['options', 'OPTIONS'],
    ['patch', 'patch'],
    ['Custom', 'Custom'],
    [null, 'null'],
    [5, '5'],
    [{ toString: () => 'get' }, 'GET'],
  ])('converts %o to %s, as Request does', (given, expected) => {
    expect(toMethod(given)).toBe(expected)
    const { method }: Request = Reflect.construct(Request, [URL_OF_NOBODY, { method: given }])
    // Whether `patch` is normalized differs between versions.
    if (expected !== 'patch') expect(method).toBe(expected)
  })

  it.each([
    [''],
    ['a b'],
    ['a\n'],
    ['ä'],
    ['CONNECT'],
    ['Trace'],
    ['track'],
    [{}],
    [[]],
    [Symbol('x')],
  ])('refuses %o, as Request does', (given) => {
    expect(() => Reflect.construct(Request, [URL_OF_NOBODY, { method: given }])).toThrow(TypeError)
    expect(() => toMethod(given)).toThrow(TypeError)
  })
})

describe('toRedirect, toSignalOwner and checkDuplex', () => {
  it('accept valid values', () => {
    expect(['follow', 'error', 'manual', Object('manual')].map(toRedirect)).toEqual([
      'follow',
      'error',
      'manual',
      'manual',
    ])
    const { signal } = new AbortController()
    expect([null, undefined, signal].map(toSignalOwner)).toEqual([null, null, { signal }])
    for (const duplex of [undefined, 'half']) expect(() => checkDuplex(duplex)).not.toThrow()
  })

  it.each([[null], ['Follow'], [5], [{}], [true]])('refuse %o', (given) => {
    expect(() => toRedirect(given)).toThrow(/^Invalid redirect: got .*'follow', 'error' or 'manual'$/)
    if (given !== null) expect(() => toSignalOwner(given)).toThrow(/^Invalid signal: got .* an AbortSignal$/)
    expect(() => checkDuplex(given)).toThrow(/^Invalid duplex: got .*'half'$/)
  })
})

describe('toRareMembers', () => {
  const plain = { mode: 'cors', cache: 'default', integrity: '', referrer: '', referrerPolicy: '' }

  it('have the defaults when the init is empty', () => {
    expect(toRareMembers(URL_OF_NOBODY, 'GET', null, {})).toEqual(plain)
    expect(toRareMembers(URL_OF_NOBODY, 'POST', null, { method: 'POST', body: 'x', signal: null })).toEqual(
      plain,
    )
  })

  it('take the values of the init', () => {
    const said = {
      mode: 'no-cors',
      cache: 'reload',
      integrity: 'sha256-x',
      referrer: 'http://b.test/c',
      referrerPolicy: 'origin',
    }
    expect(toRareMembers(URL_OF_NOBODY, 'GET', null, said)).toEqual(said)
    expect(toRareMembers(URL_OF_NOBODY, 'GET', null, { credentials: 'omit', keepalive: true })).toEqual(plain)
    expect(toRareMembers(URL_OF_NOBODY, 'GET', null, { referrer: 'about:client' })).toEqual(plain)
  })

  it.each(MODULES)('take the values of the Request of $name, without a check', ({ Request }) => {
    const said = {
      mode: 'same-origin',
      cache: 'only-if-cached',
      integrity: 'sha256-x',
      referrerPolicy: 'origin',
    }
    const base = new Request(URL_OF_NOBODY, { ...said, referrer: 'http://b.test/c' })
    const expected = { ...said, referrer: 'http://b.test/c' }
    expect(toRareMembers(URL_OF_NOBODY, 'GET', base, {})).toEqual(expected)
    expect(toRareMembers(URL_OF_NOBODY, 'GET', base, { dispatcher: null })).toEqual(expected)
  })

  it.each(MODULES)('reset the referrer of a Request of $name when the init changes it', ({ Request }) => {
    const base = new Request(URL_OF_NOBODY, {
      cache: 'reload',
      referrer: 'http://b.test/c',
      referrerPolicy: 'origin',
    })
    expect(toRareMembers(URL_OF_NOBODY, 'GET', base, { method: 'GET' })).toEqual({
      ...plain,
      cache: 'reload',
    })
    expect(toRareMembers(URL_OF_NOBODY, 'GET', base, { cache: 'no-store' })).toEqual({
      ...plain,
      cache: 'no-store',
    })
  })

  it('do not treat an undefined member as a change', () => {
    const base = new Request(URL_OF_NOBODY, { referrer: 'http://b.test/c' })
    const { referrer } = toRareMembers(URL_OF_NOBODY, 'GET', base, { method: undefined, signal: undefined })
    expect(referrer).toBe('http://b.test/c')
  })
})

describe('toInitBody', () => {
  it('adds the type of the body, unless the caller has set one', () => {
    const fields = ['a', 'b']
    expect(toInitBody({ body: 'x' }, 'POST', fields).content).toBe('x')
    expect(fields).toEqual(['a', 'b', 'content-type', 'text/plain;charset=UTF-8'])
    toInitBody({ body: new Blob([], { type: 'x/y' }) }, 'POST', fields)
    expect(fields).toHaveLength(4)
    const none: string[] = []
    toInitBody({ body: new Uint8Array() }, 'POST', none)
    toInitBody({ body: new Blob([]) }, 'POST', none)
    expect(none).toEqual([])
  })

  it('copies bytes, since the caller may change them', () => {
    const bytes = new Uint8Array([1, 2, 3])
    const { content } = toInitBody({ body: bytes.subarray(1) }, 'POST', [])
    bytes.fill(0)
    expect(content).toEqual(new Uint8Array([2, 3]))
  })

  it('refuses a body with GET and HEAD', () => {
    for (const method of ['GET', 'HEAD']) {
      expect(() => toInitBody({ body: '' }, method, [])).toThrow(TypeError)
      expect(() => checkBodyAllowed(method)).toThrow(TypeError)
    }
    for (const method of ['POST', 'get', 'DELETE']) expect(() => checkBodyAllowed(method)).not.toThrow()
  })

  it('requires duplex for a stream', () => {
    const toBodies = () => [new ReadableStream(), (async function* () {})()]
    for (const body of toBodies()) expect(() => toInitBody({ body }, 'POST', [])).toThrow(/duplex: 'half'/)
    for (const body of toBodies()) {
      expect(toInitBody({ body, duplex: 'half' }, 'POST', []).hasSource).toBe(false)
    }
  })
})

describe('toCallFields', () => {
  const base = new Request(URL_OF_NOBODY, { headers: { a: '1' } })

  it('are those of the init, or else of the Request', () => {
    expect(toCallFields(base, {})).toEqual(['a', '1'])
    expect(toCallFields(base, { headers: undefined })).toEqual(['a', '1'])
    expect(toCallFields(base, { headers: { b: '2' } })).toEqual(['b', '2'])
    expect(toCallFields(base, { headers: {} })).toEqual([])
    expect(toCallFields(null, {})).toEqual([])
  })
})
