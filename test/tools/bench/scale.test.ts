import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../support/clients/child.ts'

const script = fileURLToPath(new URL('../../../bench/scale.mjs', import.meta.url))
const clients = ['--clients', 'dodici-wire,node-http2']
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const hasUndici8 = major > 22 || (major === 22 && minor >= 19)

describe('bench/scale.mjs', () => {
  it('looks at the memory of a process every so many requests', async () => {
    const args = ['--what', 'requests', '--requests', '500', '--step', '200', ...clients]
    const { code, stdout, stderr } = await runNode(script, ...args)
    expect([code, stderr]).toEqual([0, 'requests: dodici (wire)\nrequests: node:http2 (untuned reference)\n'])
    const rows = stdout.split('\n').filter((line) => /^(?:\d|collected)/.test(line))
    const looks = ['0', '200', '400', '500', 'collected']
    expect(rows.map((row) => row.split(' ')[0])).toEqual([...looks, ...looks])
  })

  it('tells what a connection takes', async () => {
    const args = ['--what', 'connections', '--connections', '20', '--rounds', '1', ...clients]
    const { code, stdout, stderr } = await runNode(script, ...args)
    expect([code, stderr]).toEqual([0, 'connections: round 1 of 1\n'])
    expect(stdout).toContain('18 idle connections after a request on each')
    const rows = stdout.split('\n').filter((line) => / request /.test(line) && line.startsWith('dodici'))
    expect(rows.map((row) => row.split(/ {2,}/).length)).toEqual([5])
    expect(stdout).toContain('Left out of connections: node:http2 (untuned reference), which opens all')
  })

  it('tells what an open event stream takes, and an event of it', async () => {
    const args = [
      '--what',
      'streams',
      '--streams',
      '38',
      '--connections',
      '4',
      '--events',
      '12',
      '--rounds',
      '1',
    ]
    const streaming = ['dodici-wire', 'dodici', 'undici', 'node-http2'].filter(
      (one) => one !== 'undici' || hasUndici8,
    )
    const { code, stdout, stderr } = await runNode(
      script,
      ...args,
      '--clients',
      [...streaming, 'floor'].join(),
    )
    expect([code, stderr]).toEqual([0, 'streams: round 1 of 1\n'])
    expect(stdout).toContain('Left out of streams: the floor, which opens none.')
    expect(stdout).toContain('40 open event streams of request() on 4 connections')
    const rows = stdout.split('\n').filter((line) => /^(?:dodici|undici|node:http2)/.test(line))
    const figures = rows.map((row) => row.split(/ {2,}/).slice(1).map(Number))
    expect(figures.map((own) => own.length)).toEqual(streaming.map(() => 4))
    expect(figures.flat().every(Number.isFinite)).toBe(true)
    // The CPU time of an event.
    for (const own of figures) expect(own.at(-1)).toBeGreaterThan(1)
  })

  it('refuses what it does not measure', async () => {
    const { code, stderr } = await runNode(script, '--what', 'cores')
    expect([code, stderr.trim()]).toEqual([
      2,
      '--what: no cores; there are: requests, connections, streams (see --help)',
    ])
  })
})
