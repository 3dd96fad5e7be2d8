import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'
import { loadModule } from '../../support/clients/plain-module.ts'

const script = fileURLToPath(new URL('../../../bench/e2e/run.mjs', import.meta.url))

interface H2loadModule {
  readH2load(output: string, expected: { requests: number; responseBytes: number }): Record<string, unknown>
}

const { readH2load } = await loadModule<H2loadModule>('bench/e2e/clients/programs.mjs')

describe('npm run bench with options that make no sense', () => {
  it.each([
    { args: ['--rounds', '0'], message: '--rounds must be a whole number from 1 up' },
    { args: ['--requests', '1.5'], message: '--requests must be a whole number from 1 up' },
    { args: ['--scenario', 'get-2k'], message: '--scenario: no get-2k; there are: get-1k, ' },
    {
      args: ['--clients', 'dodici,curl'],
      message: '--clients: no curl; there are: dodici, dodici-wire, undici, ',
    },
    { args: ['--against', 'curl'], message: '--against: no curl; there are: dodici, dodici-wire, undici, ' },
    { args: ['--clients', 'dodici', '--against', 'go'], message: '--against: go is none of the clients' },
    { args: ['--apis', 'head'], message: '--apis: no head; there are: dispatch, ' },
    { args: ['--apis', 'connect'], message: '--apis: none of the scenarios has them' },
    { args: ['--server', 'nginx'], message: '--server must be nghttpd or node' },
    { args: ['--node', '/nowhere/node'], message: '--node: there is no /nowhere/node' },
    { args: ['--dodici', '/nowhere/index.js'], message: '--dodici: there is no /nowhere/index.js' },
    { args: ['--fast'], message: "Unknown option '--fast'" },
  ])('says what is wrong with $args, measures nothing, and ends with exit code 2', async ({
    args,
    message,
  }) => {
    const { code, stdout, stderr } = await runNode(script, ...args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
    expect(stderr).toMatch(/ \(see --help\)\n$/)
  })

  it('shows all scenarios and all clients with --help', async () => {
    const { code, stdout } = await runNode(script, '--help')
    expect(code).toBe(0)
    for (const name of [
      'rounds-80x200',
      'get-1k-origins-1000',
      'tunnel-1k-tls',
      'connect-node',
      'dodici-wire',
      'h2load',
    ])
      expect(stdout).toContain(name)
  })
})

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
