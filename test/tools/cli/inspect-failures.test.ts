import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { generate } from 'selfsigned'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { BadFrame, BadHeaders, FaultServer } from '../../../src/testing/index.ts'
import { createFaultServer } from '../../../src/testing/index.ts'
import { runHere } from '../../support/clients/cli-here.ts'
import { listenRaw } from '../../support/peers/raw-server.ts'
import { findFreePort } from '../../support/servers/free-port.ts'
import { listen } from '../../support/servers/listen.ts'
import { toCertificate } from '../../support/servers/server.ts'

const ENGINES = ['wire', 'node'] as const

/** A fault server with these credentials, or h2c without. */
async function startFaults(credentials?: {
  readonly key: string
  readonly cert: string
}): Promise<FaultServer> {
  const server = await createFaultServer(credentials ?? { h2c: true })
  onTestFinished(() => server.close())
  return server
}

/** The origin of a TLS server with a certificate of these dates and names. */
async function startWithCertificate(dates: object, name: string): Promise<string> {
  const altNames = [{ type: 2 as const, value: name }]
  const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames }],
    ...dates,
  })
  return (await startFaults({ key, cert })).origin
}

/** Of the standard error, the message and its hints. */
function toMessage(stderr: string): string {
  return stderr.slice(stderr.lastIndexOf('\ndodici: ') + 1)
}

describe('dodici URL: DNS', () => {
  it('a name without an address: 3', async () => {
    const { code, stderr, stdout } = await runHere(['https://nowhere.invalid/'])
    expect([code, stdout]).toEqual([3, ''])
    expect(toMessage(stderr)).toMatch(/^dodici: nowhere\.invalid can't be resolved: .+\n$/)
  })
})

describe('dodici URL: connecting', () => {
  it('a dead port: 4', async () => {
    const port = await findFreePort()
    const { code, stderr } = await runHere([`http://127.0.0.1:${port}/`])
    expect(code).toBe(4)
    expect(toMessage(stderr)).toMatch(
      new RegExp(`^dodici: No connection to 127.0.0.1 port ${port}: .*ECONNREFUSED.*\\n$`),
    )
  })

  it('a server that hangs up: 6', async () => {
    const { code, stderr } = await runHere([`http://127.0.0.1:${await listenRaw(null)}/`])
    expect(code).toBe(6)
    expect(toMessage(stderr)).toContain('The server sent no SETTINGS: does it speak HTTP/2 on this port?')
  })
})

describe('dodici URL: a black hole', () => {
  it.each(ENGINES)('a server that accepts and says nothing, on %s: 7', async (engine) => {
    const port = await listenRaw('')
    const args = ['--engine', engine, '--timeout', '300ms', `http://127.0.0.1:${port}/`]
    const { code, stderr } = await runHere(args)
    expect(code).toBe(7)
    expect(toMessage(stderr)).toMatch(/^dodici: timed out after 300 ms \(--timeout\)\n/)
  })

  it('a server that never begins TLS: 7', async () => {
    const port = await listenRaw('')
    const { code, stderr } = await runHere(['--timeout', '300ms', `https://127.0.0.1:${port}/`])
    expect(code).toBe(7)
    expect(toMessage(stderr)).toBe('dodici: timed out after 300 ms (--timeout)\n')
  })
})

describe('dodici URL: TLS', () => {
  const DAY = 86_400_000
  const past = {
    notBeforeDate: new Date(Date.now() - 9 * DAY),
    notAfterDate: new Date(Date.now() - 2.5 * DAY),
  }
  const future = {
    notBeforeDate: new Date(Date.now() + 2 * DAY),
    notAfterDate: new Date(Date.now() + 9 * DAY),
  }

  it.each([
    { what: 'self-signed', dates: {}, name: 'localhost', reasons: 'it is self-signed' },
    {
      what: 'expired',
      dates: past,
      name: 'localhost',
      reasons: `it expired on ${past.notAfterDate.toISOString().slice(0, 10)}`,
    },
    {
      what: 'not yet valid',
      dates: future,
      name: 'localhost',
      reasons: `it is not valid before ${future.notBeforeDate.toISOString().slice(0, 10)}`,
    },
    {
      what: 'for another name',
      dates: {},
      name: 'other.example',
      reasons: 'it is self-signed; it is for other.example, not for localhost',
    },
  ])('a certificate that is $what: 5, says why, and --insecure accepts it', async ({
    dates,
    name,
    reasons,
  }) => {
    const origin = await startWithCertificate(dates, name)
    const { code, stderr } = await runHere([origin])
    expect(code).toBe(5)
    expect(stderr).toContain(`  Trusted      no: ${reasons}\n`)
    expect(toMessage(stderr)).toBe(
      `dodici: The certificate isn't trusted: ${reasons}\n` +
        '--ca FILE trusts another authority, --insecure accepts any certificate\n',
    )
    const accepted = await runHere(['--insecure', origin])
    expect(accepted.code).toBe(0)
    expect(accepted.stderr).toContain(`no: ${reasons}`)
  })

  it.each([
    { what: 'expired', dates: past, name: 'localhost', reason: /^it expired on [\d-]{10}$/ },
    {
      what: 'for another name',
      dates: {},
      name: 'a.example',
      reason: /^it is for a\.example, not for localhost$/,
    },
  ])('a trusted one that is $what: that alone is the reason', async ({ dates, name, reason }) => {
    const folder = await mkdtemp(join(tmpdir(), 'dodici-inspect-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
      keyType: 'ec',
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: name }] }],
      ...dates,
    })
    await writeFile(join(folder, 'ca.pem'), cert)
    const { origin } = await startFaults({ key, cert })
    const { code, stdout } = await runHere(['--json', '--ca', join(folder, 'ca.pem'), origin])
    expect(code).toBe(5)
    const { connection } = JSON.parse(stdout)
    expect(connection.certificate.reasons).toEqual([expect.stringMatching(reason)])
  })

  it('https: to a server without TLS: 5, with a hint', async () => {
    const { port } = await listen(createHttpServer())
    const { code, stderr } = await runHere([`https://127.0.0.1:${port}/`])
    expect(code).toBe(5)
    expect(toMessage(stderr)).toMatch(
      /The TLS handshake with 127\.0\.0\.1:\d+ failed: the server doesn't answer with TLS/,
    )
    expect(toMessage(stderr)).toContain('Try the URL with http:')
  })

  it('a server that hangs up within the handshake: 5', async () => {
    const { code, stderr } = await runHere([`https://127.0.0.1:${await listenRaw(null)}/`])
    expect(code).toBe(5)
    expect(toMessage(stderr)).toContain('The TLS handshake with 127.0.0.1')
  })
})

describe('dodici URL: no HTTP/2', () => {
  it('ALPN gives http/1.1: 6, after all that TLS has told', async () => {
    const { private: key, cert } = await toCertificate()
    const { port } = await listen(createHttpsServer({ key, cert }))
    const { code, stderr } = await runHere(['-k', `https://localhost:${port}/`])
    expect(code).toBe(6)
    expect(stderr).toContain('  ALPN         http/1.1\nCertificate\n  Subject      CN=localhost\n')
    expect(toMessage(stderr)).toBe(
      "dodici: The server doesn't speak HTTP/2: it chose http/1.1 in ALPN, not h2\n'curl --http1.1 URL' shows its response\n",
    )
  })

  it('ALPN refuses both: 6', async () => {
    const { private: key, cert } = await toCertificate()
    const { port } = await listen(createTlsServer({ key, cert, ALPNProtocols: ['spdy/3'] }))
    const { code, stderr } = await runHere(['-k', `https://localhost:${port}/`])
    expect(code).toBe(6)
    expect(toMessage(stderr)).toMatch(/^dodici: localhost:\d+ speaks neither HTTP\/2 nor HTTP\/1\.1/)
  })

  it.each(ENGINES)('h2c to a server of HTTP/1.1, on %s: 6', async (engine) => {
    const { port } = await listen(createHttpServer())
    const { code, stderr } = await runHere(['--engine', engine, `http://127.0.0.1:${port}/`])
    expect(code).toBe(6)
    expect(toMessage(stderr)).toMatch(/^dodici: The server speaks HTTP\/1\.1, not HTTP\/2\n/)
  })

  it.each(ENGINES)('h2c to a TLS port, on %s: 6, with a hint', async (engine) => {
    // An alert of TLS 1.0: unexpected_message.
    const port = await listenRaw(Buffer.of(0x15, 3, 1, 0, 2, 2, 10))
    const { code, stderr } = await runHere(['--engine', engine, `http://127.0.0.1:${port}/`])
    expect(code).toBe(6)
    expect(toMessage(stderr)).toMatch(/TLS on this port.*\n(.*\n)*Try the URL with https:\n/)
  })

  it.each(ENGINES)('a server of another protocol, on %s: 6', async (engine) => {
    const port = await listenRaw('220 mail.example ESMTP\r\n')
    const { code, stderr } = await runHere(['--engine', engine, `http://127.0.0.1:${port}/`])
    expect(code).toBe(6)
    expect(toMessage(stderr)).toContain('The server sent something other than HTTP/2')
  })
})

/** One of each kind; test/tools/cli/inspect-frames.test.ts has the rules of the tap. */
const BAD_FRAMES: readonly BadFrame[] = [
  'DATA on stream 0',
  'CONTINUATION without HEADERS',
  'SETTINGS of 5 octets',
  'a frame above SETTINGS_MAX_FRAME_SIZE',
]

const BAD_HEADERS: readonly BadHeaders[] = [
  'no :status',
  'a name in upper case',
  'HPACK: an index beyond the tables',
]

describe.each(ENGINES)('dodici URL: a malformed server, engine %s', (engine) => {
  it.each(BAD_FRAMES)('%s: 6', async (name) => {
    const server = await startFaults()
    server.onRequest('*', (stream, connection) => connection.badFrame(name, stream.id))
    const { code, stderr } = await runHere(['-v', '--engine', engine, server.origin])
    expect(code).toBe(6)
    expect(toMessage(stderr)).toMatch(/^dodici: .+/)
  })

  it.each(BAD_HEADERS)('%s: 6', async (name) => {
    const server = await startFaults()
    server.onRequest('*', (stream) => stream.badHeaders(name))
    const { code, stderr } = await runHere(['-v', '--engine', engine, server.origin])
    expect(code).toBe(6)
    expect(toMessage(stderr)).toMatch(/^dodici: .+/)
  })

  it('RST_STREAM: 6, with its code', async () => {
    const server = await startFaults()
    server.onRequest('*', (stream) => stream.reset('ENHANCE_YOUR_CALM'))
    const { code, stderr } = await runHere(['--engine', engine, server.origin])
    expect(code).toBe(6)
    expect(toMessage(stderr)).toContain('ENHANCE_YOUR_CALM')
    expect(toMessage(stderr)).toContain('(processed: maybe)')
  })

  it('GOAWAY with an error: 6, with its debug data, printable', async () => {
    const server = await startFaults()
    server.onRequest('*', (_stream, connection) => {
      connection.goAway({ code: 'ENHANCE_YOUR_CALM', debugData: 'calm\u001b[31m', closes: 'at once' })
    })
    const { code, stderr } = await runHere(['--engine', engine, server.origin])
    expect(code).toBe(6)
    expect(toMessage(stderr)).toContain('ENHANCE_YOUR_CALM')
    expect(toMessage(stderr)).toContain('GOAWAY debug data: calm\\x1b[31m\n')
  })

  it('GOAWAY before the request was taken: 6, once, and no further connection', async () => {
    const server = await startFaults()
    server.onRequest('*', (_stream, connection) =>
      connection.goAway({ lastStreamId: 0, debugData: 'moved', closes: 'at once' }),
    )
    const { code, stderr } = await runHere(['--engine', engine, server.origin])
    expect(code).toBe(6)
    expect(toMessage(stderr)).toContain('The server ended the connection before it accepted the request')
    expect(toMessage(stderr)).toContain('GOAWAY debug data: moved\n')
    expect(toMessage(stderr)).toContain('(processed: no)')
    expect(server.connections).toHaveLength(1)
  })

  it('a body that is cut: 6', async () => {
    const server = await startFaults()
    server.onRequest('*', (stream, connection) => {
      stream.head(200, { 'content-length': '10' })
      void stream.data('cut').then(() => connection.end())
    })
    const { code, stderr, stdout } = await runHere(['--engine', engine, server.origin])
    expect([code, stdout]).toEqual([6, 'cut'])
    expect(toMessage(stderr)).toContain('(processed: yes)')
  })
})
