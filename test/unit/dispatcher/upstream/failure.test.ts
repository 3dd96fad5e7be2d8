import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import {
  isForFree,
  isReplayableBody,
  isSafeToRepeat,
  isUpstreamFailure,
  mayFailOver,
  toProcessed,
} from '../../../../src/dispatcher/upstream/failure.ts'
import { errors } from '../../../../src/index.ts'

const GET = { path: '/', method: 'GET' } as const

function toNodeError(fields: object): Error {
  return Object.assign(new Error('of Node'), fields)
}

describe('isUpstreamFailure()', () => {
  it.each([
    ...[new errors.ConnectError('x'), new errors.ConnectTimeoutError('x'), new errors.AlpnError('x')],
    ...[new errors.SocketError('x'), new errors.StreamError('x'), new errors.HeadersTimeoutError('x')],
    ...[new errors.BodyTimeoutError('x'), new errors.QueueTimeoutError('x')],
    ...[new errors.RequestTimeoutError('x'), new errors.ProxyConnectionError()],
    toNodeError({ syscall: 'connect', code: 'ECONNREFUSED' }),
    toNodeError({ code: 'ECONNRESET' }),
  ])('is true for %o', (error) => expect(isUpstreamFailure(error)).toBe(true))

  it.each([
    ...[new errors.RequestAbortedError(), new errors.InvalidArgumentError('x'), new Error('x')],
    ...[new errors.ResponseExceededMaxSizeError('x'), new errors.ClientDestroyedError()],
    ...[new errors.TunnelRefusedError('x', 403), new DOMException('x', 'TimeoutError')],
  ])('is false for %o', (error) => expect(isUpstreamFailure(error)).toBe(false))
})

describe('toProcessed()', () => {
  it.each([
    [new errors.SocketError('x', { processed: 'no' }), 'no'],
    [new errors.SocketError('x', { processed: 'maybe' }), 'maybe'],
    [toNodeError({ syscall: 'connect' }), 'no'],
    [toNodeError({ syscall: 'read', code: 'ECONNRESET' }), 'maybe'],
  ])('of %o is %s', (error, expected) => expect(toProcessed(error)).toBe(expected))
})

describe('isSafeToRepeat()', () => {
  it.each(['GET', 'HEAD', 'OPTIONS', 'TRACE'])('is true for %s', (method) => {
    expect(isSafeToRepeat({ path: '/', method })).toBe(true)
    expect(isSafeToRepeat({ path: '/', method, idempotent: false })).toBe(false)
  })

  it.each(['POST', 'PATCH', 'PUT', 'DELETE'])('is false for %s', (method) => {
    expect(isSafeToRepeat({ path: '/', method })).toBe(false)
    expect(isSafeToRepeat({ path: '/', method, idempotent: true })).toBe(true)
  })

  it('is false for a tunnel', () => {
    expect(isSafeToRepeat({ path: 'a:1', method: 'CONNECT', idempotent: true })).toBe(false)
    expect(isSafeToRepeat({ ...GET, upgrade: 'websocket', idempotent: true })).toBe(false)
  })
})

describe('isForFree()', () => {
  const lost = new errors.ConnectError('after a lost session', { processed: 'maybe' })
  const counted = new errors.ConnectError('after a refused stream', { processed: 'no' })
  counted.attempts = 1

  it.each<[Error, boolean]>([
    [new errors.ConnectError('x', { processed: 'no' }), true],
    [toNodeError({ syscall: 'connect', code: 'ECONNREFUSED' }), true],
    [toNodeError({ syscall: 'getaddrinfo', code: 'ENOTFOUND' }), true],
    [new errors.ConnectTimeoutError('the caller has waited', { processed: 'no' }), false],
    [new errors.StreamError('refused: the server had work', { processed: 'no' }), false],
    [new errors.SocketError('x', { processed: 'no' }), false],
    [toNodeError({ syscall: 'read', code: 'ECONNRESET' }), false],
    [lost, false],
    [counted, false],
  ])('of %o is %s', (error, expected) => expect(isForFree(error)).toBe(expected))
})

describe('isReplayableBody()', () => {
  it.each([
    ...[null, undefined, 'text', Buffer.from('x'), new ArrayBuffer(1), new Blob(['x']), new FormData()],
    ...[new URLSearchParams('a=b'), () => 'made'],
  ])('is true for %o', (body) => expect(isReplayableBody(body)).toBe(true))

  it.each([Readable.from(['x']), new ReadableStream(), ['x'].values()])('is false for %o', (body) =>
    expect(isReplayableBody(body)).toBe(false))
})

describe('mayFailOver()', () => {
  const unprocessed = new errors.ConnectError('x', { processed: 'no' })
  const lost = new errors.SocketError('x', { processed: 'maybe' })

  it.each([
    ['a GET that may be processed', GET, lost, true, true],
    ['the same with replaySafe: false', GET, lost, false, false],
    ['a POST that may be processed', { path: '/', method: 'POST' }, lost, true, false],
    ['a POST that is not processed', { path: '/', method: 'POST', body: 'x' }, unprocessed, false, true],
    ['a PUT of a stream', { path: '/', method: 'PUT', body: Readable.from(['x']) }, unprocessed, true, false],
    ['a GET whose time is over', GET, new errors.RequestTimeoutError('x'), true, false],
    ['a GET with an error of the caller', GET, new Error('x'), true, false],
  ])('of %s', (_what, options, error, replaySafe, expected) => {
    expect(mayFailOver(options, error, replaySafe)).toBe(expected)
  })
})
