/** A newcomer's session: what the quick starts of h2load do, with the same flags, and how far the figures can be trusted. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FaultServer } from '../../../src/testing/index.ts'
import { createFaultServer } from '../../../src/testing/index.ts'
import { runHere } from '../../support/clients/cli-here.ts'

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-load-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

async function startServer(): Promise<FaultServer> {
  const server = await createFaultServer({ h2c: true })
  onTestFinished(() => server.close())
  return server
}

async function load(...args: string[]) {
  const { code, stdout, stderr } = await runHere(['load', '--json', ...args])
  return { code, stderr, report: stdout === '' ? null : JSON.parse(stdout) }
}

describe('dodici load, by the flags of h2load', () => {
  it('-n -c -m, -D, -d, --warm-up-time', async () => {
    const server = await startServer()
    const counts = await load('-n10', '-c2', '-m1', server.origin)
    expect(counts).toMatchObject({ code: 0, report: { responses: 10, sessions: 2, streams: 1 } })
    const timed = await load('-D', '200ms', '-m1', '--warm-up-time', '10ms', server.origin)
    expect(timed.report.seconds).toBeCloseTo(0.2, 1)
    const path = join(await makeFolder(), 'body')
    await writeFile(path, 'a body')
    await load('-n', '1', '-d', `@${path}`, `${server.origin}/post`)
    expect(server.request('/post')).toMatchObject({ method: 'POST', text: 'a body' })
  })

  it('URLs of the command line and of a file are asked in turn', async () => {
    const server = await startServer()
    const file = join(await makeFolder(), 'urls')
    await writeFile(file, `# of a log\n${server.origin}/b?c=1\r\n\n${server.origin}/d\n`)
    const { code } = await load('-n', '6', '-m', '1', '-i', file, `${server.origin}/a`)
    expect([code, server.counts]).toEqual([0, { 'GET /a': 3, 'GET /b?c=1': 2, 'GET /d': 2 }])
  })

  it.each([
    [['http://localhost:1/', 'http://localhost:2/'], 'all URLs need the same origin and user'],
    [['-i', '/none', 'http://localhost:1/'], "--input-file can't read '/none'"],
    [['--connect-to', 'a:b', 'http://localhost:1/'], "--connect-to takes HOST or HOST:PORT, not 'a:b'"],
    [['--fail-above', '101', 'http://localhost:1/'], '--fail-above takes a share from 0 to 100'],
  ])('%j: is refused', async (args, message) => {
    expect(await load(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  })

  it('--connect-to and --resolve: another address, and the URL stays what is asked for', async () => {
    const server = await startServer()
    for (const host of [`127.0.0.1:${server.port}`, `localhost:${server.port}`]) {
      expect((await load('-n', '2', '--connect-to', host, 'http://service.test/x')).code).toBe(0)
    }
    const url = `http://service.test:${server.port}/x`
    expect((await load('-n', '2', '--resolve', `service.test:${server.port}:127.0.0.1`, url)).code).toBe(0)
    expect(server.requests.map((stream) => stream.field(':authority'))).toContain('service.test')
  })

  it('--connect-to another machine asks for consent, whatever the URL says', async () => {
    const { code, stderr } = await load('--connect-to', '192.0.2.1:80', 'http://localhost/')
    expect([code, stderr]).toEqual([2, expect.stringContaining("localhost (192.0.2.1) isn't this machine")])
  })
})

describe('--fail', () => {
  it.each([
    [[], 0],
    [['--fail'], 8],
    [['--fail-above', '50'], 0],
    [['--fail-above', '49.9'], 8],
  ])('%j: half of the responses are 503: exit code %i', async (flags, code) => {
    const server = await startServer()
    server.onRequest('/', (stream) => stream.respond({ status: stream.index % 2 === 0 ? 503 : 302 }))
    const run = await load('-n', '10', '-m', '1', ...flags, `${server.origin}/`)
    expect([run.code, run.report.responses]).toEqual([code, 10])
  })
})

describe('what the report says', () => {
  it('has no secret of the URL', async () => {
    const server = await startServer()
    const { stdout } = await runHere(['load', '-n', '1', `${server.origin}/?token=hidden-one&a=1`])
    expect(stdout).toContain('/?token=(hidden)&a=1')
    const { report } = await load('-n', '1', `${server.origin}/?sig=hidden-one`)
    expect(report.url).toBe(`${server.origin}/?sig=(hidden)`)
  })

  it('a client that is busy all the time says that it is the limit', async () => {
    const server = await startServer()
    const { stdout } = await runHere(['load', '-n', '3000', server.origin])
    // The server runs in this very thread.
    expect(stdout).toMatch(
      /\n {2}The client is the limit: a thread was busy for (9\d|100) % of the time\. Try --sessions 2 --workers 2\./,
    )
  })

  it('a client that waits for its server does not', async () => {
    const server = await startServer()
    server.onRequest('/', async (stream) => {
      await stream.delay(50)
      await stream.respond('late')
    })
    const { report } = await load('-n', '10', '-m', '1', `${server.origin}/`)
    expect(report).toMatchObject({ isClientLimit: false, sentLate: 0 })
  })
})
