import { readFile, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { presets } from '../../../src/testing/index.ts'
import { makeFolder, removeFolder } from '../../support/clients/cli.ts'
import { runHere } from '../../support/clients/cli-here.ts'
import { checkXml } from '../../support/clients/xml.ts'
import { startFaults } from '../../support/peers/fault-rig.ts'
import { findFreePort } from '../../support/servers/free-port.ts'
import { listen } from '../../support/servers/listen.ts'
import { lacksNghttpd, startNghttpd } from '../../support/servers/nghttpd.ts'
import { toCertificate } from '../../support/servers/server.ts'

let folder = ''

beforeAll(async () => {
  folder = await makeFolder()
})

afterAll(() => removeFolder(folder))

/** Runs `dodici load --json`. */
async function load(...args: string[]) {
  const { code, stdout, stderr } = await runHere(['load', '--json', ...args])
  return { code, stderr, report: JSON.parse(stdout) }
}

/** A certificate that clients don't trust by themselves, in a file, too. */
async function toTls() {
  const { private: key, cert } = await toCertificate()
  const ca = join(folder, 'ca.pem')
  await writeFile(ca, cert)
  return { key, cert, ca }
}

describe('dodici load', () => {
  it.skipIf(lacksNghttpd)('sends exactly as many requests as it is told, to nghttpd', async () => {
    const { origin, stop } = await startNghttpd({ files: { file: 'x'.repeat(1_000) } })
    const { code, report, stderr } = await load('-n', '1003', '-c', '2', `${origin}/file`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(report).toMatchObject({
      method: 'GET',
      sessions: 2,
      streams: 100,
      responses: 1_003,
      statuses: { 200: 1_003 },
      failures: 0,
      bytes: { bodies: 1_003_000 },
    })
    expect(report.bytes.received).toBeGreaterThan(1_003_000 + 1_003 * 18)
    const requests = (await stop()).match(/recv HEADERS frame/g) ?? []
    // Each session has opened with one more.
    expect(requests).toHaveLength(1_005)
  })

  it('sends method, fields and body', async () => {
    const server = await startFaults()
    const args = ['-n', '2', '-m', '1', '-X', 'PUT', '-H', 'X-A: b', '-d', 'some data']
    expect(await load(...args, `${server.origin}/a?b`)).toMatchObject({ code: 0 })
    expect(server.counts).toEqual({ 'PUT /a?b': 3 })
    for (const { text, headers } of server.requests) {
      expect(text).toBe('some data')
      expect(headers).toContainEqual(['x-a', 'b'])
    }
  })

  it('over TLS needs a certificate that is trusted', async () => {
    const { ca, ...tls } = await toTls()
    const { origin } = await startFaults(tls)
    const refused = await runHere(['load', '-n', '5', origin])
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 5, stdout: '' })
    expect(refused.stderr).toContain('self-signed certificate')
    expect(await load('-n', '5', '--ca', ca, origin)).toMatchObject({ code: 0, report: { responses: 5 } })
    expect(await load('-n', '5', '--insecure', origin)).toMatchObject({ code: 0, report: { responses: 5 } })
  })

  it('ends with the duration', async () => {
    const { origin } = await startFaults()
    const { code, report } = await load('-D', '300ms', '-m', '2', '--warm-up', '50ms', origin)
    expect(code).toBe(0)
    expect(report).toMatchObject({ seconds: 0.3, failures: 0, unsent: 0 })
    expect(report.responses).toBeGreaterThan(0)
    expect(report.requestsPerSecond).toBeLessThanOrEqual(report.responses / 0.3 + 0.001)
  })

  it('keeps to the limit of the server', async () => {
    const server = await startFaults({ h2c: true, settings: { maxConcurrentStreams: 3 } })
    const { code, report } = await load('-n', '50', server.origin)
    expect({ code, streams: report.streams, responses: report.responses }).toEqual({
      code: 0,
      streams: 3,
      responses: 50,
    })
  })

  it('at a rate, counts the latencies from when a request was due', async () => {
    const server = await startFaults()
    // Behind the first one the only stream is held, until all requests are due.
    server.onRequest('*', async (stream) => {
      if (stream.index === 1) await server.waitFor(() => performance.now() - stream.receivedAt > 300)
      stream.respond()
    })
    const { code, report } = await load('--rate', '1000', '-n', '100', '-m', '1', server.origin)
    expect(code).toBe(0)
    expect(report).toMatchObject({ rate: 1_000, responses: 100, unsent: 0 })
    expect(report.mostWaiting).toBeGreaterThan(90)
    // All of the others waited for 200 ms and more. Of those that were sent then, one took so long.
    expect(report.latency.p50).toBeGreaterThan(200)
    expect(report.latency.p50).toBeGreaterThan(report.serviceTime.p50)
    expect(report.serviceTime.max).toBeGreaterThan(300)
  })

  it('counts requests that fail by their code, and says so by its exit code', async () => {
    const server = await startFaults()
    server.onRequest('*', (stream) =>
      stream.index % 2 === 1 ? stream.reset('INTERNAL_ERROR') : stream.respond(),
    )
    const { code, report } = await load('-n', '100', server.origin)
    expect({ code, responses: report.responses, failures: report.failures }).toEqual({
      code: 9,
      responses: 50,
      failures: 50,
    })
    expect(report.errors).toEqual({ DODICI_ERR_STREAM: 50 })
  })

  it('counts a response that does not come in time as an error', async () => {
    const server = await startFaults()
    server.onRequest('*', (stream) => (stream.index === 3 ? undefined : stream.respond()))
    const { code, report } = await load('-n', '20', '-m', '5', '--timeout', '500ms', server.origin)
    expect({ code, ended: report.responses + report.failures }).toEqual({ code: 9, ended: 20 })
    // A busy machine may be late with others, too.
    expect(report.failures).toBeGreaterThan(0)
    expect(report.errors).toEqual({ DODICI_ERR_REQUEST_TIMEOUT: report.failures })
  })

  it('goes on when the server retires its connections', async () => {
    const server = await startFaults()
    server.use(presets.nginxThatRetires({ requests: 50 }))
    const { code, report } = await load('-n', '500', '-m', '10', server.origin)
    expect({ code, responses: report.responses, failures: report.failures }).toEqual({
      code: 0,
      responses: 500,
      failures: 0,
    })
    expect(server.connections.length).toBeGreaterThan(10)
    // Also those of sessions that have ended: each response has two frames.
    expect(report.bytes.received).toBeGreaterThan(500 * 18)
  })

  it('opens a lost session again, and counts the requests that were lost with it', async () => {
    const server = await startFaults()
    server.onRequest('*', (stream, connection) => {
      if (stream.index === 20) connection.transport.destroy()
      else stream.respond()
    })
    const { code, report } = await load('-n', '100', '-m', '5', server.origin)
    expect({ code, ended: report.responses + report.failures }).toEqual({ code: 9, ended: 100 })
    expect(report.failures).toBeGreaterThanOrEqual(1)
    expect(report.failures).toBeLessThanOrEqual(5)
    expect(report.errors).toEqual({ UND_ERR_SOCKET: report.failures })
    expect(server.connections).toHaveLength(2)
  })

  it('refuses a field that HTTP/2 does not have, before the load', async () => {
    const server = await startFaults()
    const { code, stdout, stderr } = await runHere(['load', '-n', '1', '-H', 'te: gzip', server.origin])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain("'te'")
    expect(server.requests).toEqual([])
  })

  it('draws a chart', async () => {
    const { origin } = await startFaults()
    const chart = join(folder, 'chart.svg')
    const { code, stdout } = await runHere(['load', '-n', '50', '--chart', chart, origin])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ {2}Responses {6}50 {3}200: 50$/m)
    expect(checkXml(await readFile(chart, 'utf8'))).toBe('svg')
  })

  it('reports also when the chart cannot be written', async () => {
    const { origin } = await startFaults()
    const { code, stdout, stderr } = await runHere([
      'load',
      '-n',
      '5',
      '--chart',
      `${folder}/no/a.svg`,
      origin,
    ])
    expect(code).toBe(11)
    expect(stdout).toContain('Responses')
    expect(stderr).toContain(`--chart can't write '${folder}/no/a.svg': ENOENT`)
  })

  it('on a terminal shows its progress, and at Ctrl-C reports what it has', async () => {
    const { origin } = await startFaults()
    const ctrlC = new AbortController()
    const { code, stdout, stderr } = await runHere(['load', '-D', '1h', '-m', '2', origin], {
      stderrIsTTY: true,
      ctrlC: ctrlC.signal,
      onStderr: (text) => (text.includes('requests/s') ? ctrlC.abort() : undefined),
    })
    expect(code).toBe(130)
    expect(stderr).toMatch(/^\r {2}1 s {3}[\d,]+ requests\/s {3}[\d,]+ responses {3}0 errors/)
    // The line is gone at the end.
    expect(stderr.endsWith('\r\u001b[K')).toBe(true)
    expect(stdout).toMatch(/Interrupted: \d requests? didn't finish/)
    expect(stdout).toMatch(/Responses +[1-9]/)
  })
})

describe('a server that cannot be measured', () => {
  it.each([
    {
      what: 'listens on no port',
      toUrl: async () => `http://127.0.0.1:${await findFreePort()}/`,
      exitCode: 4,
      message: 'ECONNREFUSED',
    },
    {
      what: 'has no address',
      toUrl: async () => 'http://nowhere.localhost/',
      exitCode: 3,
      message: 'nowhere.localhost',
    },
    {
      what: 'never responds',
      toUrl: async () => `http://127.0.0.1:${(await listen(createServer())).port}/`,
      exitCode: 7,
      args: ['--timeout', '500ms'],
      message: 'no response within --timeout, 500 ms',
    },
    {
      what: 'speaks HTTP/1.1',
      toUrl: async () => `http://127.0.0.1:${(await listen(createHttpServer())).port}/`,
      exitCode: 6,
      message: 'speaks HTTP/1.1, not HTTP/2',
    },
    {
      what: 'speaks something else',
      toUrl: async () => {
        const server = createServer((socket) => socket.on('error', () => {}).end('220 mail ready\r\n'))
        return `http://127.0.0.1:${(await listen(server)).port}/`
      },
      exitCode: 6,
      message: "doesn't speak HTTP/2",
    },
    {
      what: 'speaks HTTP/1.1 over TLS',
      toUrl: async () => {
        const { key, cert } = await toTls()
        const { port } = await listen(createTlsServer({ key, cert, ALPNProtocols: ['http/1.1'] }))
        return `https://localhost:${port}/`
      },
      exitCode: 6,
      message: 'HTTP/2',
    },
  ])('because it $what ends the command before the load', async ({ toUrl, args = [], exitCode, message }) => {
    const { code, stdout, stderr } = await runHere(['load', '-k', '-c', '20', ...args, await toUrl()])
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' })
    expect(stderr).toMatch(/^dodici load: .*\n$/)
    expect(stderr).toContain(message)
    // An option of the client is none of the command line.
    expect(stderr).not.toMatch(/h2c: |Agent/)
  })

  it('is asked once', async () => {
    const server = await startFaults()
    server.onRequest('*', (stream) => stream.reset('INTERNAL_ERROR'))
    const { code } = await runHere(['load', '-c', '20', server.origin])
    expect(code).toBe(6)
    expect(server.requests).toHaveLength(1)
  })

  it('is given up at Ctrl-C', async () => {
    const server = await startFaults()
    server.onRequest('*', () => {})
    const ctrlC = new AbortController()
    const running = runHere(['load', '--timeout', '1h', server.origin], { ctrlC: ctrlC.signal })
    await server.waitFor('GET /')
    ctrlC.abort()
    const { code, stdout, stderr } = await running
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
    expect(stderr).toBe('dodici load: interrupted before the load began\n')
  })

  it('because it is no machine of ours is not asked', async () => {
    const { code, stdout, stderr } = await runHere(['load', 'https://example.com/'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain("example.com isn't this machine")
  })
})
