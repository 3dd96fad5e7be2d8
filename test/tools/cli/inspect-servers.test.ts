import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Cleaner } from '../../interop/fetch-servers.ts'
import { GRPC_SERVERS, GRPC_START_LIMIT, startGrpcServer } from '../../interop/grpc-servers.ts'
import { runHere } from '../../support/clients/cli-here.ts'
import { lacksApache, startApache } from '../../support/servers/apache.ts'
import { lacksNghttpd, startNghttpd } from '../../support/servers/nghttpd.ts'
import { lacksNginx, startNginx } from '../../support/servers/nginx.ts'

const ENGINES = ['wire', 'node'] as const

async function makeFile(name: string, content: string | Uint8Array): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-inspect-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

/** SETTINGS of the report, by name. */
function toSettings(stderr: string): Record<string, number> {
  const found = [...stderr.matchAll(/^(?: {2}SETTINGS {5}| {15})([A-Z_0-9x]+) (\d+)$/gm)]
  return Object.fromEntries(found.map(([, name, value]) => [name, Number(value)]))
}

describe.skipIf(lacksNghttpd)('dodici URL: nghttpd', () => {
  it.each(ENGINES)('over TLS, on %s', async (engine) => {
    const { ca, origin } = await startNghttpd({ tls: true, files: { 'a.txt': 'a file\n' } })
    const caPath = await makeFile('ca.pem', ca)
    const { code, stderr, stdout } = await runHere(['--engine', engine, '--ca', caPath, `${origin}/a.txt`])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'a file\n' })
    expect(stderr).toContain('  ALPN         h2\n')
    expect(stderr).toContain('  Trusted      yes\n')
    expect(toSettings(stderr)).toMatchObject({ MAX_CONCURRENT_STREAMS: 100 })
    expect(stderr).toMatch(/^ {2}Limits {7}100 streams, frames of 16384 bytes$/m)
    expect(stderr).toMatch(/^ {2}server: nghttpd /m)
    expect(stderr).toMatch(/^ {2}Round trip {3}\d+\.\d+ ms$/m)
  })

  it('its trailers, over h2c', async () => {
    const { origin } = await startNghttpd({ files: { a: 'a' }, args: ['--trailer=x-trailer: yes'] })
    const { code, stderr } = await runHere(['--trailers', `${origin}/a`])
    expect(code).toBe(0)
    expect(stderr).toContain('\nTrailers\n  x-trailer: yes\n')
  })

  it('an upload and a large download, to the last byte', async () => {
    const content = Buffer.alloc(3_000_001, 'abcdefg')
    const { origin } = await startNghttpd({ files: { large: content }, args: ['--echo-upload'] })
    const path = await makeFile('large', content)
    const got = await runHere([`${origin}/large`])
    expect([got.code, got.stdout === content.toString()]).toEqual([0, true])
    const echoed = await runHere(['-X', 'POST', '-T', path, `${origin}/`])
    expect([echoed.code, echoed.stdout === content.toString()]).toEqual([0, true])
  })
})

describe.skipIf(lacksNginx)('dodici URL: nginx', () => {
  it.each(ENGINES)('over TLS, on %s', async (engine) => {
    const { origin } = await startNginx({ tls: true, server: "location / { return 404 'none'; }" })
    const { code, stderr, stdout } = await runHere(['--engine', engine, '-k', '--fail', `${origin}/a`])
    expect({ code, stdout }).toEqual({ code: 8, stdout: 'none' })
    expect(stderr).toContain('  Trusted      no: it is self-signed\n')
    expect(toSettings(stderr)).toMatchObject({ MAX_CONCURRENT_STREAMS: 128, MAX_FRAME_SIZE: 16_777_215 })
    expect(stderr).toContain('\nResponse 404\n')
    expect(stderr).toMatch(/^ {2}server: nginx/m)
  })
})

describe.skipIf(lacksApache)('dodici URL: Apache', () => {
  it.each(ENGINES)('over h2c, on %s', async (engine) => {
    const { origin } = await startApache()
    const { code, stderr } = await runHere(['-v', '--engine', engine, `${origin}/a?b`])
    expect(code).toBe(0)
    expect(stderr).toContain('\nResponse 204\n')
    expect(stderr).toContain('  x-echo: GET /a?b\n')
    expect(stderr).toMatch(/^< {3}MAX_CONCURRENT_STREAMS \d+$/m)
  })
})

describe.each(GRPC_SERVERS)('dodici URL: %s', (name) => {
  it('a call of gRPC, and its status in the trailers', { timeout: GRPC_START_LIMIT }, async () => {
    const cleaner = new Cleaner()
    onTestFinished(() => cleaner.clean())
    const { origin } = await startGrpcServer(name, cleaner)
    // A message of five bytes, not compressed.
    const message = await makeFile('message', Buffer.concat([Buffer.of(0, 0, 0, 0, 5), Buffer.from('hello')]))
    const headers = ['-H', 'content-type: application/grpc', '--trailers']
    const { code, stderr, stdout } = await runHere([
      ...headers,
      '-d',
      `@${message}`,
      `${origin}/dodici.Test/Echo`,
    ])
    expect(code).toBe(0)
    expect(stdout).toContain('hello')
    expect(stderr).toMatch(/\nTrailers\n( {2}.*\n)*? {2}grpc-status: 0\n/)
    const unknown = await runHere([...headers, '-d', `@${message}`, `${origin}/dodici.Test/None`])
    expect(unknown.code).toBe(0)
    expect(unknown.stderr).toContain('  grpc-status: 12\n')
  })
})
