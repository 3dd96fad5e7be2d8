import { describe, expect, it } from 'vitest'
import { toGrpcStatus, toOverload } from '../../../../src/dispatcher/upstream/response-status.ts'
import type { IncomingHttpHeaders } from '../../../../types/index.ts'

describe('toGrpcStatus()', () => {
  it.each<[IncomingHttpHeaders, number | null]>([
    [{}, null],
    ...['0', '1', '3', '5', '6', '7', '9', '10', '11', '16', '17', 'x'].map(
      (status): [IncomingHttpHeaders, null] => [{ 'grpc-status': status }, null],
    ),
    [{ 'grpc-status': '2' }, 500],
    [{ 'grpc-status': '4' }, 504],
    [{ 'grpc-status': '8' }, 429],
    [{ 'grpc-status': '12' }, 501],
    [{ 'grpc-status': '13' }, 500],
    [{ 'grpc-status': '14' }, 503],
    [{ 'grpc-status': '15' }, 500],
    [{ 'grpc-status': ['14', '14'] }, null],
  ])('of %o is %o', (fields, expected) => {
    expect(toGrpcStatus(fields)).toBe(expected)
  })
})

describe('toOverload()', () => {
  const date = 'Thu, 26 Nov 2026 10:00:00 GMT'

  it.each([
    [429, { 'retry-after': '3' }, 3_000],
    [503, { 'retry-after': '0' }, 0],
    [503, { 'retry-after': 'Thu, 26 Nov 2026 10:00:07 GMT', date }, 7_000],
    [503, { 'retry-after': 'Thu, 26 Nov 2026 09:59:00 GMT', date }, null],
    [503, { 'retry-after': 'Thu, 26 Nov 2026 10:00:07 GMT', date: 'yesterday' }, null],
    [503, { 'retry-after': 'soon', date }, null],
    [503, { 'retry-after': '-1', date }, null],
    [429, {}, null],
    [500, { 'retry-after': '3' }, null],
    [301, { 'retry-after': '3' }, null],
  ])('of %d with %o is %o', (status, fields, expected) => {
    expect(toOverload(status, fields)).toBe(expected)
  })

  it('goes by our own clock where the server shows none', () => {
    const value = new Date(Date.now() + 60_000).toUTCString()
    const overload = toOverload(503, { 'retry-after': value })
    expect(overload).toBeGreaterThan(50_000)
    expect(overload).toBeLessThanOrEqual(60_000)
  })
})
