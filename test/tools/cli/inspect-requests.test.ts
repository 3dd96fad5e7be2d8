import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runHere } from '../../support/clients/cli-here.ts'
import { read, startServer } from '../../support/servers/server.ts'
import { KINDS, startTunnelProxy } from '../../support/servers/tunnel-proxy.ts'

/** A server that responds with the request as JSON. */
async function startEcho(tls = false): Promise<{ readonly origin: string; readonly ca: string }> {
  return startServer(
    async (stream, headers) => {
      // Null: the client has reset the stream.
      const body = await read(stream).catch(() => null)
      if (body === null) return
      stream.respond({ ':status': 200 })
      stream.end(JSON.stringify({ ...headers, body }))
    },
    { tls },
  )
}

/** What the server of `startEcho()` got. */
async function ask(args: readonly string[], stdin = ''): Promise<Record<string, string>> {
  const { code, stderr, stdout } = await runHere(args, { stdin })
  expect({ code, stderr }).toMatchObject({ code: 0 })
  return JSON.parse(stdout)
}

async function makeFile(name: string, content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-inspect-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

describe('dodici URL: the request', () => {
  it('is a GET with the path and query of the URL', async () => {
    const { origin } = await startEcho()
    expect(await ask([`${origin}/a%20b?c=d#e`])).toMatchObject({
      ':method': 'GET',
      ':path': '/a%20b?c=d',
      accept: '*/*',
      'user-agent': 'dodici',
      body: '',
    })
  })

  it('-X, -H and -d', async () => {
    const { origin } = await startEcho()
    const fields = ['-H', 'X-A: 1', '--header', 'accept: text/html', '-H', 'host: other.example']
    const got = await ask(['-X', 'PATCH', ...fields, '-d', 'a=b', origin])
    expect(got).toMatchObject({
      ':method': 'PATCH',
      ':authority': 'other.example',
      'x-a': '1',
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': '3',
      body: 'a=b',
    })
  })

  it('-d alone is a POST, of a file or the standard input too', async () => {
    const { origin } = await startEcho()
    const path = await makeFile('body.json', '{\n}')
    const json = ['-H', 'Content-Type: application/json']
    expect(await ask(['-d', `@${path}`, ...json, origin])).toMatchObject({
      ':method': 'POST',
      'content-type': 'application/json',
      body: '{\n}',
    })
    expect(await ask(['-d', '@-', origin], 'from stdin')).toMatchObject({ body: 'from stdin' })
  })

  it('-F is a form of values and files', async () => {
    const { origin } = await startEcho()
    const path = await makeFile('note.txt', 'note')
    const { body = '', ...headers } = await ask(['-F', 'a=1', '-F', `file=@${path}`, origin])
    expect(headers).toMatchObject({
      ':method': 'POST',
      'content-type': expect.stringMatching(/^multipart\/form-data; boundary=/),
      'content-length': String(Buffer.byteLength(body)),
    })
    expect(body).toContain('name="a"\r\n\r\n1\r\n')
    expect(body).toMatch(
      /name="file"; filename="note\.txt"\r\nContent-Type: text\/plain; ?charset=utf-8\r\n\r\nnote\r\n/i,
    )
  })

  it('-T puts a file, with its length, or the standard input', async () => {
    const { origin } = await startEcho()
    const path = await makeFile('a.html', '<p>')
    expect(await ask(['-T', path, origin])).toMatchObject({
      ':method': 'PUT',
      'content-length': '3',
      'content-type': 'text/html; charset=utf-8',
      body: '<p>',
    })
    const got = await ask(['-T', '-', '-X', 'POST', origin], 'piped')
    expect(got).toMatchObject({ ':method': 'POST', body: 'piped' })
    expect(got['content-length']).toBeUndefined()
  })

  it('a standard input that fails: 1', async () => {
    const { origin } = await startEcho()
    function* fail(): Generator<Uint8Array> {
      yield Buffer.from('begin')
      throw new Error('the disk is gone')
    }
    const { code, stderr } = await runHere(['-T', '-', origin], { stdin: fail() })
    expect(code).toBe(1)
    expect(stderr).toContain("\ndodici: --upload can't be read to its end: the disk is gone\n")
  })

  it('credentials of the URL are sent, unless a field has them', async () => {
    const { origin } = await startEcho()
    const url = origin.replace('://', '://me:p@')
    expect(await ask([url])).toMatchObject({
      authorization: `Basic ${Buffer.from('me:p').toString('base64')}`,
    })
    expect(await ask([url, '-H', 'authorization: own'])).toMatchObject({ authorization: 'own' })
  })

  it('HEAD has no body', async () => {
    const { origin } = await startServer((stream) =>
      stream.respond({ ':status': 200, 'content-length': '9' }, { endStream: true }),
    )
    expect(await runHere(['-X', 'HEAD', origin])).toMatchObject({ code: 0, stdout: '' })
  })
})

describe('dodici URL: the way to the server', () => {
  it.each(['wire', 'node'])('TLS with --ca, on %s', async (engine) => {
    const { ca, origin } = await startEcho(true)
    const path = await makeFile('ca.pem', ca)
    const { code, stderr, stdout } = await runHere(['--engine', engine, '--ca', path, origin])
    expect([code, JSON.parse(stdout)[':scheme']]).toEqual([0, 'https'])
    expect(stderr).toContain('  Trusted      yes\n')
  })

  it('--resolve: other addresses, the same name', async () => {
    const { ca, origin } = await startEcho(true)
    const { port } = new URL(origin)
    const path = await makeFile('ca.pem', ca)
    const resolve = ['--resolve', `LOCALHOST:${port}:127.0.0.1`]
    const { code, stderr } = await runHere(['--ca', path, ...resolve, origin])
    expect(code).toBe(0)
    expect(stderr).not.toContain('  DNS ')
    const other = await runHere([
      '-k',
      '--resolve',
      `a.example:${port}:127.0.0.1`,
      `https://a.example:${port}/`,
    ])
    expect(other.code).toBe(0)
    expect(other.stderr).toContain('no: it is self-signed; it is for localhost, 127.0.0.1, not for a.example')
  })

  it.each(KINDS)('--proxy: a tunnel through %s', async (kind) => {
    const { origin } = await startEcho(true)
    const proxy = await startTunnelProxy(kind, (tunnel) => tunnel.relay())
    const uri = proxy.uri.replace('://', '://me:hush@')
    const { code, stderr, stdout } = await runHere(['-v', '-k', '--proxy', uri, origin])
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(JSON.parse(stdout)[':path']).toBe('/')
    expect(stderr).toContain(`  Tunnel       via ${proxy.uri.replace(/\/$/, '')}  `)
    expect(stderr).toContain('  ALPN         h2\nCertificate\n')
    expect(stderr).toContain('< SETTINGS ')
    expect(stderr).not.toContain('hush')
    expect(proxy.asked).toHaveLength(1)
  })

  it('--proxy: h2c goes through a tunnel too', async () => {
    const { origin } = await startEcho()
    const proxy = await startTunnelProxy('HTTP/1.1', (tunnel) => tunnel.relay())
    expect((await runHere(['--proxy', proxy.uri, origin])).code).toBe(0)
    expect(proxy.asked).toHaveLength(1)
  })

  it('--proxy: a dead one: 4', async () => {
    const { origin } = await startEcho(true)
    const { code, stderr } = await runHere(['--proxy', 'http://me:hush@127.0.0.1:1', origin])
    expect(code).toBe(4)
    expect(stderr).toContain('ECONNREFUSED')
    expect(stderr).not.toContain('hush')
  })
})

describe('dodici URL: its command line', () => {
  it.each([
    { args: ['-v', '-X', 'GET', '--', 'https://a', 'https://b'], message: 'takes one URL, not 2' },
    { args: ['URL'], message: 'a URL is missing' },
    { args: ['-d', 'a.b'], message: 'a URL is missing' },
    { args: ['ftp://a'], message: "URL takes https://HOST/PATH, http:// or HOST[:PORT]/PATH, not 'ftp://a'" },
    { args: ['https://a', '--h2c'], message: '--h2c is HTTP/2 without TLS' },
    { args: ['https://a', '-d', 'x', '-T', 'y'], message: "--data, --form and --upload can't be combined" },
    { args: ['https://a', '-F', 'x'], message: '--form takes NAME=VALUE or NAME=@FILE' },
    { args: ['https://a', '-F', 'x=@/none'], message: "--form can't read '/none': ENOENT" },
    { args: ['https://a', '-T', '/none'], message: "--upload can't read '/none': ENOENT" },
    { args: ['https://a', '-T', '/'], message: "--upload can't send '/': it is a folder" },
    { args: ['https://a', '--engine', 'h3'], message: "--engine takes wire or node, not 'h3'" },
    { args: ['https://a', '--timeout', 'x'], message: '--timeout takes a duration such as 10s' },
    {
      args: ['https://a', '--resolve', 'a:1'],
      message: '--resolve takes HOST:PORT:ADDRESS with an IP address',
    },
    { args: ['https://a', '--resolve', 'a:1:b'], message: "separated by commas, not 'a:1:b'" },
    { args: ['https://a', '--proxy', 'x'], message: '--proxy takes a URL that begins with http://' },
    {
      args: ['https://a', '--proxy', 'http://p', '--resolve', 'a:1:127.0.0.1'],
      message: '--resolve has no effect with --proxy',
    },
    { args: ['https://a', '--jsno'], message: "unknown option '--jsno'. Did you mean '--json'?" },
    { args: ['https://a', '-H', 'te: gzip'], message: "'trailers', which is all that HTTP/2 allows" },
  ])('$args: 2, with what would be accepted', async ({ args, message }) => {
    const { code, stderr } = await runHere(args)
    expect(code).toBe(2)
    expect(stderr).toContain(message)
    expect(stderr).toMatch(/\n'dodici( URL)? --help' shows more\.\n$/)
  })
})
