/**
 * `errors` has each of undici's names, and its classes know undici's errors.
 */

import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import * as errors from '../../../src/errors/error-classes.ts'

const require = createRequire(import.meta.url)

/** An error of the class of a namespace, such as `errors`. */
function make(namespace: object, name: string): Error {
  const type: unknown = Reflect.get(namespace, name)
  if (typeof type !== 'function') throw new Error(`There is no ${name}`)
  return Reflect.construct(type, ARGUMENTS[name] ?? ['It broke'])
}

type ErrorClass = new (...args: unknown[]) => Error & { code?: string }

/** undici's module of errors alone: it loads on each Node. */
const versions = ['undici-6', 'undici', 'undici-8'].map((name) => {
  const theirs: Record<string, ErrorClass> = require(`${name}/lib/core/errors.js`)
  return { name, theirs }
})
const ours: ReadonlyMap<string, unknown> = new Map(Object.entries(errors))

/** What a constructor needs beside a message. */
const ARGUMENTS: Record<string, unknown[]> = {
  RequestRetryError: ['It broke', 503, { headers: { a: 'b' }, data: { count: 2 } }],
  ResponseError: ['It broke', 404, { headers: ['a', 'b'], body: 'no', bodyTruncated: true }],
  ResponseStatusCodeError: ['It broke', 404, { a: 'b' }, 'no'],
  HTTPParserError: ['It broke', 'INVALID_TOKEN', Buffer.from('GET')],
  SecureProxyConnectionError: [new Error('beneath'), 'It broke'],
  ProxyConnectionError: [new Error('beneath'), 'It broke'],
  Socks5ProxyError: ['It broke', 'UND_ERR_SOCKS5_AUTH'],
}
const NAMES = [...new Set(versions.flatMap(({ theirs }) => Object.keys(theirs)))].sort()

/** Own fields with a value, but for the stack. `name` is inherited in ours. */
function toFields(error: Error): Record<string, unknown> {
  const { stack: _stack, ...fields } = Object.fromEntries(
    Object.getOwnPropertyNames(error)
      .map((key): [string, unknown] => [key, Reflect.get(error, key)])
      .filter(([, value]) => value !== undefined),
  )
  return { ...fields, name: error.name }
}

describe('errors', () => {
  it.each(versions)('has each name of $name', ({ theirs }) => {
    expect(Object.keys(theirs).filter((name) => !ours.has(name))).toEqual([])
    expect(Object.keys(theirs).length).toBeGreaterThan(20)
  })

  describe.each(versions)('over $name', ({ theirs }) => {
    it.each(NAMES.filter((name) => name in theirs))("takes undici's error for its own: %s", (name) => {
      const error = make(theirs, name)
      expect(error).toBeInstanceOf(ours.get(name))
      expect(error instanceof errors.UndiciError).toBe(error instanceof (theirs.UndiciError as ErrorClass))
      expect(error).not.toBeInstanceOf(errors.DodiciError)
    })
  })

  it.each(
    Object.keys(versions[2]?.theirs ?? {}),
  )('makes errors with the name, code and fields that undici 8 gives them: %s', (name) => {
    const { theirs } = versions[2] ?? { theirs: {} }
    const error = make(errors, name)
    expect(toFields(error)).toMatchObject(toFields(make(theirs, name)))
    expect(error).toBeInstanceOf(Reflect.get(theirs, name))
  })

  it('has our own errors for instances of UndiciError and AbortError', () => {
    expect(new errors.StreamError('It broke')).toBeInstanceOf(errors.UndiciError)
    expect(new errors.RequestAbortedError()).toBeInstanceOf(errors.AbortError)
    expect(new errors.StreamError('It broke')).not.toBeInstanceOf(errors.AbortError)
  })

  it('has codes that logs, a spread and JSON show', () => {
    for (const error of [new errors.SocketError('It broke'), new errors.RequestRetryError()]) {
      expect({ ...error }).toHaveProperty('code', error.code)
      expect(JSON.parse(JSON.stringify(error))).toHaveProperty('code', error.code)
    }
  })
})
