import { describe, expect, test } from 'vitest'
import { OriginMemory } from '../../../src/session/origin-memory.ts'

describe('OriginMemory', () => {
  test('knows nothing at first', () => {
    const { streamLimit, tlsTicket, pingFactor } = new OriginMemory()
    expect({ streamLimit, tlsTicket, pingFactor }).toEqual({
      streamLimit: null,
      tlsTicket: null,
      pingFactor: 1,
    })
  })

  test('doubles the factor of the PING interval with each complaint, up to 64', () => {
    const memory = new OriginMemory()
    const factors = Array.from({ length: 10 }, () => {
      memory.onTooManyPings()
      return memory.pingFactor
    })
    expect(factors).toEqual([2, 4, 8, 16, 32, 64, 64, 64, 64, 64])
  })

  test('is separate for each origin', () => {
    const [one, other] = [new OriginMemory(), new OriginMemory()]
    one.onTooManyPings()
    one.streamLimit = 5
    expect([other.pingFactor, other.streamLimit]).toEqual([1, null])
  })

  test('remembers that the peer has complained of PINGs', () => {
    const memory = new OriginMemory()
    expect(memory.isPingShy).toBe(false)
    memory.onTooManyPings()
    expect(memory.isPingShy).toBe(true)
  })

  test('knows nothing of gRPC before the first response, and remembers the first one in gRPC for good', () => {
    const memory = new OriginMemory()
    const known = [undefined, 'text/html', 'application/grpc', undefined].map((contentType) => {
      memory.onResponse(contentType)
      return memory.isGrpc
    })
    expect(known).toEqual([false, false, true, true])
    expect(new OriginMemory().isGrpc).toBe(null)
  })
})
