import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FaultServer, FaultStream, RequestScript } from '../../../src/testing/index.ts'
import { createFaultServer, frames } from '../../../src/testing/index.ts'
import { runHere } from '../../support/clients/cli-here.ts'
import { NO_ERROR, REFUSED_STREAM } from '../../support/peers/error-codes.ts'
import { toTlsPeer } from '../../support/peers/peer-tls.ts'

const ESCAPE = '\u001b'

/** Ahead of each progress line. */
const CLEAR = `\r${ESCAPE}[K`

/** A server that does this about each request, in the clear. */
async function serve(script: RequestScript): Promise<FaultServer> {
  const server = await createFaultServer({
    h2c: true,
    settings: { maxConcurrentStreams: 7, maxFrameSize: 20_000 },
  })
  onTestFinished(() => server.close())
  server.onRequest('*', script)
  return server
}

function respondText(stream: FaultStream): void {
  void stream.respond({ status: 200, headers: [['content-type', 'text/plain']], body: 'hello' })
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dodici-inspect-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

describe('dodici URL: the report', () => {
  it('has the connection, SETTINGS, limits, windows, both header sections and times', async () => {
    const { origin } = await serve(respondText)
    const { code, stderr, stdout } = await runHere([`${origin}/path?q=1`])
    expect([code, stdout]).toEqual([0, 'hello'])
    const { host, port } = new URL(origin)
    const lines = stderr
      .replace(/\d+\.\d+ ms/g, 'N ms')
      .trimEnd()
      .split('\n')
    expect(lines).toEqual([
      `GET ${origin}/path?q=1`,
      ...(host.startsWith('localhost')
        ? [expect.stringMatching(/^ {2}DNS {10}127\.0\.0\.1.* {2}N ms$/)]
        : []),
      `  TCP          127.0.0.1:${port}  N ms`,
      'HTTP/2',
      expect.stringContaining('  SETTINGS     '),
      expect.stringContaining('               '),
      '  Limits       7 streams, frames of 20000 bytes',
      '               header section: no limit',
      "  Windows      the server's: stream 65535, connection 65535 bytes",
      '               ours: stream 1048579, connection 4194319 bytes',
      'Request',
      '  :method: GET',
      '  :scheme: http',
      `  :authority: ${host}`,
      '  :path: /path?q=1',
      '  accept: */*',
      '  user-agent: dodici',
      'Response 200',
      expect.stringMatching(/^ {2}(content|x)/),
      ...lines.slice(lines.indexOf('Response 200') + 2, lines.indexOf('Times')),
      'Times',
      '  Round trip   N ms',
      '  First byte   N ms',
      '  Total        N ms, 5 B',
    ])
  })

  it('has TLS and the certificate', async () => {
    const { options } = await toTlsPeer()
    const server = await createFaultServer(options)
    onTestFinished(() => server.close())
    server.onRequest('*', respondText)
    const { code, stderr } = await runHere(['-k', server.origin])
    expect(code).toBe(0)
    expect(stderr).toMatch(/^ {2}TLS {10}TLSv1\.3, TLS_\w+ {2}\d+\.\d+ ms$/m)
    expect(stderr).toContain(
      '  ALPN         h2\nCertificate\n  Subject      CN=localhost\n  Names        localhost, 127.0.0.1\n',
    )
    expect(stderr).toMatch(/^ {2}Valid {8}\d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d, \d+ days left$/m)
  })

  it('joins fields of one name; --raw shows each, as it came', async () => {
    const { origin } = await serve((stream) => {
      stream.head(
        200,
        [
          ['b', '1'],
          ['a', '2'],
          ['set-cookie', 'x'],
          ['b', '3'],
          ['set-cookie', 'y'],
        ],
        { isEnd: true },
      )
    })
    const toFields = (stderr: string): string[] => {
      return [...stderr.slice(stderr.indexOf('Response')).matchAll(/^ {2}(\S+: .*)$/gm)].map(
        ([, field = '']) => field,
      )
    }
    const joined = await runHere([origin, '--show-secrets'])
    expect(toFields(joined.stderr)).toEqual(['b: 1, 3', 'a: 2', 'set-cookie: x', 'set-cookie: y'])
    const raw = await runHere([origin, '--raw', '--show-secrets'])
    expect(toFields(raw.stderr)).toEqual(['b: 1', 'a: 2', 'set-cookie: x', 'b: 3', 'set-cookie: y'])
  })

  it('--trailers asks for the trailer section, and shows it', async () => {
    const { origin } = await serve(async (stream) => {
      stream.head(200)
      await stream.data('body')
      await stream.endWith([['x-sum', stream.field('te') ?? 'none']])
    })
    const shown = await runHere([origin, '--trailers'])
    expect(shown.stderr).toContain('\nTrailers\n  x-sum: trailers\n')
    expect((await runHere([origin])).stderr).not.toContain('x-sum')
    const none = await serve(respondText)
    expect((await runHere([none.origin, '--trailers'])).stderr).toContain('\nTrailers: none\n')
  })

  it('has informational responses', async () => {
    const { origin } = await serve((stream) => {
      stream.inform(103, [['link', '</a.css>']])
      respondText(stream)
    })
    expect((await runHere([origin])).stderr).toContain('\nInformational response 103\n  link: </a.css>\n')
  })

  it('says what was assumed for a URL without a scheme', async () => {
    const { origin } = await serve(respondText)
    const { host } = new URL(origin)
    const { code, stderr } = await runHere(['--h2c', `${host}/a`])
    expect([code, stderr.split('\n')[0]]).toEqual([0, `GET http://${host}/a  (the scheme is assumed)`])
  })

  it('--fail: 8 for a status of 400 or more, after the body', async () => {
    const { origin } = await serve((stream) => stream.respond({ status: 404, body: 'gone' }))
    expect(await runHere([origin])).toMatchObject({ code: 0, stdout: 'gone' })
    const failed = await runHere([origin, '--fail'])
    expect(failed).toMatchObject({ code: 8, stdout: 'gone' })
    expect(failed.stderr).toMatch(/\ndodici: the status is 404\n$/)
  })
})

describe('dodici URL: frames by --verbose', () => {
  it.each(['wire', 'node'])('as they go and come, on %s', async (engine) => {
    const { origin } = await serve((stream) => respondText(stream))
    const { code, stderr } = await runHere(['-v', '--engine', engine, origin, '-d', 'abc'])
    expect(code).toBe(0)
    const text = stderr.replace(/ {2}\(\d+\.\d ms\)/g, '')
    expect(text).toMatch(/^> SETTINGS \d+ bytes\n> {3}ENABLE_PUSH 0\n/m)
    expect(text).toMatch(/^> WINDOW_UPDATE \+\d+ 4 bytes$/m)
    expect(text).toMatch(/^> HEADERS stream 1 END_HEADERS \d+ bytes\n> {3}:method: POST\n/m)
    expect(text).toContain('\n> DATA stream 1 END_STREAM 3 bytes\n')
    expect(text).toMatch(/^< SETTINGS \d+ bytes\n(< {3}.*\n)*< {3}MAX_CONCURRENT_STREAMS 7\n/m)
    expect(text).toContain('\n> SETTINGS ACK 0 bytes\n')
    expect(text).toContain('\n< SETTINGS ACK 0 bytes\n')
    expect(text).toMatch(/^< HEADERS stream 1 END_HEADERS \d+ bytes\n< {3}:status: 200\n/m)
    expect(text).toContain('\n> GOAWAY last stream 0 NO_ERROR 8 bytes\n')
  })

  it('RST_STREAM, PING, PRIORITY, GOAWAY and unknown types, with what they say', async () => {
    const { origin } = await serve((_stream, connection) => {
      connection.write(
        frames.ping(),
        frames.frame(2, 0, 1, Buffer.alloc(5)),
        frames.frame(0xfa, 0x3, 0, Buffer.from('abc')),
        frames.windowUpdate(1, 5),
        frames.goAway(1, NO_ERROR, `bye${ESCAPE}[1m`),
        frames.reset(1, REFUSED_STREAM),
      )
    })
    const { code, stderr } = await runHere(['-v', origin])
    expect(code).toBe(6)
    const text = stderr.replace(/ {2}\(\d+\.\d ms\)/g, '')
    expect(text).toMatch(/^< PING [0-9a-f]{16} 8 bytes$/m)
    expect(text).toContain('\n< PRIORITY stream 1 5 bytes\n')
    expect(text).toContain('\n< 0xfa 3 bytes\n')
    expect(text).toContain('\n< WINDOW_UPDATE stream 1 +5 4 bytes\n')
    expect(text).toMatch(/\n< GOAWAY last stream 1 NO_ERROR \d+ bytes\n< {3}debug data: bye\\x1b\[1m\n/)
    expect(text).toContain('\n< RST_STREAM stream 1 REFUSED_STREAM 4 bytes\n')
  })

  it('a malformed one, with the rule that it breaks', async () => {
    const { origin } = await serve((_stream, connection) => connection.badFrame('SETTINGS of 5 octets'))
    const { stderr } = await runHere(['-v', origin])
    expect(stderr).toContain(
      '\n<   malformed: SETTINGS has 5 bytes, which is not a multiple of 6 (RFC 9113 §6.5)\n',
    )
  })

  it('field blocks in several frames, of an encoder with a dynamic table', async () => {
    const { origin } = await serve((_stream, connection) => {
      // A literal with incremental indexing, then the entry that it has made.
      const block = Buffer.concat([
        Buffer.of(0x88, 0x40, 1),
        Buffer.from('n'),
        Buffer.of(1),
        Buffer.from('v'),
        Buffer.of(0xbe),
      ])
      const pieces = [frames.frame(1, 1, 1, block.subarray(0, 2)), frames.frame(9, 4, 1, block.subarray(2))]
      connection.write(...pieces)
    })
    const { code, stderr } = await runHere(['-v', '--raw', origin])
    expect(code).toBe(0)
    expect(stderr).toMatch(
      /< CONTINUATION stream 1 END_HEADERS 5 bytes .*\n< {3}:status: 200\n< {3}n: v\n< {3}n: v\n/,
    )
  })
})

describe('dodici URL: secrets', () => {
  const script = (stream: FaultStream): void => {
    const headers: [string, string][] = [
      ['set-cookie', 'hush=1'],
      ['x-session-id', 'hush'],
      ['location', 'https://me:hush@a.example/?access_token=hush&q=1'],
    ]
    void stream.respond({ status: 200, headers, body: 'body' })
  }
  const secrets = [
    '-H',
    'Authorization: hush',
    '-H',
    'cookie: hush',
    '-H',
    'X-Api-Key: hush',
    '-H',
    'password: hush',
  ]

  it.each([[[]], [['-v']], [['--json']], [['--json', '-v']]])('%s: none is shown', async (options) => {
    const { origin } = await serve(script)
    const url = origin.replace('://', '://user:hush@')
    const { code, stderr, stdout } = await runHere([...options, ...secrets, `${url}/?token=hush`])
    expect(code).toBe(0)
    expect(`${stderr}${stdout}`).not.toContain('hush')
    expect(`${stderr}${stdout}`).not.toContain(Buffer.from('user:hush').toString('base64'))
    expect(`${stderr}${stdout}`).toContain('(hidden)')
  })

  it('none is shown of a call that failed before it was sent', async () => {
    const { code, stderr, stdout } = await runHere([
      '--json',
      ...secrets,
      'https://u:hush@nowhere.invalid/?key=hush',
    ])
    expect(code).toBe(3)
    expect(`${stderr}${stdout}`).not.toContain('hush')
  })

  it('--show-secrets shows them', async () => {
    const { origin } = await serve(script)
    const { stderr } = await runHere(['--show-secrets', ...secrets, `${origin}/?token=hush`])
    expect(stderr).toContain('  authorization: hush\n  cookie: hush\n  x-api-key: hush\n')
    expect(stderr).toContain('  :path: /?token=hush\n')
    expect(stderr).toContain('  location: https://me:hush@a.example/?access_token=hush&q=1\n')
  })
})

describe('dodici URL: terminals', () => {
  it('has colours on a terminal alone, and not with NO_COLOR or TERM=dumb', async () => {
    const { origin } = await serve(respondText)
    const coloured = await runHere([origin], { stderrIsTTY: true })
    expect(coloured.stderr).toContain(`${ESCAPE}[1mResponse 200${ESCAPE}[0m\n`)
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      const { stderr } = await runHere([origin], { stderrIsTTY: true, stdoutIsTTY: true, env })
      expect(stderr).not.toContain(ESCAPE)
    }
    expect((await runHere([origin], { stdoutIsTTY: true })).stderr).not.toContain(ESCAPE)
  })

  it('control characters of the server are made visible', async () => {
    const { origin } = await serve((stream) =>
      stream.respond({ status: 200, headers: [['a', `b${ESCAPE}]0;t\u009b`]] }),
    )
    const { stderr } = await runHere(['-v', origin])
    expect(stderr).toContain('  a: b\\x1b]0;t\\x9b\n')
    expect(stderr).not.toContain(ESCAPE)
  })

  it('a binary body is kept from a terminal: 1, with a hint', async () => {
    const { origin } = await serve((stream) => stream.respond(Buffer.from('PNG\0\0')))
    const refused = await runHere([origin], { stdoutIsTTY: true })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('\ndodici: the body is binary: use -o FILE to save it')
    const forced = await runHere([origin, '-o', '-'], { stdoutIsTTY: true })
    expect(forced).toMatchObject({ code: 0, stdout: 'PNG\0\0' })
    expect(await runHere([origin])).toMatchObject({ code: 0, stdout: 'PNG\0\0' })
  })

  it('progress of a download to a file, on a terminal alone', async () => {
    const size = 3_000_000
    const { origin } = await serve((stream) => stream.respond(Buffer.alloc(size, 'x')))
    const path = join(await makeFolder(), 'body')
    const shown = await runHere([origin, '-o', path], { stderrIsTTY: true, stdoutIsTTY: true })
    expect(shown.code).toBe(0)
    const drawn = shown.stderr.replaceAll(CLEAR, '<clear>')
    expect(drawn).toMatch(/<clear>received \d+(\.\d)? \w+(, | of 3\.0 MB, )/)
    // It is gone before the report goes on.
    expect(drawn).toContain(`<clear>${ESCAPE}[1mTimes`)
    expect((await readFile(path)).length).toBe(size)
    expect((await runHere([origin, '-o', path])).stderr).not.toContain('\r')
    expect((await runHere([origin], { stderrIsTTY: true, stdoutIsTTY: true })).stderr).not.toContain('\r')
  })

  it('progress of an upload', async () => {
    const { origin } = await serve(respondText)
    const pieces = Array.from({ length: 20 }, () => Buffer.alloc(50_000))
    const { code, stderr } = await runHere([origin, '-T', '-', '-o', join(await makeFolder(), 'body')], {
      stdin: pieces,
      stderrIsTTY: true,
    })
    expect(code).toBe(0)
    expect(stderr.replaceAll(CLEAR, '<clear>')).toMatch(/<clear>sent \d+(\.\d)? kB, /)
  })
})

describe('dodici URL: the body', () => {
  it('-o to a folder that is missing: 11', async () => {
    const { origin } = await serve(respondText)
    const { code, stderr } = await runHere([origin, '-o', join(await makeFolder(), 'none', 'body')])
    expect(code).toBe(11)
    expect(stderr).toMatch(/\ndodici: --output can't write '.*\/none\/body': ENOENT/)
  })

  it('Ctrl-C before the response: 130, and the server may have acted on the request', async () => {
    const ctrlC = new AbortController()
    const { origin } = await serve(() => ctrlC.abort())
    const { code, stderr } = await runHere([origin], { ctrlC: ctrlC.signal })
    expect(code).toBe(130)
    expect(stderr).toContain('\nRequest\n  :method: GET\n')
    expect(stderr).toMatch(
      /\ndodici: interrupted\nThe server may have acted on the request \(processed: maybe\)\.\n$/,
    )
  })

  it('Ctrl-C ends it at once with what there is: 130', async () => {
    const { origin } = await serve((stream) => {
      stream.head(200)
      void stream.data('begin')
    })
    const ctrlC = new AbortController()
    const { code, stderr, stdout } = await runHere([origin], {
      ctrlC: ctrlC.signal,
      onStdout: (text) => {
        if (text === 'begin') ctrlC.abort()
      },
    })
    expect([code, stdout]).toEqual([130, 'begin'])
    expect(stderr).toContain('\nTimes\n')
    expect(stderr).toMatch(/\ndodici: interrupted\nThe server responded \(processed: yes\)\.\n$/)
  })
})
