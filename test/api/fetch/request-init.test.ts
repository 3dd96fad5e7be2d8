import { describe, expect, it } from 'vitest'
import { fetch } from '../../../src/index.ts'
import { FakeDispatcher } from '../../support/clients/fake-dispatcher.ts'
import { toFailure } from './request-rig.ts'

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

  it.each([
    ['only-if-cached, but of the same origin', { cache: 'only-if-cached' }],
    ['navigate as mode', { mode: 'navigate' }],
    ['no-cors with a method that is not simple', { mode: 'no-cors', method: 'PUT' }],
  ])('refuses %s', async (_what, init) => {
    expect(await toRefusal(init)).toMatch(/^TypeError: /)
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
