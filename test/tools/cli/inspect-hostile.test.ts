import { createServer as createTlsServer } from 'node:tls'
import { generate } from 'selfsigned'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FaultServer } from '../../../src/testing/index.ts'
import { createFaultServer } from '../../../src/testing/index.ts'
import { runHere } from '../../support/clients/cli-here.ts'
import { listen } from '../../support/servers/listen.ts'

const ENGINES = ['wire', 'node'] as const

async function start(): Promise<FaultServer> {
  const server = await createFaultServer({ h2c: true })
  onTestFinished(() => server.close())
  return server
}

describe('dodici URL: a 421', () => {
  it.each(ENGINES)('is the response, and no second connection is made, on %s', async (engine) => {
    const server = await start()
    server.onRequest('*', (stream) => stream.respond({ status: 421, headers: { 'x-a': 'b' }, body: 'no' }))
    const args = ['--engine', engine, server.origin]
    const plain = await runHere([...args, '-d', 'data'])
    expect([plain.code, plain.stdout]).toEqual([0, ''])
    expect(plain.stderr).toMatch(
      /\nResponse 421\n(.*\n)* {2}x-a: b\n(.*\n)* {2}\(the body of a 421 is not shown\)\n/,
    )
    const { code, stdout } = await runHere([...args, '--fail', '--json'])
    expect(code).toBe(8)
    expect(JSON.parse(stdout)).toMatchObject({
      error: null,
      response: { status: 421, body: { bytes: 0, text: null, isTruncated: true } },
    })
    expect(server.requests).toHaveLength(2)
  })
})

describe('dodici URL: a server that echoes secrets', () => {
  const SECRETS = ['-H', 'authorization: Bearer sesame-1', '-H', 'cookie: sid=sesame-2']

  it.each([
    [],
    ['-v'],
    ['--json', '-v'],
  ])('in the debug data of GOAWAY: hidden, with %j', async (...options) => {
    const server = await start()
    server.onRequest('*', (stream, connection) =>
      connection.goAway({
        code: 'ENHANCE_YOUR_CALM',
        debugData: `${stream.field('authorization')} https://me:sesame-3@a/?token=sesame-4`,
        closes: 'at once',
      }),
    )
    const { code, stderr, stdout } = await runHere([server.origin, ...SECRETS, ...options])
    expect(code).toBe(6)
    expect(stdout + stderr).not.toContain('sesame')
    expect(stdout + stderr).toContain('(hidden) https://(hidden)@a/?token=(hidden)')
    const shown = await runHere([server.origin, ...SECRETS, ...options, '--show-secrets'])
    expect(shown.stderr).toContain('Bearer sesame-1 https://me:sesame-3@a/?token=sesame-4')
  })

  it('hides a password that makes the URL none', async () => {
    const { code, stderr } = await runHere(['https://me:ses/ame@a.example/'])
    expect(code).toBe(2)
    expect(stderr).toContain("not 'https://(hidden)@a.example/'")
  })
})

describe('dodici URL: control characters of the server', () => {
  it('are escaped in the document, where JSON leaves them as they are', async () => {
    const server = await start()
    server.onRequest('*', (stream) => stream.respond({ headers: { 'x-a': 'b' }, body: '\u009b31m\u007f' }))
    const { stdout } = await runHere([server.origin, '--json'])
    expect(stdout).toContain('"\\u009b31m\\u007f"')
    expect(JSON.parse(stdout).response.body.text).toBe('\u009b31m\u007f')
  })
})

describe('dodici URL: a server that wants HTTP/1.1', () => {
  it('HTTP_1_1_REQUIRED: 6, and a hint', async () => {
    const server = await start()
    server.onRequest('*', (stream) => stream.reset('HTTP_1_1_REQUIRED'))
    const { code, stderr } = await runHere([server.origin])
    expect(code).toBe(6)
    expect(stderr).toContain("'curl --http1.1 URL' shows its response")
  })
})

describe('dodici URL: a certificate with a date that is none', () => {
  it('ends the connection: 5', async () => {
    const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
      keyType: 'ec',
    })
    const der = Buffer.from(cert.replace(/-----.*-----|\s/g, ''), 'base64')
    // UTCTime, 13 octets: notBefore, and notAfter. Its month becomes 99.
    const mark = Buffer.from([0x17, 13])
    der.write('99', der.indexOf(mark, der.indexOf(mark) + 2) + 4)
    const broken = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
    const { allClosed, port } = await listen(createTlsServer({ key, cert: broken }))
    const { code, stderr } = await runHere([`https://localhost:${port}/`])
    expect(code).toBe(5)
    expect(stderr).toContain("dodici: The certificate can't be read: ")
    await allClosed()
  })
})

describe('dodici URL: hosts', () => {
  it.each([
    'b\u00fccher.example',
    'XN--BCHER-KVA.example',
  ])('--resolve %s is that of the URL', async (host) => {
    const server = await start()
    server.onRequest('*', (stream) => stream.respond())
    const { port } = new URL(server.origin)
    const args = [`http://b\u00fccher.example:${port}/`, '--resolve', `${host}:${port}:127.0.0.1`]
    expect((await runHere(args)).code).toBe(0)
  })

  it.each(['https:/a.example/', 'http:a.example'])('%s has no host: 2', async (url) => {
    expect((await runHere([url])).code).toBe(2)
  })
})
