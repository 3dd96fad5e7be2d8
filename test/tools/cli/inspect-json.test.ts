import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer as createHttp2Server } from 'node:http2'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { RequestScript } from '../../../src/testing/index.ts'
import { createFaultServer, frames } from '../../../src/testing/index.ts'
import { runHere } from '../../support/clients/cli-here.ts'
import { NO_ERROR } from '../../support/peers/error-codes.ts'
import { toTlsPeer } from '../../support/peers/peer-tls.ts'
import { listen } from '../../support/servers/listen.ts'
import { startTunnelProxy } from '../../support/servers/tunnel-proxy.ts'

const page = await readFile(new URL('../../../docs/cli.md', import.meta.url), 'utf8')

const [, section = ''] = page.split('### The document of `--json`')

/** The table of docs/cli.md: the types of each path. */
const SCHEMA = new Map(
  [...(section.split('\n## ')[0] ?? '').matchAll(/^\| `([^`]+)` \| ([a-z, ]+) \| [^|]*\|$/gm)]
    .filter(([, , types = '']) => /^(string|number|boolean|null)/.test(types))
    .map(([, path = '', types = '']) => [path, types.split(', ')]),
)

/** Objects whose names are no part of the schema. */
const FREE = new Set(['http2.settings.server', 'http2.settings.client', 'frames[].settings'])

/** Each leaf of a document, as the table has it: `a.b[]` → its type. */
function* toLeaves(value: unknown, path: string): Generator<[path: string, type: string]> {
  if (Array.isArray(value)) {
    for (const entry of value) yield* toLeaves(entry, `${path}[]`)
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, entry] of Object.entries(value)) {
      const shown = FREE.has(path) ? '*' : name
      yield* toLeaves(entry, path === '' ? shown : `${path}.${shown}`)
    }
  } else yield [path, value === null ? 'null' : typeof value]
}

/** All that the documents of this file have had. */
const seen = new Set<string>()

/** Runs with `--json`, and checks the document by the table. */
async function runJson(
  args: readonly string[],
  ctrlC?: AbortSignal,
): Promise<{ code: number; document: ReturnType<typeof JSON.parse> }> {
  const { code, stdout } = await runHere(['--json', ...args], ctrlC === undefined ? {} : { ctrlC })
  const document: unknown = JSON.parse(stdout)
  for (const [path, type] of toLeaves(document, '')) {
    expect(SCHEMA.get(path), `${path} is ${type}`).toContain(type)
    seen.add(`${path} ${type}`)
  }
  expect(document).toMatchObject({ schema: 1, exitCode: code })
  return { code, document }
}

/** The origin of a server that does this about each request. */
async function serve(script: RequestScript, tls = false): Promise<string> {
  const { options } = await toTlsPeer()
  const settings = { maxConcurrentStreams: 5, maxHeaderListSize: 9_000, maxFrameSize: 20_000 }
  const server = await createFaultServer({ ...(tls ? options : { h2c: true }), settings })
  onTestFinished(() => server.close())
  server.onRequest('*', script)
  return server.origin
}

describe('dodici URL --json', () => {
  it('a response over TLS, by a name', async () => {
    const origin = await serve(async (stream) => {
      stream.head(200, [
        ['a', '1'],
        ['a', '2'],
      ])
      await stream.data('body')
      await stream.endWith([['t', '3']])
    }, true)
    const { code, document } = await runJson(['-k', origin.replace('127.0.0.1', 'localhost')])
    expect(code).toBe(0)
    expect(document).toMatchObject({
      engine: 'wire',
      connection: { tls: { alpn: 'h2' }, certificate: { isTrusted: false, reasons: ['it is self-signed'] } },
      http2: { limits: { streams: 5, headerList: 9_000, frame: 20_000 } },
      response: {
        status: 200,
        headers: [
          ['a', '1'],
          ['a', '2'],
        ],
        trailers: [['t', '3']],
        body: { bytes: 4, text: 'body', isTruncated: false },
      },
      error: null,
    })
    expect(document).not.toHaveProperty('frames')
  })

  it('frames, with -v', async () => {
    const origin = await serve((stream, connection) => {
      const update = frames.frame(16, 0, 0, Buffer.concat([Buffer.of(0, 0, 0, 1), Buffer.from('u=1')]))
      connection.write(frames.ping(), frames.windowUpdate(0, 9), update, frames.goAway(1, NO_ERROR, 'bye'))
      connection.badFrame('PING of 7 octets', stream.id)
    })
    const { code, document } = await runJson(['-v', origin])
    expect(code).toBe(6)
    expect(document.frames[0]).toMatchObject({ direction: 'sent', type: 'SETTINGS', streamId: 0, flags: [] })
    expect(document.error).toMatchObject({
      processed: 'maybe',
      goawayDebugData: expect.toBeOneOf(['bye', null]),
    })
  })

  it('a binary body, and one that is too long to be shown', async () => {
    const binary = await runJson([await serve((stream) => stream.respond(Buffer.of(0xff, 0xfe)))])
    expect(binary.document.response.body).toEqual({ bytes: 2, text: null, isTruncated: false })
    // The limit cuts the last character in two.
    const text = `x${'é'.repeat(40_000)}`
    const long = await runJson([await serve((stream) => stream.respond(text))])
    expect(long.document.response.body).toEqual({
      bytes: 80_001,
      text: text.slice(0, 32_768),
      isTruncated: true,
    })
  })

  it('a body that goes to a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dodici-inspect-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const origin = await serve((stream) => stream.respond('body'))
    const { document } = await runJson([origin, '-o', join(folder, 'body')])
    expect(document.response.body).toEqual({ bytes: 4, text: null, isTruncated: false })
  })

  it('a proxy', async () => {
    const origin = await serve((stream) => stream.respond('body'), true)
    const { uri } = await startTunnelProxy('HTTP/1.1')
    const { document } = await runJson(['-k', '--proxy', uri, origin])
    expect(document.connection).toMatchObject({
      dns: null,
      tcp: null,
      proxy: { ms: expect.any(Number) },
      tls: { ms: null },
    })
  })

  it('a redirect, over a Unix socket', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dodici-inspect-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const path = join(folder, 'socket')
    const server = createHttp2Server((request, response) => {
      response.writeHead(request.url === '/from' ? 302 : 200, { location: '/to' }).end()
    })
    await new Promise<void>((resolve) => server.listen(path, resolve))
    onTestFinished(() => void server.close())
    const { document } = await runJson(['-L', '--unix-socket', path, 'http://any.test/from'])
    expect(document).toMatchObject({
      url: 'http://any.test/to',
      redirects: [{ url: 'http://any.test/from', status: 302 }],
      connection: { dns: null, tcp: null, unix: { path, ms: expect.any(Number) } },
    })
  })

  it.each([
    { what: 'no name', args: ['https://nowhere.invalid/'], code: 3, processed: 'no' },
    { what: 'no server', args: ['http://127.0.0.1:1/'], code: 4, processed: 'no' },
  ])('$what', async ({ args, code, processed }) => {
    const run = await runJson(args)
    expect(run.code).toBe(code)
    expect(run.document).toMatchObject({ http2: null, response: null, error: { processed } })
  })

  it('a certificate that is not trusted', async () => {
    const run = await runJson([await serve(() => {}, true)])
    expect(run.code).toBe(5)
    expect(run.document.error).toMatchObject({
      code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
      hint: expect.stringContaining('--ca'),
    })
  })

  it('a server that says nothing', async () => {
    const ctrlC = new AbortController()
    // The beginning of the client has come: its SETTINGS among it.
    const { port } = await listen(createServer((socket) => socket.once('data', () => ctrlC.abort())))
    const run = await runJson([`http://127.0.0.1:${port}/`], ctrlC.signal)
    expect(run.code).toBe(130)
    expect(run.document.http2.settings).toEqual({ server: null, client: expect.any(Object) })
    expect(run.document.times).toEqual({ firstByteMs: null, totalMs: expect.any(Number) })
  })

  it('all paths of the table have been seen', () => {
    const paths = new Set([...seen].map((entry) => entry.slice(0, entry.lastIndexOf(' '))))
    expect([...SCHEMA.keys()].filter((path) => !paths.has(path))).toEqual([])
  })
})
