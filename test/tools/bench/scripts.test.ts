/** The scripts of bench/ that measure one thing each: what they print of a short run, and what they refuse. */

import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'

const toScript = (name: string): string =>
  fileURLToPath(new URL(`../../../bench/${name}.mjs`, import.meta.url))

/** Runs a script that has to end well. @returns its lines, and what it said of its progress */
async function run(name: string, ...args: string[]) {
  const { code, stdout, stderr } = await runNode(toScript(name), ...args)
  expect(code).toBe(0)
  const lines = stdout.trim().split('\n')
  return { stdout, stderr, lines, rows: lines.map((line) => line.split(/ {2,}/)) }
}

describe('options that make no sense', () => {
  it.each([
    ['threads', ['--engine', 'other'], '--engine must be node, wire or both'],
    ['attacks', ['--attacks', 'NONE'], '--attacks: none has NONE in its name'],
    ['attacks', ['--engine', 'other'], '--engine: no other; there are: wire, node'],
    ['attacks', ['--write', '--engine', 'wire'], '--write needs all attacks, on both engines'],
    ['upstreams', ['--most', 'little'], '--most must be a number above 0'],
    ['record', ['--rounds', 'many'], '--rounds must be a whole number from 1 up'],
    ['record', ['--what', 'uploads'], '--what: no uploads; there are: requests, bodies'],
    ['record', ['--quick'], "Unknown option '--quick'"],
    ['record', ['--node', '/nowhere/node'], "/nowhere/node doesn't run as Node"],
    ['e2e/run', ['--rounds', '0'], '--rounds must be a whole number from 1 up'],
    ['e2e/run', ['--requests', '1.5'], '--requests must be a whole number from 1 up'],
    ['e2e/run', ['--scenario', 'get-2k'], '--scenario: no get-2k; there are: get-1k, '],
    ['e2e/run', ['--clients', 'dodici,curl'], '--clients: no curl; there are: dodici, dodici-wire, undici, '],
    ['e2e/run', ['--against', 'curl'], '--against: no curl; there are: dodici, dodici-wire, undici, '],
    ['e2e/run', ['--clients', 'dodici', '--against', 'go'], '--against: go is none of the clients'],
    ['e2e/run', ['--apis', 'head'], '--apis: no head; there are: dispatch, '],
    ['e2e/run', ['--apis', 'connect'], '--apis: none of the scenarios has them'],
    ['e2e/run', ['--server', 'nginx'], '--server must be nghttpd or node'],
    ['e2e/run', ['--node', '/nowhere/node'], '--node: there is no /nowhere/node'],
    ['e2e/run', ['--dodici', '/nowhere/index.js'], '--dodici: there is no /nowhere/index.js'],
    ['e2e/run', ['--fast'], "Unknown option '--fast'"],
    ['e2e/compare', ['HEAD', 'no-such-revision'], 'no such revision: no-such-revision'],
    ['e2e/compare', ['HEAD', '--', '--all'], 'no such revision: --all'],
    ['e2e/compare', ['HEAD'], 'two revisions are needed'],
    ['e2e/compare', ['HEAD', '.', 'HEAD'], 'two revisions are needed'],
    ['e2e/compare', ['HEAD', '.', '--scenario', 'nothing'], '--scenario: no nothing; there are: get-1k'],
    ['e2e/compare', ['HEAD', '.', '--engine', 'steam'], '--engine must be node or wire'],
    ['e2e/compare', ['HEAD', '.', '--rounds', '0'], '--rounds must be a whole number from 1 up'],
    ['e2e/compare', ['HEAD', '.', '--apis', 'connect'], '--apis: none of the scenarios has them'],
  ])('of %s: %j is refused before anything is measured', async (name, args, message) => {
    const { code, stdout, stderr } = await runNode(toScript(name), ...args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
  })
})

describe('threads', () => {
  it('measures each setup with one core and with two, and prints a table', async () => {
    const { lines, stderr } = await run('threads', '--engine', 'wire', '--rounds', '1', '--requests', '400')
    expect(stderr).toBe('round 1 of 1\n')
    const rows = lines.filter((line) => line.startsWith('| wire |'))
    expect(rows.map((row) => row.split(' | ').slice(1, 3))).toEqual(
      ['1', '2'].flatMap((cores) =>
        ['one thread', 'two worker threads', 'two cluster processes'].map((setup) => [cores, setup]),
      ),
    )
  })
})

describe('attacks', () => {
  it('plays an attack to a client of each engine, and prints a table', async () => {
    const { lines, stderr } = await run('attacks', '--attacks', 'PUSH', '--megabytes', '1')
    expect(stderr).toBe('PUSH_PROMISE, wire\nPUSH_PROMISE, node\n')
    const rows = lines.filter((line) => line.startsWith('| PUSH_PROMISE |'))
    const [wire, node] = rows.map((row) => row.split('|').map((cell) => cell.trim()))
    const error = 'SocketError, PROTOCOL_ERROR'
    expect(wire?.slice(2, 6)).toEqual(['`wire`', error, error, 'served'])
    expect([node?.[2], node?.[5]]).toEqual(['`node`', 'served'])
    // MB, ms, and MB of memory.
    expect(wire?.[6]).toMatch(/^0\.\d\d$/)
    expect(wire?.[7]).toMatch(/^\d+$/)
    expect(wire?.[9]).toMatch(/^[\d.]+, [\d.]+$/)
  })
})

describe('upstreams', () => {
  const FEW = ['--rounds', '2', '--requests', '100', '--in-flight', '10']

  it('measures an UpstreamPool of one upstream beside a Pool, on both engines', async () => {
    const { rows, stderr } = await run('upstreams', ...FEW, '--most', '1000', '--tls')
    expect(stderr).toBe('')
    const [, , head, ...measured] = rows
    expect(head).toEqual(['engine', 'Pool', 'UpstreamPool', 'ratio (median of the turns)'])
    expect(measured.map(([engine]) => engine)).toEqual(['node', 'wire'])
    for (const [, ...figures] of measured)
      for (const figure of figures) expect(Number(figure)).toBeGreaterThan(0)
  })

  it('fails where the ratio is above the limit', async () => {
    const args = [...FEW, '--engine', 'wire', '--most', '0.001']
    const { code, stdout } = await runNode(toScript('upstreams'), ...args)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^More than 0.001 times a Pool's$/m)
  })
})

describe('connect', () => {
  it('measures each client with each kind of call', async () => {
    const { stdout, stderr } = await run('connect', '--rounds', '2', '--calls', '64')
    expect(stderr).toBe('')
    const rows = [...stdout.matchAll(/^(unary|server stream), \w+ \w+ +(\S+(?: \(\w+\))?) +\d.*\]$/gm)]
    const names = ['dodici/connect (wire)', 'dodici/connect (node)', 'connect-node']
    expect(rows.map(([, call, name]) => [call, name])).toEqual([
      ...names.map((name) => ['unary', name]),
      ...names.map((name) => ['server stream', name]),
    ])
  })
})

describe('--help', () => {
  it.each([
    ['record', ['node bench/record.mjs']],
    [
      'e2e/run',
      ['rounds-80x200', 'get-1k-origins-1000', 'tunnel-1k-tls', 'connect-node', 'dodici-wire', 'h2load'],
    ],
  ])('of %s names what can be measured', async (name, words) => {
    const { stdout } = await run(name, '--help')
    for (const word of words) expect(stdout).toContain(word)
  })
})
