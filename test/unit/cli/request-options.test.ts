import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CliError } from '../../../src/cli/cli-error.ts'
import { isUrlLike, toDuration } from '../../../src/cli/options.ts'
import {
  hasField,
  readData,
  readTrust,
  toFields,
  toMethod,
  toTarget,
} from '../../../src/cli/request-options.ts'
import { toCertificate } from '../../support/servers/server.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dodici-request-options-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** The message of the CliError, with its exit code. */
async function failure(run: () => unknown): Promise<string> {
  try {
    await run()
  } catch (error) {
    if (error instanceof CliError) return `${error.exitCode} ${error.message}`
    throw error
  }
  return 'none'
}

async function* input(...pieces: string[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece)
}

describe('isUrlLike()', () => {
  it.each([
    ['https://a', true],
    ['ftp://a', true],
    ['a.b', true],
    ['a:1', true],
    ['a/b', true],
    ['[::1]:8443', true],
    ['LOCALHOST', true],
    ['serve', false],
    ['localhostx', false],
    ['--header=a:b', false],
    ['', false],
  ])('%s: %s', (word, is) => expect(isUrlLike(word)).toBe(is))
})

describe('toTarget()', () => {
  it.each([
    { text: 'https://a.example', h2c: false, href: 'https://a.example/', assumed: false },
    { text: 'HTTP://a.example:80/b?c#d', h2c: false, href: 'http://a.example/b?c', assumed: false },
    { text: 'http://a.example', h2c: true, href: 'http://a.example/', assumed: false },
    { text: 'localhost:12443/x', h2c: false, href: 'https://localhost:12443/x', assumed: true },
    { text: 'localhost:12080/x', h2c: true, href: 'http://localhost:12080/x', assumed: true },
    { text: '[::1]:1/', h2c: false, href: 'https://[::1]:1/', assumed: true },
    { text: 'a/?b=c://d', h2c: false, href: 'https://a/?b=c://d', assumed: true },
  ])('$text: $href', ({ text, h2c, href, assumed }) => {
    const { url, authorization, isSchemeAssumed } = toTarget(text, h2c)
    expect([url.href, authorization, isSchemeAssumed]).toEqual([href, null, assumed])
  })

  it('takes the credentials out of the URL', () => {
    const { url, authorization } = toTarget('https://me:p%40ss%@a.example/', false)
    expect(url.href).toBe('https://a.example/')
    // The `%` at the end begins no octet: the password stands as it was written.
    expect(authorization).toBe(`Basic ${Buffer.from('me:p%40ss%').toString('base64')}`)
    expect(toTarget('https://me:p%40ss@a.example/', false).authorization).toBe(
      `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
    )
  })

  it.each(['ftp://a', 'https://', 'http://a:65536', '/a', '://a', 'a b/'])('%s is refused', async (text) => {
    expect(await failure(() => toTarget(text, false))).toBe(
      `2 URL takes https://HOST/PATH, http:// or HOST[:PORT]/PATH, not '${text}'`,
    )
  })

  it.each([
    { text: 'ftp://me:p@ss@a.example/', shown: 'ftp://(hidden)@a.example/' },
    { text: 'me:pass@a.example:99999', shown: '(hidden)@a.example:99999' },
  ])('a message shows no credentials: $shown', async ({ text, shown }) => {
    expect(await failure(() => toTarget(text, false))).toContain(`not '${shown}'`)
  })

  it('https: with --h2c is refused', async () => {
    expect(await failure(() => toTarget('https://a', true))).toBe(
      "2 --h2c is HTTP/2 without TLS: it takes an http: URL, not 'https://a'",
    )
  })
})

describe('toMethod()', () => {
  it('is GET, or POST with a body, or what was given', () => {
    expect([toMethod(undefined, false), toMethod(undefined, true), toMethod('query', true)]).toEqual([
      'GET',
      'POST',
      'query',
    ])
  })

  it.each(['', 'G T', 'CONNECT'])("refuses '%s'", async (method) => {
    expect(await failure(() => toMethod(method, false))).toMatch(/^2 --request takes a method such as GET/)
  })
})

describe('toFields()', () => {
  it('keeps order, repetitions and spelling, and trims', () => {
    const fields = toFields(['X-B:  1 ', 'a: b: c', 'x-b:2', 'empty:'])
    expect(fields).toEqual([
      ['X-B', '1'],
      ['a', 'b: c'],
      ['x-b', '2'],
      ['empty', ''],
    ])
    expect([hasField(fields, 'x-b'), hasField(fields, 'c')]).toEqual([true, false])
  })

  it.each([
    { line: 'secret', message: "2 --header takes 'NAME: VALUE', and one has no colon" },
    { line: ':authority: secret', message: "2 --header takes 'NAME: VALUE', and '' isn't a field name" },
    { line: 'a b: secret', message: "2 --header takes 'NAME: VALUE', and 'a b' isn't a field name" },
    {
      line: 'a: se\ncret',
      message: "2 --header 'a' takes a value without control characters or characters outside ISO-8859-1",
    },
  ])('$line is refused', async ({ line, message }) => {
    expect(await failure(() => toFields([line]))).toBe(message)
  })
})

describe('readData()', () => {
  it('is the text, a file, or the standard input', async () => {
    const path = join(folder, 'body')
    await writeFile(path, 'from a\nfile\n')
    expect(String(await readData('text\n', () => input()))).toBe('text\n')
    expect(String(await readData(`@${path}`, () => input()))).toBe('from a\nfile\n')
    expect(String(await readData('@-', () => input('a', 'b')))).toBe('ab')
  })

  it('names a file that is missing', async () => {
    expect(await failure(() => readData(`@${folder}/none`, () => input()))).toMatch(
      /^2 --data can't read '.*\/none': ENOENT/,
    )
  })
})

describe('readTrust()', () => {
  it('is the options of connect', async () => {
    const path = join(folder, 'ca.pem')
    const { cert } = await toCertificate()
    await writeFile(path, cert)
    expect(await readTrust({ insecure: false, ca: undefined })).toEqual({})
    expect(await readTrust({ insecure: true, ca: undefined })).toEqual({ rejectUnauthorized: false })
    expect(await readTrust({ insecure: false, ca: path })).toEqual({ ca: cert })
  })

  it('refuses a file without a certificate', async () => {
    const path = join(folder, 'text')
    await writeFile(path, 'text')
    expect(await failure(() => readTrust({ insecure: false, ca: path }))).toMatch(
      /^2 --ca takes a file with PEM certificates, and '.*text' has none/,
    )
    expect(await failure(() => readTrust({ insecure: false, ca: folder }))).toMatch(/^2 --ca can't read/)
  })
})

describe('toDuration()', () => {
  it.each([
    ['10', 10_000],
    ['10s', 10_000],
    ['500ms', 500],
    ['1.5s', 1_500],
    ['2m', 120_000],
    ['1h', 3_600_000],
  ])('%s: %i ms', (text, duration) => expect(toDuration('--timeout', text)).toBe(duration))

  it.each(['', '0', '0.1ms', '-1', '1d', '10 s', '597h', '1e3'])("refuses '%s'", async (text) => {
    expect(await failure(() => toDuration('--timeout', text))).toBe(
      `2 --timeout takes a duration such as 10s, 500ms or 2m, not '${text}'`,
    )
  })
})
