import { describe, expect, it } from 'vitest'
import { loadModule } from '../../support/clients/plain-module.ts'
import type { Entry, Scenario } from './report-result.ts'
import { toEntry, toScenario } from './report-result.ts'

interface PrintModule {
  toTables(scenario: Scenario, entries: readonly Entry[], against: readonly string[]): string
}

const { toTables } = await loadModule<PrintModule>('bench/e2e/print.mjs')

/** The cells of each table, with its head, line by line. */
function print(entries: readonly Entry[], ...against: string[]): string[][][] {
  const text = toTables(toScenario('get-1k', entries), entries, against)
  return text.split('\n\n').map((table) => table.split('\n').map((line) => line.split(/ {2,}/)))
}

describe('the tables of a run', () => {
  it('say how many requests a second of CPU time is worth', () => {
    const [[head = [], row = []] = []] = print([toEntry('dodici-wire', 'dispatch', 40)])
    expect(row[head.indexOf('requests/CPU s')]).toBe('25,000')
    expect(row[head.indexOf('CPU µs')]).toBe('40.0 (36.0–44.0)')
  })

  it('have ratios to each client that is asked for, with their intervals, API by API', () => {
    const entries = [
      toEntry('dodici-wire', 'dispatch', 25),
      toEntry('dodici', 'dispatch', 50),
      toEntry('undici', 'dispatch', 100),
    ]
    const [, undici, dodici, ...more] = print(entries, 'undici', 'dodici')
    expect(more).toEqual([])
    expect(undici).toEqual([
      ['÷ undici 8', 'API', 'requests/s', 'requests/CPU s', 'CPU', 'heap bytes'],
      [
        'dodici-wire',
        'dispatch',
        ...Array(2).fill('4.00 [4.00, 4.00]'),
        ...Array(2).fill('0.25 [0.25, 0.25]'),
      ],
      ['dodici', 'dispatch', ...Array(2).fill('2.00 [2.00, 2.00]'), ...Array(2).fill('0.50 [0.50, 0.50]')],
    ])
    expect(dodici?.map(([client]) => client)).toEqual(['÷ dodici', 'dodici-wire', 'undici'])
  })

  it('take the ratios within the rounds', () => {
    const own = toEntry('dodici-wire', 'dispatch', 50)
    const [first, ...rest] = own.rounds
    const other = { ...own, client: 'undici', rounds: first === undefined ? [] : [...rest, first] }
    const [, [, row] = []] = print([own, other], 'undici')
    expect(row?.[4]).toBe('1.10 [0.82, 1.11]')
  })

  it('hold each API against the one way to ask that a client has', () => {
    const apis = ['dispatch', 'request', 'stream']
    const entries = [...apis.map((api) => toEntry('dodici-wire', api, 50)), toEntry('go', 'request', 25)]
    const [, go] = print(entries, 'go')
    expect(go?.slice(1).map(([client, api, , , cpu]) => [client, api, cpu])).toEqual(
      apis.map((api) => ['dodici-wire', api, '2.00 [2.00, 2.00]']),
    )
  })

  it('hold a tunnel against a tunnel, and all that ask against session.request()', () => {
    const entries = [
      ...['request', 'connect'].map((api) => toEntry('dodici', api, 50)),
      toEntry('node-http2', 'session.request', 25),
      toEntry('node-http2', 'connect', 100),
    ]
    const [, bare] = print(entries, 'node-http2')
    expect(bare?.slice(1).map(([, api, , , cpu]) => [api, cpu?.slice(0, 4)])).toEqual([
      ['request', '2.00'],
      ['connect', '0.50'],
    ])
  })

  it('leave out an API that the other one was not measured with, and a client that took no part', () => {
    const entries = [
      ...['request', 'pipeline'].map((api) => toEntry('dodici', api, 50)),
      toEntry('undici', 'request', 50),
    ]
    const tables = print(entries, 'node-http2', 'undici')
    expect(tables).toHaveLength(2)
    expect(tables[1]?.slice(1).map(([, api]) => api)).toEqual(['request'])
  })

  it('have a dash where there is no figure to hold against another', () => {
    const unknown = { allocatedBytes: null, gcMicros: null, residentBytes: null }
    const entries = [
      toEntry('dodici', 'request', 50),
      toEntry('go', 'request', 50, unknown),
      // A program that was so short that the shell saw no CPU time.
      toEntry('h2load', 'request', 50, { ...unknown, cpuMicros: 0 }),
    ]
    const [figures, go] = print(entries, 'go')
    expect(figures?.[3]?.[3]).toBe('-')
    expect(go?.slice(1).map(([client, , , perCpu, , heap]) => [client, perCpu, heap])).toEqual([
      ['dodici', '1.00 [1.00, 1.00]', '-'],
      ['h2load', '-', '-'],
    ])
  })
})
