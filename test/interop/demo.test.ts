import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import * as dodici from '../../src/index.ts'
import type { Exit } from '../support/child.ts'
import { runNode } from '../support/child.ts'
import { findFreePort } from '../support/free-port.ts'
import { lacksNghttpd, startNghttpd } from '../support/nghttpd.ts'
import { startServer } from '../support/server.ts'

const scripts = new URL('../../scripts/', import.meta.url)

/** Runs the demo as `npm run demo` does, with the output of `npm run build`. */
function runDemo(...args: string[]): Promise<Exit> {
  return runNode(fileURLToPath(new URL('demo.mjs', scripts)), ...args)
}

/** One of the demo's cases, as far as its rows tell. */
interface Shown {
  readonly api: string
  /** What the demo's own server leads to. */
  readonly status?: string
  /** Whether it runs on any other server. */
  readonly elsewhere?: 'sent' | 'may be refused' | 'left out'
}

/** A row as the table has it. */
interface Row {
  readonly api: string
  readonly status: string
}

async function load<T>(file: string, name: string): Promise<T> {
  const module: Record<string, T> = await import(new URL(file, scripts).href)
  const value = module[name]
  if (value === undefined) throw new Error(`${file} has no ${name}`)
  return value
}

const cases = await load<readonly Shown[]>('demo/cases.mjs', 'cases')
const ownRows: readonly Row[] = cases.map(({ api, status = '200' }) => ({ api, status }))
const foreignRows: readonly Row[] = cases
  .filter(({ elsewhere }) => elsewhere !== 'left out')
  .map(({ api, elsewhere }) => ({ api, status: elsewhere === 'may be refused' ? 'refused' : '200' }))

/** The table's rows below its head, by protocol: the API and the status of each. */
function readTable(stdout: string): Record<string, Row[]> {
  const [, ...lines] = stdout.trimEnd().split('\n')
  const rows: Record<string, Row[]> = {}
  for (const line of lines) {
    const [api = '', protocol = '', status = ''] = line.split(/ {2,}/)
    rows[protocol] ??= []
    rows[protocol].push({ api, status })
  }
  return rows
}

/** The argument of `runCases()` of the demo: `path` and `probed` are null for the demo's own server. */
interface Target {
  readonly origin: string
  readonly path: string | null
  readonly connect: object
  readonly probed: string | null
}

type RunCases = (module: object, target: Target) => Promise<(Row & { failure: string | null })[]>

/** On the source, not on what was built from it. */
const loadRunCases = (): Promise<RunCases> => load<RunCases>('demo/run.mjs', 'runCases')

const HEAD = /^API +protocol +status +bytes +ms +headers$/

/** A server that offers extended CONNECT. */
const WEBSOCKET = { settings: { enableConnectProtocol: true } }

describe('the demo', () => {
  it('with --all shows every API on both engines, over h2 and over h2c, against a server of its own, and ends by itself', async () => {
    const { code, signal, stdout, stderr } = await runDemo('--all')
    expect(stderr).toBe('')
    expect([code, signal]).toEqual([0, null])
    const parts = stdout.split(/^engine (?:node|wire)\n/m).slice(1)
    expect(parts.map((part) => part.split('\n')[0])).toEqual(Array(4).fill(expect.stringMatching(HEAD)))
    const tables = [{ h2: ownRows }, { h2c: ownRows }]
    expect(parts.map(readTable)).toEqual([...tables, ...tables])
  })

  it('without a URL tells it in one screen, with what went wrong on purpose, and a verdict', async () => {
    const { code, signal, stdout, stderr } = await runDemo()
    expect(stderr).toBe('')
    expect([code, signal]).toEqual([0, null])
    const lines = stdout.trimEnd().split('\n')
    expect(lines.length).toBeLessThan(40)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120)
    const count = 4 * cases.length
    expect(lines.at(-1)).toMatch(
      new RegExp(`^${count} of ${count} as expected; wire took \\d\\.\\d\\d of node:http2's CPU time\\.$`),
    )
    for (const { api, status } of ownRows)
      if (status !== '200') expect(lines).toContain(`  ${api}: ${status}`)
  })

  it.each([
    ...['dispatch', 'request', 'stream', 'pipeline', 'connect', 'upgrade', 'compose', 'Agent'],
    ...['request(url)', 'stream(url)', 'pipeline(url)', 'connect(url)', 'upgrade(url)'],
  ])('has a case for %s', (api) => {
    expect(ownRows.map((row) => row.api.split(', ')[0])).toContain(api)
  })

  it('when the server responds wrongly, fails in every row', async () => {
    const { origin } = await startServer((stream) => {
      stream.respond({ ':status': 200 })
      stream.end('wrong')
      // What a client sends has to go somewhere.
      stream.resume()
    }, WEBSOCKET)
    const rows = await (await loadRunCases())(dodici, { origin, path: null, connect: {}, probed: null })
    expect(rows.map(({ api }) => api)).toEqual(cases.map(({ api }) => api))
    expect(rows.filter(({ failure }) => failure === null)).toEqual([])
  })

  it('when the server refuses tunnels, fails on its own server, and not elsewhere', async () => {
    const { origin } = await startServer((stream, headers) => {
      stream.respond({ ':status': headers[':method'] === 'CONNECT' ? 403 : 200 })
      stream.end()
      stream.resume()
    }, WEBSOCKET)
    const runCases = await loadRunCases()
    const own = await runCases(dodici, { origin, path: null, connect: {}, probed: null })
    expect(own.filter(({ status }) => status === 'DODICI_ERR_TUNNEL_REFUSED')).toHaveLength(4)
    const foreign = await runCases(dodici, { origin, path: '/', connect: {}, probed: 'h2c' })
    expect(foreign.map(({ api, status }) => ({ api, status }))).toEqual(foreignRows)
    expect(foreign.filter(({ failure }) => failure !== null)).toEqual([])
  })

  it('when a tunnel is established on another server, shows its status and sends nothing', async () => {
    const received: Buffer[] = []
    const { origin } = await startServer((stream, headers) => {
      stream.respond({ ':status': 200 })
      if (headers[':method'] === 'CONNECT') stream.on('data', (chunk: Buffer) => received.push(chunk))
      else stream.resume().end()
    }, WEBSOCKET)
    const rows = await (await loadRunCases())(dodici, { origin, path: '/', connect: {}, probed: 'h2c' })
    expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['200']))
    expect(received).toEqual([])
  })

  describe.skipIf(lacksNghttpd)('with the URL of nghttpd', () => {
    const files = { 'index.html': '<p>Hello from nghttpd</p>' }

    it('over h2c shows every API that it supports', async () => {
      const { origin } = await startNghttpd({ files })
      const { code, signal, stdout, stderr } = await runDemo(origin)
      expect(stderr).toBe('')
      expect([code, signal]).toEqual([0, null])
      expect(readTable(stdout)).toEqual({ h2c: foreignRows })
    })

    it('over TLS with --insecure shows every API that it supports', async () => {
      const { origin } = await startNghttpd({ tls: true, files })
      const { code, signal, stdout, stderr } = await runDemo(`${origin}/index.html`, '--insecure')
      expect(stderr).toBe('')
      expect([code, signal]).toEqual([0, null])
      expect(readTable(stdout)).toEqual({ h2: foreignRows })
    })

    it('over TLS without --insecure ends with 1, and says that the certificate is not trusted', async () => {
      const { origin } = await startNghttpd({ tls: true, files })
      const { code, stderr } = await runDemo(origin)
      expect(code).toBe(1)
      expect(stderr).toMatch(/certificate of \S+ isn't trusted.*--insecure/)
    })
  })

  it.each([
    'http',
    'https',
  ])('when the connection to a URL of %s is refused, ends with 1 and an error', async (scheme) => {
    const origin = `${scheme}://127.0.0.1:${await findFreePort()}`
    const { code, signal, stdout, stderr } = await runDemo(origin)
    expect([code, signal]).toEqual([1, null])
    expect(stdout).toBe('')
    expect(stderr).toContain(`Can't reach ${origin}: `)
    expect(stderr).toContain('ECONNREFUSED')
  })

  it.each([
    'nonsense',
    'ftp://127.0.0.1',
    'http://',
  ])('when the URL is %j, ends with 1 and an error', async (url) => {
    const { code, signal, stdout, stderr } = await runDemo(url)
    expect([code, signal]).toEqual([1, null])
    expect(stdout).toBe('')
    expect(stderr).toBe(`Not an http: or https: URL: ${url}\n`)
  })
})
