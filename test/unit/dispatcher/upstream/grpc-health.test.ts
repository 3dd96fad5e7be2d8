import { describe, expect, it } from 'vitest'
import { isServing, toGrpcCheck } from '../../../../src/dispatcher/upstream/grpc-health.ts'

describe('toGrpcCheck()', () => {
  it.each([
    ['', '0000000000'],
    ['a.B', '0000000005' + '0a03612e42'],
    ['é', '0000000004' + '0a02c3a9'],
  ])('of service %o has the message %s', (service, expected) => {
    const { body, path, method, headers } = toGrpcCheck(service)
    expect(Buffer.isBuffer(body) && body.toString('hex')).toBe(expected)
    expect([method, path]).toEqual(['POST', '/grpc.health.v1.Health/Check'])
    expect(headers).toEqual({ 'content-type': 'application/grpc', te: 'trailers' })
  })
})

describe('isServing()', () => {
  const serving = Buffer.from('00000000020801', 'hex')

  it.each([
    ['one that serves', 200, {}, { 'grpc-status': '0' }, serving, true],
    ['one that does not serve', 200, {}, { 'grpc-status': '0' }, Buffer.from('00000000020802', 'hex'), false],
    ['one that does not know', 200, {}, { 'grpc-status': '0' }, Buffer.from('0000000000', 'hex'), false],
    ['one that does not know the service', 200, { 'grpc-status': '5' }, {}, Buffer.alloc(0), false],
    ['one without a health service', 200, { 'grpc-status': '12' }, {}, Buffer.alloc(0), true],
    ['one that is unavailable', 200, {}, { 'grpc-status': '14' }, serving, false],
    ['a proxy', 503, { 'grpc-status': '12' }, {}, Buffer.alloc(0), false],
    ['one without a status', 200, {}, {}, serving, false],
  ])('of %s', (_what, statusCode, headers, trailers, body, expected) => {
    expect(isServing({ statusCode, headers, trailers, body })).toBe(expected)
  })
})
