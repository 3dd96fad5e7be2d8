import { describe, expect, it } from 'vitest'
import { fetch } from '../../../src/index.ts'
import { FakeDispatcher } from '../../support/clients/fake-dispatcher.ts'
import { startOrigin, toFailure, toLatest, toMixedAgent, toValues } from './request-rig.ts'

const URL_OF_NOBODY = 'http://localhost/'

/** Calls as JavaScript may, with any arguments. It must not throw. */
function call(input: unknown, init: unknown): Promise<Response> {
  const promise: unknown = Reflect.apply(fetch, undefined, [input, init])
  if (!(promise instanceof Promise)) throw new Error('It gave no promise')
  return promise
}

/** The error of a call that must not reach its dispatcher. */
async function toRefusal(init: object, input: unknown = URL_OF_NOBODY): Promise<string> {
  const dispatcher = new FakeDispatcher()
  const failure = await toFailure(call(input, { dispatcher, ...init }))
  expect(dispatcher.requests).toEqual([])
  return failure
}

function fail(): never {
  throw new Error('thrown')
}

const UNKNOWN: readonly (readonly [member: string, value: unknown, shown: RegExp, accepted: RegExp])[] = [
  ['method', '', /""/, /method/],
  ['method', 'a b', /a b/, /method/],
  ['method', 'CONNECT', /CONNECT/, /unsupported/],
  ['method', 'trace', /trace/, /unsupported/],
  ['method', Symbol('get'), /Symbol\(get\)/, /method/],
  ['redirect', 'never', /never/, /'follow', 'error' or 'manual'/],
  ['redirect', null, /null/, /'follow', 'error' or 'manual'/],
  ['redirect', Symbol('never'), /Symbol\(never\)/, /expected/],
  ['signal', {}, /an object/, /AbortSignal/],
  ['signal', 'signal', /signal/, /AbortSignal/],
  ['duplex', 'full', /full/, /'half'/],
  ['duplex', null, /null/, /'half'/],
  ['cache', 'never', /never/, /no-store/],
  ['credentials', 'some', /some/, /same-origin/],
  ['mode', 'somehow', /somehow/, /no-cors/],
  ['referrerPolicy', 'some', /some/, /no-referrer/],
  ['referrer', 'http://', /http:\/\//, /URL/],
  ['integrity', Symbol('hash'), /integrity/, /symbol/i],
  ['window', 1, /window/, /null/],
  ['dispatcher', 5, /5/, /dispatch\(\) method/],
  ['dispatcher', {}, /an object/, /dispatch\(\) method/],
  ['dispatcher', 'agent', /agent/, /dispatch\(\) method/],
  ['body', Symbol('body'), /symbol/i, /expected/],
]

describe('when a member of the init is invalid', () => {
  for (const [member, value, shown, accepted] of UNKNOWN) {
    it(`refuses ${member}: ${String(value)}, with an error that names the member, the value and what is accepted`, async () => {
      const failure = await toRefusal({ method: 'POST', [member]: value })
      expect(failure).toMatch(/^TypeError: /)
      expect(failure).toMatch(new RegExp(member, 'i'))
      expect(failure).toMatch(shown)
      expect(failure).toMatch(accepted)
    })
  }

  it.each(['GET', 'HEAD', 'get'])('refuses a body of %s, be it empty', async (method) => {
    for (const body of ['body', '', new Uint8Array()]) {
      expect(await toRefusal({ method, body })).toBe(
        'TypeError: Request with GET/HEAD method cannot have body.',
      )
    }
  })

  it('refuses a stream without duplex, and one with keepalive', async () => {
    const toBody = () => new ReadableStream()
    expect(await toRefusal({ method: 'POST', body: toBody() })).toMatch(/^TypeError: .*duplex: 'half'/)
    const init = { method: 'POST', body: toBody(), duplex: 'half', keepalive: true }
    expect(await toRefusal(init)).toMatch(/^TypeError: .*keepalive/)
  })

  it('refuses a stream that was read, or is being read', async () => {
    const locked = new ReadableStream()
    locked.getReader()
    expect(await toRefusal({ method: 'POST', body: locked, duplex: 'half' })).toMatch(/^TypeError: .*locked/)
    const used = new Blob(['x']).stream()
    await new Response(used).text()
    expect(await toRefusal({ method: 'POST', body: used, duplex: 'half' })).toMatch(/^TypeError: .*read from/)
  })

  it.each([
    ['only-if-cached, but of the same origin', { cache: 'only-if-cached' }],
    ['navigate as mode', { mode: 'navigate' }],
    ['no-cors with a method that is not simple', { mode: 'no-cors', method: 'PUT' }],
  ])('refuses %s', async (_what, init) => {
    expect(await toRefusal(init)).toMatch(/^TypeError: /)
  })

  it.each([
    'method',
    'headers',
    'body',
    'redirect',
    'signal',
    'cache',
    'mode',
    'integrity',
    'dispatcher',
  ])('is rejected with the exception of the getter of %s', async (member) => {
    const init = Object.defineProperty({}, member, { get: fail, enumerable: true })
    expect(await toFailure(call(URL_OF_NOBODY, init))).toBe('Error: thrown')
  })

  it('is rejected with the exception of a value that becomes a string', async () => {
    const value = { toString: fail }
    for (const member of ['method', 'redirect', 'body', 'cache']) {
      expect(await toRefusal({ method: 'POST', [member]: value })).toBe('Error: thrown')
    }
  })
})

describe('when the init is no object', () => {
  it.each([5, 0, true, 'init', Symbol('init'), 1n, Number.NaN])('refuses %s', async (init) => {
    expect(await toFailure(call(URL_OF_NOBODY, init))).toMatch(
      /^TypeError: Invalid fetch init: got .*expected an object/,
    )
  })
})

describe('when the init is an object of another kind', () => {
  class Init {
    readonly dispatcher: unknown

    constructor(dispatcher: unknown) {
      this.dispatcher = dispatcher
    }

    get method(): string {
      return 'PUT'
    }

    get body(): string {
      return 'body'
    }

    get headers(): object {
      return { 'x-a': '1' }
    }
  }

  it.each<[string, (dispatcher: unknown) => unknown]>([
    ['an instance of a class', (dispatcher) => new Init(dispatcher)],
    ['an object that inherits', (dispatcher) => Object.create(new Init(dispatcher))],
    ['a function', (dispatcher) => Object.assign(() => {}, { ...toOwn(new Init(dispatcher)) })],
    [
      'an object without prototype',
      (dispatcher) => Object.assign(Object.create(null), toOwn(new Init(dispatcher))),
    ],
    ['a frozen object', (dispatcher) => Object.freeze(toOwn(new Init(dispatcher)))],
  ])('takes %s', async (_what, toInit) => {
    const server = await startOrigin('HTTP/2')
    await (await call(server.origin, toInit(toMixedAgent(server)))).text()
    expect(toLatest(server)).toMatchObject({ method: 'PUT', body: 'body' })
    expect(toValues(toLatest(server), 'x-a')).toEqual(['1'])
  })

  function toOwn({ dispatcher, method, body, headers }: Init): object {
    return { dispatcher, method, body, headers }
  }
})

describe('when the init has members without effect', () => {
  it.each<[string, object]>([
    ['members that are undefined', toUndefined()],
    ['null where it means none', { body: null, signal: null, window: null }],
    ['unknown members', { agent: 5, timeout: 'x', [Symbol('x')]: 1 }],
    [
      'members that browsers go by',
      { credentials: 'include', keepalive: true, priority: 'high', mode: 'cors' },
    ],
  ])('takes %s', async (_what, init) => {
    const server = await startOrigin('HTTP/2')
    const response = await call(server.origin, { ...init, dispatcher: toMixedAgent(server) })
    expect(await response.text()).toBe('/')
    expect(toLatest(server)).toMatchObject({ method: 'GET', body: '' })
  })

  it('takes null for the init, and for the dispatcher', async () => {
    await expect(call('http://localhost:1/', null)).rejects.toThrow('fetch failed')
    await expect(call('http://localhost:1/', { dispatcher: null })).rejects.toThrow('fetch failed')
  })

  function toUndefined(): object {
    const members = [
      'method',
      'headers',
      'body',
      'redirect',
      'signal',
      'duplex',
      'cache',
      'mode',
      'integrity',
    ]
    return Object.fromEntries(members.map((member) => [member, undefined]))
  }
})

describe('when the init has a method', () => {
  it.each([
    ['get', 'GET'],
    ['Post', 'POST'],
    ['delete', 'DELETE'],
    ['options', 'OPTIONS'],
    ['put', 'PUT'],
    ['patch', 'patch'],
    ['PATCH', 'PATCH'],
    ['custom', 'custom'],
    ["x!#$%&'*+-.^_`|~9", "x!#$%&'*+-.^_`|~9"],
  ])('sends %s as %s', async (method, sent) => {
    const server = await startOrigin('HTTP/2')
    await (await call(server.origin, { method, dispatcher: toMixedAgent(server) })).text()
    expect(toLatest(server).method).toBe(sent)
  })
})

describe('when the init has a cache mode, a referrer or a condition', () => {
  it.each<[string, object, object]>([
    ['no-store', { cache: 'no-store' }, { pragma: 'no-cache', 'cache-control': 'no-cache' }],
    ['reload', { cache: 'reload' }, { pragma: 'no-cache', 'cache-control': 'no-cache' }],
    ['no-cache', { cache: 'no-cache' }, { 'cache-control': 'max-age=0' }],
    ['force-cache', { cache: 'force-cache' }, {}],
    ['default', { cache: 'default' }, {}],
    [
      'a condition',
      { headers: { 'If-None-Match': '"x"' } },
      { pragma: 'no-cache', 'cache-control': 'no-cache' },
    ],
    [
      'a referrer',
      { referrer: 'https://u:p@a.test/p?q#f', referrerPolicy: 'unsafe-url' },
      { referer: 'https://a.test/p?q' },
    ],
    ['the page as referrer', { referrer: 'about:client' }, {}],
  ])('sends the fields of %s', async (_what, init, expected) => {
    const server = await startOrigin('HTTP/2')
    await (await call(server.origin, { ...init, dispatcher: toMixedAgent(server) })).text()
    const { fields } = toLatest(server)
    const watched = fields.filter(([name]) => ['pragma', 'cache-control', 'referer'].includes(name))
    expect(Object.fromEntries(watched)).toEqual(expected)
    expect(watched).toHaveLength(Object.keys(expected).length)
  })
})
