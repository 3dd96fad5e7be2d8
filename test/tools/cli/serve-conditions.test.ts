/** Which representation of a file `dodici serve` sends, which part of it, and when it sends none: RFC 9110 §12 to §14. */

import { mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Client } from '../../../src/index.ts'
import type { Serve } from '../../support/clients/cli.ts'
import { makeFolder, removeFolder, startServe } from '../../support/clients/cli.ts'

const TEXT = 'let text = "that is as long as a script";\n'.repeat(100)
const OLD = new Date('2026-01-02T03:04:05Z')
const NEW = new Date('2026-01-02T03:04:07Z')

let folder = ''
let site = ''
let serve: Serve
let client: Client

async function write(name: string, content: string | Buffer, modified: Date): Promise<void> {
  await writeFile(join(site, name), content)
  await utimes(join(site, name), modified, modified)
}

beforeAll(async () => {
  folder = await makeFolder()
  site = join(folder, 'site')
  await mkdir(join(site, 'sub'), { recursive: true })
  await mkdir(join(site, 'folder.js.br'))
  await write('both.js', TEXT, OLD)
  await write('both.js.br', brotliCompressSync(TEXT), OLD)
  await write('both.js.gz', gzipSync(TEXT), NEW)
  await write('gzip.css', TEXT, OLD)
  await write('gzip.css.gz', gzipSync(TEXT), OLD)
  await write('stale.js', TEXT, NEW)
  await write('stale.js.br', brotliCompressSync('the file as it was'), OLD)
  await write('folder.js', TEXT, OLD)
  await write('alone.txt', 'abcdef', OLD)
  await write('sub/index.html', TEXT, OLD)
  await write('sub/index.html.gz', gzipSync(TEXT), OLD)
  serve = await startServe(join(folder, 'cache'), '--no-tls', site)
  client = new Client(serve.plain, { h2c: true })
})

afterAll(async () => {
  await client?.close()
  await serve?.running.kill()
  await removeFolder(folder)
})

async function get(path: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') {
  const { statusCode: status, headers: fields, body } = await client.request({ path, method, headers })
  return { status, fields, bytes: Buffer.from(await body.arrayBuffer()) }
}

function decode(coding: unknown, bytes: Buffer): string {
  if (coding === 'br') return brotliDecompressSync(bytes).toString()
  return (coding === 'gzip' ? gunzipSync(bytes) : bytes).toString()
}

describe('accept-encoding', () => {
  it.each([
    // What clients send: browsers, curl --compressed, Node's fetch, curl.
    ['/both.js', 'gzip, deflate, br, zstd', 'br'],
    ['/both.js', 'deflate, gzip', 'gzip'],
    ['/both.js', 'br, gzip, deflate', 'br'],
    ['/both.js', null, null],
    ['/both.js', '', null],
    // Names.
    ['/both.js', 'BR', 'br'],
    ['/both.js', 'x-gzip', 'gzip'],
    ['/both.js', 'zstd, deflate', null],
    ['/both.js', 'brotli', null],
    // Weights.
    ['/both.js', 'br;q=0.5, gzip;q=0.8', 'gzip'],
    ['/both.js', 'br;q=0.5,gzip;q=0.5', 'br'],
    ['/both.js', 'gzip;q=0.001', 'gzip'],
    ['/both.js', 'br;q=0, gzip', 'gzip'],
    ['/both.js', 'br;q=0.000, gzip;q=0', null],
    ['/both.js', 'br ; q=0.2 , gzip ; Q=0.3', 'gzip'],
    ['/both.js', 'identity, br;q=0.5', null],
    ['/both.js', 'identity;q=0.5, gzip;q=0.4', null],
    ['/both.js', 'identity;q=0.5, gzip;q=0.5', 'gzip'],
    ['/both.js', 'identity;q=0, gzip', 'gzip'],
    ['/both.js', '*', 'br'],
    ['/both.js', '*, br;q=0', 'gzip'],
    ['/both.js', 'gzip, *;q=0', 'gzip'],
    ['/both.js', 'gzip;q=0.5, *;q=0.1', 'gzip'],
    // What is malformed counts for nothing.
    ['/both.js', 'br;q=2, gzip', 'gzip'],
    ['/both.js', 'br;q=, ;, gzip', 'gzip'],
    ['/both.js', 'br gzip', null],
    // Files without such a copy.
    ['/gzip.css', 'br, gzip;q=0.1', 'gzip'],
    ['/gzip.css', 'br', null],
    ['/alone.txt', 'br, gzip', null],
    ['/stale.js', 'br, gzip', null],
    ['/folder.js', 'br, gzip', null],
    ['/sub/', 'br, gzip', 'gzip'],
    ['/sub/index.html', 'br, gzip', 'gzip'],
  ] as const)('%s with %j: %s', async (path, accepted, coding) => {
    const response = await get(path, accepted === null ? {} : { 'accept-encoding': accepted })
    const { status, fields, bytes } = response
    expect({ status, coding: fields['content-encoding'] ?? null }).toEqual({ status: 200, coding })
    expect(decode(coding, bytes)).toBe(path === '/alone.txt' ? 'abcdef' : TEXT)
    expect(fields['content-length']).toBe(`${bytes.length}`)
    // A cache has to know that there are others, also when it got the file itself.
    const hasCopies = !['/alone.txt', '/stale.js', '/folder.js'].includes(path)
    expect(fields.vary).toBe(hasCopies ? 'accept-encoding' : undefined)
  })

  it.each([
    ['/both.js', 'text/javascript; charset=utf-8'],
    ['/gzip.css', 'text/css; charset=utf-8'],
    ['/both.js.gz', 'application/gzip'],
    ['/both.js.br', 'application/octet-stream'],
  ])('%s has the type %s, whatever its coding', async (path, type) => {
    const { fields } = await get(path, { 'accept-encoding': 'br, gzip' })
    expect(fields['content-type']).toBe(type)
    // A copy that is asked for by its name is the file.
    expect(fields['content-encoding'] === undefined).toBe(/(br|gz)$/.test(path))
  })

  it.each([
    ['/alone.txt', 'br, gzip, identity;q=0', 406],
    ['/alone.txt', '*;q=0', 406],
    ['/both.js', '*;q=0', 406],
    ['/gzip.css', 'br, *;q=0', 406],
    ['/gzip.css', 'br, *;q=0, identity', 200],
  ])('%s with %j, which excludes the file itself: %i', async (path, accepted, status) => {
    const response = await get(path, { 'accept-encoding': accepted })
    expect(response.status).toBe(status)
    expect(response.fields.vary).toBe(path === '/alone.txt' ? undefined : 'accept-encoding')
  })

  it('each representation has its own entity tag and date', async () => {
    const codings = ['identity', 'br', 'gzip']
    const found = await Promise.all(codings.map((coding) => get('/both.js', { 'accept-encoding': coding })))
    expect(new Set(found.map(({ fields }) => fields.etag)).size).toBe(3)
    expect(found.map(({ fields }) => fields['last-modified'])).toEqual(
      [OLD, OLD, NEW].map((date) => date.toUTCString()),
    )
  })

  it('a copy is known to a client that has it, and to no other', async () => {
    const { fields } = await get('/both.js', { 'accept-encoding': 'br' })
    const condition = { 'if-none-match': String(fields.etag) }
    const again = await get('/both.js', { ...condition, 'accept-encoding': 'br' })
    expect(again).toMatchObject({ status: 304, fields: { etag: fields.etag, vary: 'accept-encoding' } })
    expect(again.fields['content-encoding']).toBeUndefined()
    for (const coding of ['gzip', 'identity'])
      expect((await get('/both.js', { ...condition, 'accept-encoding': coding })).status).toBe(200)
  })

  it('a range is one of the copy that is sent', async () => {
    const whole = await get('/both.js', { 'accept-encoding': 'gzip' })
    const length = whole.bytes.length
    const first = await get('/both.js', { 'accept-encoding': 'gzip', range: 'bytes=0-9' })
    const tag = { 'if-range': String(first.fields.etag) }
    const rest = await get('/both.js', { 'accept-encoding': 'gzip', range: 'bytes=10-', ...tag })
    expect([first.status, first.fields['content-range']]).toEqual([206, `bytes 0-9/${length}`])
    expect(rest).toMatchObject({ status: 206, fields: { 'content-encoding': 'gzip' } })
    expect(decode('gzip', Buffer.concat([first.bytes, rest.bytes]))).toBe(TEXT)
    // The rest of another representation would be garbage.
    const other = await get('/both.js', { 'accept-encoding': 'br', range: 'bytes=10-', ...tag })
    expect([other.status, decode('br', other.bytes)]).toEqual([200, TEXT])
  })

  it('HEAD has the fields of GET, and no body', async () => {
    for (const coding of ['identity', 'br', 'gzip']) {
      const { fields } = await get('/both.js', { 'accept-encoding': coding })
      const head = await get('/both.js', { 'accept-encoding': coding, range: 'bytes=0-1' }, 'HEAD')
      expect({ ...head.fields, date: null }).toEqual({ ...fields, date: null })
      expect([head.status, head.bytes.length]).toEqual([200, 0])
    }
  })

  it('a copy that was removed is missed by no client', async () => {
    await write('going.js', TEXT, OLD)
    await write('going.js.br', brotliCompressSync(TEXT), OLD)
    expect((await get('/going.js', { 'accept-encoding': 'br' })).fields['content-encoding']).toBe('br')
    await rm(join(site, 'going.js.br'))
    const { fields, bytes } = await get('/going.js', { 'accept-encoding': 'br' })
    expect([fields['content-encoding'], fields.vary, bytes.toString()]).toEqual([undefined, undefined, TEXT])
  })
})

describe('range', () => {
  it.each([
    ['bytes=0-0', 206, 'a', 'bytes 0-0/6'],
    ['bytes=2-', 206, 'cdef', 'bytes 2-5/6'],
    ['bytes=-2', 206, 'ef', 'bytes 4-5/6'],
    ['bytes=-99', 206, 'abcdef', 'bytes 0-5/6'],
    ['bytes=4-99', 206, 'ef', 'bytes 4-5/6'],
    ['Bytes=1-2', 206, 'bc', 'bytes 1-2/6'],
    // Several that are one together.
    ['bytes=0-1,2-3', 206, 'abcd', 'bytes 0-3/6'],
    ['bytes=3-4, 0-3', 206, 'abcde', 'bytes 0-4/6'],
    ['bytes=1-1,1-1', 206, 'b', 'bytes 1-1/6'],
    ['bytes=-1,3-4', 206, 'def', 'bytes 3-5/6'],
    ['bytes=4-5,9-', 206, 'ef', 'bytes 4-5/6'],
    // Others get all bytes.
    ['bytes=0-1,3-4', 200, 'abcdef', undefined],
    ['bytes=0-0,-1', 200, 'abcdef', undefined],
    ['bytes=2-1', 200, 'abcdef', undefined],
    ['bytes=0-1,x', 200, 'abcdef', undefined],
    ['bytes=', 200, 'abcdef', undefined],
    ['bytes=-', 200, 'abcdef', undefined],
    ['bytes 0-1', 200, 'abcdef', undefined],
    ['lines=0-1', 200, 'abcdef', undefined],
    ['bytes=0-1;x', 200, 'abcdef', undefined],
    ['bytes=99999999999999999999-', 416, null, 'bytes */6'],
    // There are no such bytes.
    ['bytes=6-', 416, null, 'bytes */6'],
    ['bytes=-0', 416, null, 'bytes */6'],
    ['bytes=6-7,8-9', 416, null, 'bytes */6'],
  ])('%s: %i', async (range, status, text, of) => {
    const response = await get('/alone.txt', { range })
    expect([response.status, response.fields['content-range']]).toEqual([status, of])
    if (text !== null) expect(response.bytes.toString()).toBe(text)
  })
})

/** Of the file: its tag, a weak one, another one, a date before, its own, and one after it. */
describe('conditions', () => {
  const before = 'Fri, 02 Jan 2026 03:04:04 GMT'
  const same = 'Fri, 02 Jan 2026 03:04:05 GMT'
  const after = 'Fri, 02 Jan 2026 03:04:06 GMT'

  it.each([
    [{ 'if-none-match': 'TAG' }, 304],
    [{ 'if-none-match': 'W/TAG' }, 304],
    [{ 'if-none-match': '"a", TAG ,"b"' }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': '"a"' }, 200],
    [{ 'if-modified-since': before }, 200],
    [{ 'if-modified-since': same }, 304],
    [{ 'if-modified-since': after }, 304],
    [{ 'if-modified-since': 'no date' }, 200],
    // A tag counts more than a date.
    [{ 'if-none-match': '"a"', 'if-modified-since': after }, 200],
    [{ 'if-none-match': 'TAG', 'if-modified-since': before }, 304],
    [{ 'if-match': 'TAG' }, 200],
    [{ 'if-match': '"a", TAG' }, 200],
    [{ 'if-match': '*' }, 200],
    [{ 'if-match': '"a"' }, 412],
    [{ 'if-match': 'W/TAG' }, 412],
    [{ 'if-unmodified-since': before }, 412],
    [{ 'if-unmodified-since': same }, 200],
    [{ 'if-unmodified-since': 'no date' }, 200],
    [{ 'if-match': 'TAG', 'if-unmodified-since': before }, 200],
    [{ 'if-match': '"a"', 'if-none-match': 'TAG' }, 412],
    [{ 'if-match': 'TAG', 'if-none-match': 'TAG' }, 304],
    // A condition comes before the range.
    [{ 'if-none-match': 'TAG', range: 'bytes=0-1' }, 304],
    [{ 'if-match': '"a"', range: 'bytes=9-' }, 412],
    [{ 'if-range': 'TAG', range: 'bytes=0-1' }, 206],
    [{ 'if-range': 'W/TAG', range: 'bytes=0-1' }, 200],
    [{ 'if-range': '"a"', range: 'bytes=0-1' }, 200],
    [{ 'if-range': same, range: 'bytes=0-1' }, 206],
    [{ 'if-range': after, range: 'bytes=0-1' }, 200],
    [{ 'if-range': '"a"', range: 'bytes=9-' }, 200],
    [{ 'if-range': 'TAG', range: 'bytes=9-' }, 416],
  ] as [Record<string, string>, number][])('%j: %i', async (fields, status) => {
    const { etag } = (await get('/alone.txt')).fields
    const given = Object.entries(fields).map(([name, value]) => [name, value.replace('TAG', String(etag))])
    for (const method of ['GET', 'HEAD'] as const) {
      // RFC 9110 §14.2: a range is one of GET.
      const expected = method === 'HEAD' && [206, 416].includes(status) ? 200 : status
      expect((await get('/alone.txt', Object.fromEntries(given), method)).status).toBe(expected)
    }
  })
})
