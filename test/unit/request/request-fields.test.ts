import { describe, expect, it } from 'vitest'
import { InvalidArgumentError } from '../../../src/errors/errors.ts'
import type { Request } from '../../../src/request/request.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import { make, toRefusal } from './request-scene.ts'

/** All values of a field, in the order of the wire. */
function toValues({ wire }: Request, name: string): string[] {
  return wire.filter((_value, i) => i % 2 === 1 && wire[i - 1] === name)
}

describe('the priority of a request', () => {
  it('is a field behind those of the caller', () => {
    const { wire } = make({ headers: { 'x-a': '1' }, priority: { urgency: 1, incremental: true } })
    expect(wire.slice(-4)).toEqual(['x-a', '1', 'priority', 'u=1, i'])
  })

  it.each([undefined, null])('is not said with %s', (priority) => {
    expect(make({ priority }).wire).toEqual(make().wire)
  })

  it('is not said where it is that of every request', () => {
    for (const priority of [{}, { incremental: false }, { urgency: undefined }])
      expect(toValues(make({ priority }), 'priority')).toEqual([])
  })

  it.each<[string, DispatchOptions['headers']]>([
    ['an object', { Priority: 'u=6' }],
    ['a flat list', ['PRIORITY', 'u=6']],
    ['pairs', [['priority', 'u=6']]],
    ['Headers', new Headers({ priority: 'u=6' })],
  ])('gives way to a field of the caller, in %s', (_shape, headers) => {
    expect(toValues(make({ headers, priority: { urgency: 0 } }), 'priority')).toEqual(['u=6'])
  })

  it('gives way to an empty field of the caller as well', () => {
    expect(toValues(make({ headers: { priority: '' }, priority: { urgency: 0 } }), 'priority')).toEqual([''])
  })

  it('leaves the options as they were', () => {
    const priority = Object.freeze({ urgency: 2 })
    const headers = Object.freeze({ 'x-a': '1' })
    make({ headers, priority })
    expect([priority, headers]).toEqual([{ urgency: 2 }, { 'x-a': '1' }])
  })

  it('is looked at although a field of the caller wins', () => {
    expect(toRefusal({ headers: { priority: 'u=1' }, priority: { urgency: 9 } }).message).toContain(
      'priority.urgency',
    )
  })
})

describe('the sensitive headers of a request', () => {
  it.each([undefined, null])('are none with %s', (sensitiveHeaders) => {
    expect(make({ sensitiveHeaders }).sensitiveHeaders).toBeNull()
  })

  it('are names in lower case, whether there are such fields or not', () => {
    const { sensitiveHeaders, wire } = make({
      headers: { 'X-Api-Key': 'secret' },
      sensitiveHeaders: ['X-API-Key', 'x-other', 'x-api-key'],
    })
    expect([...(sensitiveHeaders ?? [])]).toEqual(['x-api-key', 'x-other'])
    expect(wire).toEqual(make({ headers: { 'x-api-key': 'secret' } }).wire)
  })

  it('are a copy: a list that is changed later changes nothing', () => {
    const names = ['x-a']
    const request = make({ sensitiveHeaders: names })
    names.push('x-b')
    expect([...(request.sensitiveHeaders ?? [])]).toEqual(['x-a'])
  })

  it.each([
    ['x-a', '"x-a"'],
    [{ 'x-a': true }, 'an object (Object)'],
    [new Set(['x-a']), 'an object (Set)'],
    [true, 'true'],
    [0, '0'],
  ])('are refused when they are no list: %s', (sensitiveHeaders, shown) => {
    const error = toRefusal({ sensitiveHeaders })
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error.message).toBe(
      `Invalid sensitiveHeaders: got ${shown}, expected a list of header field names, or null`,
    )
  })

  it.each([
    [1, '1'],
    [null, 'null'],
    ['', '""'],
    ['x a', '"x a"'],
    ['x-a:', '"x-a:"'],
    [':path', '":path"'],
    ['x-ä', '"x-ä"'],
  ])('are refused when one is no name: %s', (name, shown) => {
    const error = toRefusal({ sensitiveHeaders: ['x-a', name] })
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error.message).toContain(`got ${shown}, expected `)
  })
})
