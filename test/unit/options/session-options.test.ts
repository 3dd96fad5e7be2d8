import { describe, expect, it } from 'vitest'
import { InvalidReturnValueError } from '../../../src/errors/errors.ts'
import type { ResolvedAgentOptions } from '../../../src/options/options.ts'
import { toAgentOptions, toConnections, toOrigin } from '../../../src/options/options.ts'
import type { SessionOptions } from '../../../src/options/session-options.ts'
import { toSessionOptions } from '../../../src/options/session-options.ts'
import type { Dispatcher } from '../../../types/dispatcher.ts'
import { toRefusal } from '../thrown.ts'

/** As JavaScript calls it: with anything at all. */
function resolve(options: object): SessionOptions {
  return Reflect.apply(toSessionOptions, undefined, [options])
}

function resolveAgent(options: object): ResolvedAgentOptions {
  return Reflect.apply(toAgentOptions, undefined, [options])
}

/** The settings of a client without options. */
const SETTINGS = { enablePush: false, maxHeaderListSize: 1_048_576 }

describe('toSessionOptions', () => {
  describe('when h2Options are given', () => {
    it.each([
      ['connectionWindowSize', 100_000],
      ['maxConcurrentStreams', 7],
      ['pingInterval', 5_000],
      ['pingInterval', 0],
    ])('takes %s there for the one at the top: %i', (name, value) => {
      expect(resolve({ h2Options: { [name]: value } })).toEqual(resolve({ [name]: value }))
      expect(resolve({ h2Options: { [name]: value } })).toMatchObject({ [name]: value })
      expect(resolve({ h2Options: { [name]: value }, [name]: value })).toMatchObject({ [name]: value })
    })

    it.each([
      { name: 'connectionWindowSize', one: 100_000, other: 100_001 },
      { name: 'maxConcurrentStreams', one: 1, other: 2 },
      { name: 'pingInterval', one: 0, other: 1 },
    ])('refuses $name with two values, and names both', ({ name, one, other }) => {
      expect(toRefusal(() => resolve({ [name]: one, h2Options: { [name]: other } }))).toBe(
        `Invalid h2Options.${name}: got ${other}, expected the same value as ${name} (${one}), or only one of the two`,
      )
    })

    it.each([
      'connectionWindowSize',
      'maxConcurrentStreams',
      'pingInterval',
    ])('takes null for nothing, in either place: %s', (name) => {
      const defaults = resolve({})
      expect(resolve({ [name]: null, h2Options: { [name]: null } })).toEqual(defaults)
      expect(resolve({ [name]: 70_000, h2Options: { [name]: null } })).toMatchObject({ [name]: 70_000 })
      expect(resolve({ [name]: null, h2Options: { [name]: 70_000 } })).toMatchObject({ [name]: 70_000 })
    })

    it.each([
      ['connectionWindowSize', 65_534],
      ['maxConcurrentStreams', 0],
      ['pingInterval', -1],
    ])('checks %s there as at the top', (name, value) => {
      expect(toRefusal(() => resolve({ h2Options: { [name]: value } }))).toContain(
        `${name}: got ${value}, expected`,
      )
    })

    it.each([
      null,
      undefined,
      {},
      { settings: null },
      { settings: undefined },
      { settings: {} },
    ])('takes %j for nothing', (h2Options) => {
      expect(resolve({ h2Options })).toEqual(resolve({}))
    })

    it.each([1, 'yes', true, [], () => {}])('refuses what is no object: %s', (value) => {
      expect(toRefusal(() => resolve({ h2Options: value }))).toMatch(
        /^Invalid h2Options: got .+, expected an object$/,
      )
      expect(toRefusal(() => resolve({ h2Options: { settings: value } }))).toMatch(
        /^Invalid h2Options.settings: got .+, expected an object$/,
      )
    })

    it('is not touched by what becomes of them later', () => {
      const settings = { headerTableSize: 1 }
      const options = resolve({ h2Options: { settings } })
      settings.headerTableSize = 2
      expect(options.settings.headerTableSize).toBe(1)
      expect([Object.isFrozen(options), Object.isFrozen(options.settings)]).toEqual([true, true])
    })
  })

  describe('when initialWindowSize is given among the settings', () => {
    it('takes it for the one at the top, and leaves it out of what is sent as it is', () => {
      const options = resolve({ h2Options: { settings: { initialWindowSize: 70_000 } } })
      expect(options).toEqual(resolve({ initialWindowSize: 70_000 }))
      expect(options.initialWindowSize).toBe(70_000)
      expect(options.settings).toEqual(SETTINGS)
    })

    it('refuses another value than at the top, and names both', () => {
      const given = { initialWindowSize: 1, h2Options: { settings: { initialWindowSize: 2 } } }
      expect(toRefusal(() => resolve(given))).toBe(
        'Invalid h2Options.settings.initialWindowSize: got 2, expected the same value as initialWindowSize (1), or only one of the two',
      )
    })

    it.each([0, 2 ** 31, 1.5, '1', true])('checks it as at the top: %s', (initialWindowSize) => {
      expect(toRefusal(() => resolve({ h2Options: { settings: { initialWindowSize } } }))).toContain(
        'initialWindowSize: got ',
      )
    })
  })

  const MAX_SETTING = 2 ** 32 - 1
  const ranges = [
    { name: 'headerTableSize', min: 0, max: MAX_SETTING, unit: 'units' },
    { name: 'maxConcurrentStreams', min: 0, max: MAX_SETTING, unit: 'units' },
    { name: 'maxFrameSize', min: 16_384, max: 2 ** 24 - 1, unit: 'bytes' },
    { name: 'maxHeaderListSize', min: 0, max: MAX_SETTING, unit: 'units' },
  ]
  describe.each(ranges)('when the setting $name is given', ({ name, min, max, unit }) => {
    it.each([min, min + 1, max])('sends %i', (value) => {
      const { settings } = resolve({ h2Options: { settings: { [name]: value } } })
      expect(settings).toEqual({ ...SETTINGS, [name]: value })
    })

    it.each([min - 1, max + 1, min + 0.5, Number.NaN, String(max), true, {}])('refuses %s', (value) => {
      const refusal = toRefusal(() => resolve({ h2Options: { settings: { [name]: value } } }))
      expect(refusal).toMatch(new RegExp(`^Invalid h2Options\\.settings\\.${name}: got `))
      expect(refusal).toMatch(new RegExp(`, expected a whole number of ${unit} from ${min} to ${max}$`))
    })
  })

  describe('when other settings are given', () => {
    it('sends enablePush: false, and refuses any other value', () => {
      expect(resolve({ h2Options: { settings: { enablePush: false } } }).settings).toEqual(SETTINGS)
      for (const enablePush of [true, 0, 1, 'false']) {
        const refusal = toRefusal(() => resolve({ h2Options: { settings: { enablePush } } }))
        expect(refusal).toMatch(/^Invalid h2Options\.settings\.enablePush: got .+, expected false: /)
      }
    })

    it.each([true, false])('sends enableConnectProtocol: %s', (enableConnectProtocol) => {
      const { settings } = resolve({ h2Options: { settings: { enableConnectProtocol } } })
      expect(settings).toEqual({ ...SETTINGS, enableConnectProtocol })
    })

    it.each([0, 1, 'true'])('refuses enableConnectProtocol: %j', (enableConnectProtocol) => {
      expect(toRefusal(() => resolve({ h2Options: { settings: { enableConnectProtocol } } }))).toMatch(
        /^Invalid h2Options\.settings\.enableConnectProtocol: got .+, expected true or false$/,
      )
    })

    it.each([
      ...ranges.map(({ name }) => name),
      'enablePush',
      'enableConnectProtocol',
    ])('leaves out %s where it is undefined, and refuses null', (name) => {
      expect(resolve({ h2Options: { settings: { [name]: undefined } } }).settings).toEqual(SETTINGS)
      expect(toRefusal(() => resolve({ h2Options: { settings: { [name]: null } } }))).toBe(
        `Invalid h2Options.settings.${name}: got null, expected a value, or leave the setting out`,
      )
    })

    it.each([
      'initalWindowSize',
      'customSettings',
      'SETTINGS_ENABLE_PUSH',
      'toString',
      '__proto__',
    ])('refuses a name that there is not, with the list of those that there are: %s', (name) => {
      const settings: unknown = JSON.parse(`{ "${name}": 1 }`)
      expect(toRefusal(() => resolve({ h2Options: { settings } }))).toBe(
        `Invalid h2Options.settings: got "${name}", expected one of initialWindowSize, headerTableSize, enablePush, ` +
          'maxConcurrentStreams, maxFrameSize, maxHeaderListSize, enableConnectProtocol',
      )
    })

    it('does not confuse the streams that a server may open with those that we may', () => {
      const options = resolve({ h2Options: { settings: { maxConcurrentStreams: 5 } } })
      expect(options.maxConcurrentStreams).toBe(MAX_SETTING)
      expect(options.settings.maxConcurrentStreams).toBe(5)
    })
  })
})

describe('toConnections', () => {
  it.each([
    [undefined, 4, Number.POSITIVE_INFINITY],
    [null, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    [1, 1, 1],
    [2 ** 32 - 1, 2 ** 32 - 1, 2 ** 32 - 1],
  ])('takes %s for %d sessions, and %d connections of HTTP/1.1', (connections, sessions, http1) => {
    expect(toConnections({ connections })).toEqual({ sessions, http1 })
  })

  it.each([
    0,
    -1,
    1.5,
    2 ** 32,
    Number.POSITIVE_INFINITY,
    Number.NaN,
    '4',
    true,
    {},
  ])('refuses %s', (connections) => {
    expect(toRefusal(() => Reflect.apply(toConnections, undefined, [{ connections }]))).toMatch(
      /^Invalid connections: got .+, expected a whole number of sessions \(or null for no limit\) from 1 to 4294967295$/,
    )
  })
})

describe('toAgentOptions', () => {
  it.each([
    {},
    { h2c: undefined, maxOrigins: null, factory: null },
    { h2c: null },
  ])('gives the defaults for %j', (options) => {
    const { mayBeHttp2, ...others } = resolveAgent(options)
    expect(mayBeHttp2(toOrigin('http://a.example'))).toBe(false)
    expect(mayBeHttp2(toOrigin('https://a.example'))).toBe(true)
    expect(others).toEqual({
      maxOrigins: Number.POSITIVE_INFINITY,
      keptOrigins: 1_000,
      coalesce: null,
      factory: null,
    })
    expect(Object.isFrozen(resolveAgent(options))).toBe(true)
  })

  it.each([1, 5_000, 2 ** 32 - 1])('keeps as many origins as maxOrigins says: %i', (maxOrigins) => {
    expect(resolveAgent({ maxOrigins })).toMatchObject({ maxOrigins, keptOrigins: maxOrigins })
  })

  it.each([0, -1, 1.5, 2 ** 32, Number.NaN, '4', true, {}])('refuses maxOrigins %s', (maxOrigins) => {
    expect(toRefusal(() => resolveAgent({ maxOrigins }))).toMatch(
      /^Invalid maxOrigins: got .+, expected a whole number of origins \(or null for no limit\) from 1 to 4294967295$/,
    )
  })

  it('keeps a factory as it is', () => {
    const factory = (): Dispatcher => {
      throw new Error('Nothing is made here')
    }
    expect(toAgentOptions({ factory }).factory).toBe(factory)
  })

  it.each([1, 'Pool', true, {}, []])('refuses a factory that is no function: %j', (factory) => {
    expect(toRefusal(() => resolveAgent({ factory }))).toMatch(
      /^Invalid factory: got .+, expected a function that returns a dispatcher$/,
    )
  })

  it.each([0, 'yes', {}])('refuses h2c %j', (h2c) => {
    expect(toRefusal(() => resolveAgent({ h2c }))).toMatch(
      /^Invalid h2c: got .+, expected true, false, or a function of the origin$/,
    )
  })

  it('asks an h2c that is a function', () => {
    const { mayBeHttp2 } = resolveAgent({ h2c: ({ port }: URL) => port === '8080' })
    expect(mayBeHttp2(toOrigin('http://a.example:8080'))).toBe(true)
    expect(mayBeHttp2(toOrigin('http://a.example'))).toBe(false)
  })

  it.each([undefined, null, 1, 'yes'])('refuses an h2c that responds %j', (response) => {
    const { mayBeHttp2 } = resolveAgent({ h2c: () => response })
    expect(() => mayBeHttp2(toOrigin('http://a.example'))).toThrow(InvalidReturnValueError)
    expect(() => mayBeHttp2(toOrigin('http://a.example'))).toThrow('expected true or false')
  })

  it.each([
    [{ useH2c: true }, true, true],
    [{ useH2c: false }, false, true],
    [{ useH2c: true, h2c: false }, false, true],
    [{ useH2c: false, h2c: true }, true, true],
    [{ allowH2: false }, false, false],
    [{ allowH2: false, h2c: true }, false, false],
    [{ allowH2: null, useH2c: null }, false, true],
  ])('reads undici’s names: %j', (options, isHttp2, isHttps2) => {
    const { mayBeHttp2 } = resolveAgent(options)
    expect(mayBeHttp2(toOrigin('http://a.example'))).toBe(isHttp2)
    expect(mayBeHttp2(toOrigin('https://a.example'))).toBe(isHttps2)
  })

  it.each(['allowH2', 'useH2c'])('refuses a %s that is no boolean', (name) => {
    expect(toRefusal(() => resolveAgent({ [name]: 1 }))).toMatch(`Invalid ${name}: got 1`)
  })
})
