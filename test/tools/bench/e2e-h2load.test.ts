import { describe, expect, it } from 'vitest'
import { readH2load } from '../../../bench/e2e/clients/programs.mjs'

describe('what h2load says', () => {
  const output = [
    'finished in 76.05ms, 1000.5 req/s, 140.01MB/s',
    'requests: 40 total, 40 started, 40 done, 40 succeeded, 0 failed, 0 errored, 0 timeout',
    'status codes: 40 2xx, 0 3xx, 0 4xx, 0 5xx',
    'traffic: 42.90KB (43930) total, 1.50KB (1540) headers (space savings 90.1%), 40.00KB (40960) data',
    'user 0.003',
    'system 0.001',
    '',
  ].join('\n')

  it('is read as figures for each request', () => {
    const figures = readH2load(output, { requests: 40, responseBytes: 1024 })
    expect(figures).toMatchObject({ requestsPerSecond: 1000.5, cpuMicros: 100, p50Micros: null })
  })

  it.each([
    { what: 'a response is missing', expected: { requests: 41, responseBytes: 1024 } },
    { what: 'responses have another length', expected: { requests: 40, responseBytes: 1000 } },
  ])('is an error when $what', ({ expected }) => {
    expect(() => readH2load(output, expected)).toThrow('40 of')
  })

  it('is an error when it is something else', () => {
    expect(() => readH2load('', { requests: 40, responseBytes: 1024 })).toThrow('h2load has no')
  })
})
