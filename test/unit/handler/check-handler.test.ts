import { describe, expect, it } from 'vitest'
import { InvalidArgumentError } from '../../../src/errors/errors.ts'
import { checkHandler, checkTunnelHandler } from '../../../src/handler/check-handler.ts'
import { TestHandler } from '../call/call-scene.ts'

const GET = { method: 'GET', path: '/' }

describe('checkHandler', () => {
  const methods = ['onRequestStart', 'onResponseStart', 'onResponseData', 'onResponseEnd', 'onResponseError']

  describe('when the handler has all methods', () => {
    it('accepts it, also with inherited methods', () => {
      expect(() => checkHandler(GET, new TestHandler())).not.toThrow()
    })
  })

  describe('when the handler lacks a method', () => {
    it.each(methods)('names it: %s', (missing) => {
      const handler = Object.fromEntries(methods.map((name) => [name, () => {}]))
      handler[missing] = Object.create(null)
      expect(() => checkHandler(GET, handler)).toThrow(InvalidArgumentError)
      expect(() => checkHandler(GET, handler)).toThrow(`Invalid handler.${missing}: got an object`)
      delete handler[missing]
      expect(() => checkHandler(GET, handler)).toThrow(
        `Invalid handler.${missing}: got undefined, expected a function`,
      )
    })
  })

  describe('when the handler is no object', () => {
    it.each([
      [undefined, 'undefined'],
      [null, 'null'],
      ['a', '"a"'],
      [() => {}, 'a function'],
    ])('refuses it: %s', (handler, got) => {
      expect(() => checkHandler(GET, handler)).toThrow(`Invalid handler: got ${got}, expected an object`)
    })
  })

  describe('when the handler has the shape of undici 6 and 7', () => {
    const legacy = { onConnect() {}, onHeaders() {}, onData() {}, onComplete() {}, onError() {} }

    it('accepts it, and one that also has the other shape', () => {
      expect(() => checkHandler(GET, legacy)).not.toThrow()
      expect(() => checkHandler(GET, Object.assign(new TestHandler(), legacy))).not.toThrow()
    })

    it.each(Object.keys(legacy))('names the missing method: %s', (missing) => {
      const handler = { ...legacy, [missing]: undefined }
      expect(() => checkHandler(GET, handler)).toThrow(`Invalid handler.${missing}: got undefined`)
    })
  })

  describe('when a tunnel is requested', () => {
    const CONNECT = { method: 'CONNECT', path: 'a.example:443' }

    it("requires no body methods: undici's own handlers have none", () => {
      const native = {
        onRequestStart() {},
        onResponseStart() {},
        onResponseError() {},
        onRequestUpgrade() {},
      }
      const legacy = { onConnect() {}, onHeaders() {}, onError() {}, onUpgrade() {} }
      expect(() => checkHandler(CONNECT, native)).not.toThrow()
      expect(() => checkHandler(CONNECT, legacy)).not.toThrow()
      expect(() => checkHandler(CONNECT, { ...legacy, onHeaders: null })).toThrow('Invalid handler.onHeaders')
      expect(() => checkHandler(GET, native)).toThrow('Invalid handler.onResponseData')
    })
  })
})

describe('checkTunnelHandler', () => {
  const tunnels = [
    ['CONNECT', { method: 'CONNECT', path: 'a.example:443' }],
    ['an upgrade', { method: 'GET', path: '/', upgrade: 'websocket' }],
    ['upgrade: true', { method: 'GET', path: '/', upgrade: true }],
  ] as const

  describe('when a tunnel is requested', () => {
    it.each(tunnels)('requires the method that receives it: %s', (_kind, options) => {
      const handler = new TestHandler()
      expect(() => checkTunnelHandler(options, handler)).toThrow(InvalidArgumentError)
      expect(() => checkTunnelHandler(options, handler)).toThrow(
        'Invalid handler.onRequestUpgrade: got undefined, expected a function, since a tunnel is asked for',
      )
    })

    it.each(tunnels)('accepts a handler that has that method: %s', (_kind, options) => {
      const handler = Object.assign(new TestHandler(), { onRequestUpgrade() {} })
      expect(() => checkTunnelHandler(options, handler)).not.toThrow()
    })
  })

  describe('when no tunnel is requested', () => {
    it.each([null, undefined, false])('requires nothing: upgrade: %s', (upgrade) => {
      expect(() => checkTunnelHandler({ method: 'GET', path: '/', upgrade }, new TestHandler())).not.toThrow()
    })
  })
})
