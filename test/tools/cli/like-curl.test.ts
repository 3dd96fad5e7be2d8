/** A newcomer's session: what the quick starts of curl do, with the same flags. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import type { FaultServer, FaultStream } from '../../../src/testing/index.ts'
import { createFaultServer } from '../../../src/testing/index.ts'
import { runHere } from '../../support/clients/cli-here.ts'
import { toTlsPeer } from '../../support/peers/peer-tls.ts'

const cwd = process.cwd()

afterEach(() => process.chdir(cwd))

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-curl-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

const FORM = 'application/x-www-form-urlencoded'

/** A server that responds by what it was sent. */
async function startEcho(): Promise<FaultServer> {
  const server = await createFaultServer({ h2c: true })
  onTestFinished(() => server.close())
  server.onRequest('*', (stream) => void respondEcho(stream))
  return server
}

async function respondEcho(stream: FaultStream): Promise<void> {
  const body = stream.body.toString()
  const fields = ['authorization', 'user-agent', 'cookie', 'content-type'].map(
    (name) => stream.field(name) ?? '-',
  )
  await stream.respond({
    headers: { 'content-type': 'text/plain', 'x-token': 'hidden' },
    body: [stream.method, stream.path, ...fields, body].join(' '),
  })
}

describe('the request, by the flags of curl', () => {
  it.each([
    [['-d', 'a=1', '-d', 'b=2'], 'POST / - dodici - application/x-www-form-urlencoded a=1&b=2'],
    [['--data-binary', 'a'], 'POST / - dodici - application/x-www-form-urlencoded a'],
    [['--data-raw', '@a', '-d', 'b'], 'POST / - dodici - application/x-www-form-urlencoded @a&b'],
    [['-d', 'x', '--data-urlencode', 'a b=c d&ü'], `POST / - dodici - ${FORM} x&a b=c%20d%26%C3%BC`],
    [['--data-urlencode', '=a=b'], `POST / - dodici - ${FORM} a%3Db`],
    [['--data-urlencode', 'a/b'], `POST / - dodici - ${FORM} a%2Fb`],
    [['-G', '-d', 'a=1', '--data-urlencode', 'b=ü'], 'GET /?a=1&b=%C3%BC - dodici - - '],
    [['-G', '-X', 'PUT', '-d', 'a=1'], 'PUT /?a=1 - dodici - - '],
    [['-G'], 'GET / - dodici - - '],
    [['-u', 'me:secret'], 'GET / Basic bWU6c2VjcmV0 dodici - - '],
    [['-A', 'curl/8'], 'GET / - curl/8 - - '],
    [['-b', 'a=1', '-b', 'b=2'], 'GET / - dodici a=1; b=2 - '],
    [['--http2', '-sS'], 'GET / - dodici - - '],
    [['--http2-prior-knowledge', '-m', '5', '-f'], 'GET / - dodici - - '],
  ])('%j', async (flags, expected) => {
    const server = await startEcho()
    const { code, stdout } = await runHere([...flags, `${server.origin}/`])
    expect([code, stdout]).toEqual([0, expected])
  })

  it.each([
    [['-u', 'me'], '--user takes USER:PASSWORD'],
    [['-b', 'jar.txt'], '--cookie takes NAME=VALUE'],
    [['--key', 'k.pem'], '--key has no effect without --cert'],
    [['-i', '--json'], '--json contains the header section'],
    [['-O'], '--remote-name takes the file name from the URL'],
  ])('%j: is refused, exit code 2', async (flags, message) => {
    const { code, stderr } = await runHere([...flags, 'http://localhost:1/'])
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })
})

it('--data-urlencode NAME@FILE, and -G behind a query', async () => {
  const server = await startEcho()
  const file = join(await makeFolder(), 'name')
  await writeFile(file, Buffer.from([0x20, 0x00, 0xff]))
  const flags = ['--data-urlencode', `a@${file}`, '--data-urlencode', `@${file}`]
  const { stdout } = await runHere(['-G', ...flags, `${server.origin}/?x=y#z`])
  expect(stdout).toBe('GET /?x=y&a=%20%00%FF&%20%00%FF - dodici - - ')
})

it('-G -I: HEAD; -e: the field referer', async () => {
  const server = await startEcho()
  await runHere(['-sGI', '-d', 'a=1', '-e', 'http://a.test/b', `${server.origin}/head`])
  const request = server.request('/head')
  expect([request.method, request.path]).toEqual(['HEAD', '/head?a=1'])
  expect(request.field('referer')).toBe('http://a.test/b')
})

describe('--compressed', () => {
  const text = 'a text that is as long as a text\n'.repeat(1_000)

  async function startCoded(coding: string, body: Buffer): Promise<FaultServer> {
    const server = await createFaultServer({ h2c: true })
    onTestFinished(() => server.close())
    server.onRequest('*', (stream) => void stream.respond({ headers: { 'content-encoding': coding }, body }))
    return server
  }

  it.each([
    ['gzip', gzipSync(text)],
    ['X-GZip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
    ['identity', Buffer.from(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
  ])('%s: is asked for, and decoded', async (coding, body) => {
    const server = await startCoded(coding, body)
    const { code, stdout } = await runHere(['-s', '--compressed', '-w', '%{size_download}', server.origin])
    expect([code, stdout]).toEqual([0, `${text}${body.length}`])
    expect(server.request('/').field('accept-encoding')).toBe('deflate, gzip, br')
  })

  it('a HEAD, and an empty body, have nothing to decode', async () => {
    const server = await startCoded('gzip', Buffer.alloc(0))
    for (const flags of [['-I'], []]) {
      const { code, stdout } = await runHere(['-s', '--compressed', ...flags, server.origin])
      expect([code, stdout.includes('content-encoding')]).toEqual([0, flags.length > 0])
    }
  })

  it.each([
    ['zstd', Buffer.from(text), "'zstd' is an unknown content coding"],
    ['gzip', Buffer.from(text), 'incorrect header check'],
    ['gzip', gzipSync(text).subarray(0, 100), 'unexpected end of file'],
    ['br', gzipSync(text), 'Decompression failed'],
    ['gzip,gzip,gzip,gzip,gzip,gzip', gzipSync(text), 'more than 5 content codings'],
  ])('%s, and the body is something else: exit code 6', async (coding, body, message) => {
    const server = await startCoded(coding, body)
    const { code, stderr } = await runHere(['-s', '--compressed', server.origin])
    expect([code, stderr]).toEqual([6, expect.stringContaining(message)])
  })

  it('without it the body comes as it is', async () => {
    const body = gzipSync('text')
    const server = await startCoded('gzip', body)
    const file = join(await makeFolder(), 'body')
    await runHere(['-o', file, server.origin])
    expect(await readFile(file)).toEqual(body)
    expect(server.request('/').field('accept-encoding')).toBeUndefined()
  })
})

describe('the response, by the flags of curl', () => {
  it('-s: no report, and errors all the same', async () => {
    const server = await startEcho()
    expect((await runHere(['-s', server.origin])).stderr).toBe('')
    expect((await runHere(['-s', 'http://127.0.0.1:1/'])).stderr).toMatch(/^dodici: No connection/)
  })

  it('-i: the header section ahead of the body, without secrets', async () => {
    const server = await startEcho()
    const { stdout } = await runHere(['-si', `${server.origin}/`])
    expect(stdout).toBe(
      'HTTP/2 200 \r\ncontent-type: text/plain\r\nx-token: (hidden)\r\n\r\nGET / - dodici - - ',
    )
  })

  it('-I: HEAD, and the header section', async () => {
    const server = await createFaultServer({ h2c: true })
    onTestFinished(() => server.close())
    const { stdout } = await runHere(['-sI', `${server.origin}/`])
    expect([stdout, server.counts]).toEqual(['HTTP/2 200 \r\n\r\n', { 'HEAD /': 1 }])
  })

  it('-O: the body goes to the file that the URL names', async () => {
    const server = await startEcho()
    const folder = await makeFolder()
    process.chdir(folder)
    const { stdout } = await runHere(['-O', `${server.origin}/a/b.txt?c`])
    expect([stdout, await readFile(join(folder, 'b.txt'), 'utf8')]).toEqual([
      '',
      'GET /a/b.txt?c - dodici - - ',
    ])
  })
})

describe('--write-out', () => {
  it('writes values by the names of curl, behind the body', async () => {
    const server = await startEcho()
    const format =
      '\\n%{http_code} %{response_code} %{http_version} %{size_download} %{content_type} %header{x-token} %{nothing}%%\\t%{url}'
    const { stdout } = await runHere(['-s', '-w', format, `${server.origin}/`])
    expect(stdout).toBe(`GET / - dodici - - \n200 200 2 19 text/plain (hidden) %\t${server.origin}/`)
  })

  it('has the times of the wire, in seconds and in their order', async () => {
    const server = await createFaultServer({ h2c: true })
    onTestFinished(() => server.close())
    server.onRequest('*', async (stream) => {
      await stream.delay(100)
      await stream.respond('late')
    })
    const names = ['namelookup', 'connect', 'pretransfer', 'starttransfer', 'total']
    const format = `\\n${names.map((name) => `%{time_${name}}`).join(' ')}`
    const { stdout } = await runHere(['-s', '-w', format, `${server.origin}/`])
    const times = (stdout.split('\n')[1] ?? '').split(' ').map(Number)
    expect(times.every((time) => /^\d+\.\d{0,6}$|^0$/.test(String(time)))).toBe(true)
    expect(times).toEqual([...times].sort((a, b) => a - b))
    const [, , sent = 0, first = 0] = times
    expect(first - sent).toBeGreaterThan(0.095)
  })

  it('is written for a failure, too; @FILE has the format', async () => {
    const file = join(await makeFolder(), 'format')
    await writeFile(file, '%{http_code} %{exitcode}\n')
    const { code, stdout } = await runHere(['-w', `@${file}`, 'http://127.0.0.1:1/'])
    expect([code, stdout]).toEqual([4, '000 4\n'])
  })
})

describe('--location', () => {
  async function startRedirect(status: number, location: string): Promise<FaultServer> {
    const server = await startEcho()
    server.onRequest(
      '/from',
      (stream) => void stream.respond({ status, headers: { location }, body: 'moved' }),
    )
    return server
  }

  it.each([
    [301, 'POST', 'GET /to - dodici - - '],
    [302, 'POST', 'GET /to - dodici - - '],
    [303, 'PUT', 'GET /to - dodici - - '],
    [307, 'POST', 'POST /to - dodici - application/x-www-form-urlencoded body'],
    [308, 'PUT', 'PUT /to - dodici - application/x-www-form-urlencoded body'],
    [301, 'PUT', 'PUT /to - dodici - application/x-www-form-urlencoded body'],
  ])('%i after %s', async (status, method, expected) => {
    const server = await startRedirect(status, '/to')
    const flags = ['-L', '-X', method, '-d', 'body', '-w', '|%{num_redirects} %{http_code}']
    const { code, stdout } = await runHere([...flags, `${server.origin}/from`])
    expect([code, stdout]).toEqual([0, `${expected}|1 200`])
  })

  it('without it the redirect is the response', async () => {
    const server = await startRedirect(302, '/to')
    expect((await runHere([`${server.origin}/from`])).stdout).toBe('moved')
  })

  it('to another origin › credentials stay behind', async () => {
    const other = await startEcho()
    const server = await startRedirect(307, `${other.origin}/to`)
    const flags = ['-L', '-u', 'me:secret', '-b', 'a=1']
    const { stdout } = await runHere([...flags, `${server.origin}/from`])
    expect(stdout).toBe('GET /to - dodici - - ')
    expect(server.request('/from').field('authorization')).toMatch(/^Basic/)
  })

  it('--json › has the last response, and the way to it', async () => {
    const server = await startRedirect(301, '/to?token=hidden')
    const { stdout } = await runHere(['-L', '--json', `${server.origin}/from?sig=hidden`])
    expect(JSON.parse(stdout)).toMatchObject({
      url: `${server.origin}/to?token=(hidden)`,
      redirects: [{ status: 301, url: `${server.origin}/from?sig=(hidden)` }],
      response: { status: 200 },
    })
  })

  it.each([
    ['/from', 'more than 50 redirects'],
    ['ftp://127.0.0.1/', "doesn't lead to an http: or https: URL"],
  ])('to %s: exit code 1', async (location, message) => {
    const server = await startRedirect(302, location)
    const { code, stderr } = await runHere(['-sL', `${server.origin}/from`])
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  })

  it('a body that can be read once is not sent again', async () => {
    const server = await startRedirect(307, '/to')
    const { code, stderr } = await runHere(['-sL', '-T', '-', `${server.origin}/from`], { stdin: 'once' })
    expect([code, stderr]).toEqual([1, expect.stringContaining("can't be read twice")])
  })
})

describe('the connection, by the flags of curl', () => {
  it('--cert and --key: the server gets the certificate', async () => {
    const { options, ca } = await toTlsPeer()
    const folder = await makeFolder()
    const files = { ca: join(folder, 'ca.pem'), key: join(folder, 'key.pem'), both: join(folder, 'both.pem') }
    await writeFile(files.ca, ca)
    await writeFile(files.key, String(options.key))
    await writeFile(files.both, `${options.key}\n${options.cert}`)
    const server = await createFaultServer({ ...options, ca, requestCert: true, rejectUnauthorized: true })
    onTestFinished(() => server.close())
    const trust = ['--cacert', files.ca]
    const own = ['--cert', files.ca, '--key', files.key]
    expect((await runHere([...trust, server.origin])).code).not.toBe(0)
    expect((await runHere([...trust, ...own, server.origin])).code).toBe(0)
    expect((await runHere([...trust, '--cert', files.both, server.origin])).code).toBe(0)
    const { code, stderr } = await runHere(['--cert', files.ca, server.origin])
    expect([code, stderr]).toEqual([2, expect.stringContaining('--cert and --key take')])
  })

  it('--unix-socket: connects to the path', async () => {
    const { createServer } = await import('node:http2')
    const path = join(await makeFolder(), 'socket')
    const server = createServer((_request, response) => void response.end('by a path'))
    await new Promise<void>((resolve) => server.listen(path, resolve))
    onTestFinished(() => void server.close())
    const { code, stderr, stdout } = await runHere(['--unix-socket', path, 'http://any.test/'])
    expect([code, stdout]).toEqual([0, 'by a path'])
    expect(stderr).toMatch(/\n {2}Unix socket {2}\S+\/socket {2}\d/)
    const { stdout: json } = await runHere(['--json', '--unix-socket', path, 'http://any.test/'])
    expect(JSON.parse(json).connection).toMatchObject({ dns: null, tcp: null, unix: { path } })
    expect((await runHere(['--unix-socket', `${path}-no`, 'http://any.test/'])).code).toBe(4)
  })
})

describe('secrets', () => {
  it.each([
    'token',
    'X-Amz-Signature',
    'X-Amz-Credential',
    'sig',
    'code',
    'pwd',
    'x-auth-user',
    'client_secret',
    'apikey',
    'SAMLAssertion',
  ])('of the parameter %s are hidden', async (name) => {
    const server = await startEcho()
    const { stderr } = await runHere(['-o', '/dev/null', `${server.origin}/?a=1&${name}=hidden-one&b=2`])
    expect(stderr).toContain(`?a=1&${name}=(hidden)&b=2`)
    expect(stderr).not.toContain('hidden-one')
  })

  it.each(['x-auth-user', 'X-Signature', 'x-pwd', 'sig'])('of the field %s are hidden', async (name) => {
    const server = await startEcho()
    const { stderr } = await runHere(['-H', `${name}: hidden-one`, server.origin])
    expect(stderr.toLowerCase()).toContain(`${name.toLowerCase()}: (hidden)`)
  })

  it('what only looks like one is shown', async () => {
    const server = await startEcho()
    const { stderr } = await runHere([`${server.origin}/?country_code=de&signed=1&design=2`])
    expect(stderr).toContain('/?country_code=de&signed=1&design=2')
  })
})
