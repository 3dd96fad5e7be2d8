/** Content codings, integrity and the length of a response. */

import { createHash } from 'node:crypto'
import zlib from 'node:zlib'
import { expect } from 'vitest'
import type { Case, Fields, Scene } from './standard-scene.ts'
import { inSection, toTypeError } from './standard-scene.ts'

const inCoding = inSection('4.6 HTTP-network fetch: handle content codings')
const inBad = inSection('4.6 HTTP-network fetch: a coding that fails')
const inIntegrity = inSection('4.1 Main fetch: integrity metadata')
const inLength = inSection('4.6 HTTP-network fetch: the length of the body')

/** Ends the title of a case in which Node's own may hang, or not: it is a matter of what comes first. */
export const COMPLETE = ', when all of it has come'

const TEXT = 'dodici '.repeat(1_000)
const GZIP = zlib.gzipSync(TEXT)

type Coder = (bytes: string | Uint8Array) => Buffer

/** [the codings in the order of the field, what makes them] */
const CODINGS: readonly (readonly [string, Coder])[] = [
  ['gzip', zlib.gzipSync],
  ['x-gzip', zlib.gzipSync],
  ['GZip', zlib.gzipSync],
  ['deflate', zlib.deflateSync],
  ['DEFLATE', zlib.deflateSync],
  ['br', zlib.brotliCompressSync],
  ['gzip, br', (bytes) => zlib.brotliCompressSync(zlib.gzipSync(bytes))],
  ['br,deflate , gzip', (bytes) => zlib.gzipSync(zlib.deflateSync(zlib.brotliCompressSync(bytes)))],
]
/** Node 20 has none. */
const zstd: unknown = Reflect.get(zlib, 'zstdCompressSync')
const ZSTD: typeof CODINGS =
  typeof zstd === 'function' ? [['zstd', (bytes) => Buffer.from(Reflect.apply(zstd, zlib, [bytes]))]] : []

function askCoded(
  scene: Scene,
  coding: string,
  body: string | Uint8Array,
  init?: unknown,
): Promise<Response> {
  return scene.ask({ headers: [['content-encoding', coding]], body }, init)
}

const DECODED: readonly Case[] = [
  ...[...CODINGS, ...ZSTD].map(([coding, encode]) =>
    inCoding(`'${coding}' is decoded`, async (scene) => {
      const response = await askCoded(scene, coding, encode(TEXT))
      expect(await response.text()).toBe(TEXT)
      // It is told all the same.
      expect(response.headers.get('content-encoding')).toBe(coding)
    }),
  ),
  inCoding('one that comes in many pieces is decoded', async (scene) => {
    const response = await scene.ask({
      headers: [['content-encoding', 'gzip']],
      body: GZIP,
      pieces: GZIP.length,
    })
    expect(await response.text()).toBe(TEXT)
  }),
  inCoding('one of several fields is decoded', async (scene) => {
    const headers: Fields = [
      ['content-encoding', 'gzip'],
      ['content-encoding', 'br'],
    ]
    // node:http2 sends one `content-encoding` and no more.
    if (scene.isHttp2) return
    expect(await (await scene.ask({ headers, body: zlib.brotliCompressSync(GZIP) })).text()).toBe(TEXT)
  }),
  ...['nonsense', 'identity', 'gzip, nonsense', ''].map((coding) =>
    inCoding(`'${coding}' is left as it is`, async (scene) => {
      expect(await (await askCoded(scene, coding, 'text')).text()).toBe('text')
    }),
  ),
  inCoding('content-length stays that of the coded body', async (scene) => {
    const headers: Fields = [
      ['content-encoding', 'gzip'],
      ['content-length', `${GZIP.length}`],
    ]
    const response = await scene.ask({ headers, body: GZIP })
    expect(response.headers.get('content-length')).toBe(`${GZIP.length}`)
    expect(await response.text()).toBe(TEXT)
  }),
  inCoding('the stream is decoded as it comes', async (scene) => {
    const flushed = await toFlushed('begun')
    const response = await scene.ask({ headers: [['content-encoding', 'gzip']], body: flushed, end: 'open' })
    const reader = response.body?.getReader() ?? expect.fail()
    expect(Buffer.from((await reader.read()).value ?? '').toString()).toBe('begun')
    await reader.cancel()
  }),
  inCoding('a clone is decoded', async (scene) => {
    const response = await askCoded(scene, 'gzip', GZIP)
    const clone = response.clone()
    expect([(await clone.text()) === TEXT, (await response.text()) === TEXT]).toEqual([true, true])
  }),
  ...[
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ].map(([method, status]) =>
    inCoding(`the ${status} to a ${method} has nothing to decode`, async (scene) => {
      const init = { method }
      const response = await scene.ask(
        { status: Number(status), headers: [['content-encoding', 'gzip']] },
        init,
      )
      expect([response.status, response.body, await response.text()]).toEqual([status, null, ''])
      expect(response.headers.get('content-encoding')).toBe('gzip')
    }),
  ),
  ...['gzip', 'deflate', 'br'].map((coding) =>
    inCoding(`an empty body of ${coding} is empty`, async (scene) => {
      expect(await (await askCoded(scene, coding, '')).text()).toBe('')
    }),
  ),
  inCoding('an empty text in gzip is empty', async (scene) => {
    expect(await (await askCoded(scene, 'gzip', zlib.gzipSync(''))).text()).toBe('')
  }),
  // HTTP says deflate is zlib's format; servers have sent it without for ever, and everybody takes that.
  inCoding('deflate without the format of zlib is decoded', async (scene) => {
    expect(await (await askCoded(scene, 'deflate', zlib.deflateRawSync(TEXT))).text()).toBe(TEXT)
  }),
  inCoding('two members of gzip are one text', async (scene) => {
    const body = Buffer.concat([zlib.gzipSync('one '), zlib.gzipSync('two')])
    expect(await (await askCoded(scene, 'gzip', body)).text()).toBe('one two')
  }),
  inCoding('an error page is decoded', async (scene) => {
    const response = await scene.ask({ status: 404, headers: [['content-encoding', 'gzip']], body: GZIP })
    expect([response.status, await response.text()]).toEqual([404, TEXT])
  }),
]

/** So much of a gzip that a decoder knows this text, without its end. */
function toFlushed(text: string): Promise<Buffer> {
  return new Promise((resolve) => {
    const gzip = zlib.createGzip()
    gzip.write(text)
    const pieces: Buffer[] = []
    gzip.on('data', (piece: Buffer) => pieces.push(piece))
    // What was written before comes first.
    gzip.flush(zlib.constants.Z_SYNC_FLUSH, () => setImmediate(() => resolve(Buffer.concat(pieces))))
  })
}

/**
 * The fetch of undici 6 may hang on such a response once all of it is there; so they are tried without an end as well.
 */
const ENDS = ['end', 'open'] as const

const BAD: readonly Case[] = [
  ...ENDS.flatMap((end) => [
    ...['gzip', 'deflate', 'br'].map((coding) =>
      inBad(`data that is no ${coding} is a TypeError of the body${toSuffix(end)}`, async (scene) => {
        const headers: Fields = [['content-encoding', coding]]
        const response = await scene.ask({ headers, body: 'this is no such data', end })
        expect(response.status).toBe(200)
        await toTypeError(response.text())
      }),
    ),
    inBad(`data that is no gzip is a TypeError of read()${toSuffix(end)}`, async (scene) => {
      const response = await scene.ask({ headers: [['content-encoding', 'gzip']], body: 'nonsense', end })
      const reader = response.body?.getReader() ?? expect.fail()
      await toTypeError(reader.read())
    }),
    inBad(`a gzip with a wrong checksum is a TypeError${toSuffix(end)}`, async (scene) => {
      const body = Buffer.from(GZIP)
      body.writeUInt32LE(1, body.length - 8)
      const response = await scene.ask({ headers: [['content-encoding', 'gzip']], body, end })
      await toTypeError(response.text())
    }),
  ]),
  // Browsers give what there is of a truncated one, and so does Node: many servers never end theirs.
  ...(['gzip', 'deflate'] as const).map((coding) =>
    inBad(`a truncated ${coding} gives what there is`, async (scene) => {
      const whole = coding === 'gzip' ? GZIP : zlib.deflateSync(TEXT)
      const text = await (await askCoded(scene, coding, whole.subarray(0, -5))).text()
      expect(TEXT.startsWith(text)).toBe(true)
    }),
  ),
]

function toSuffix(end: (typeof ENDS)[number]): string {
  return end === 'end' ? COMPLETE : ''
}

function toHash(algorithm: string, body = 'text'): string {
  return `${algorithm}-${createHash(algorithm).update(body).digest('base64')}`
}

const WRONG = toHash('sha256', 'other')
const ALGORITHMS = ['sha256', 'sha384', 'sha512']

/** [what, the integrity] of what 'text' has. */
const INTEGRITIES: readonly (readonly [string, string])[] = [
  ...ALGORITHMS.map((algorithm) => [algorithm, toHash(algorithm)] as const),
  ['an algorithm in upper case', toHash('sha256').replace('sha256', 'SHA256')],
  ['one of two hashes', `${WRONG} ${toHash('sha256')}`],
  ['the stronger of two algorithms', `${WRONG} ${toHash('sha512')}`],
  ['the strongest of three', `${WRONG} ${toHash('sha384', 'other')} ${toHash('sha512')}`],
  ['one with an option', `${toHash('sha256')}?option`],
  [
    'one in base64url',
    toHash('sha256').replaceAll('+', '-').replaceAll('/', '_').replace('sha256_', 'sha256-'),
  ],
  ['nothing', ''],
  ['an unknown algorithm alone', `md5-${createHash('md5').update('other').digest('base64')}`],
  ['what is no metadata', 'nonsense'],
  ['an unknown one next to a right one', `foo-bar ${toHash('sha384')}`],
  ['white space around', `  \t${toHash('sha256')}\n `],
]

const BROKEN: readonly (readonly [string, string])[] = [
  ...ALGORITHMS.map((algorithm) => [`a wrong ${algorithm}`, toHash(algorithm, 'other')] as const),
  ['a right one next to a stronger that is wrong', `${toHash('sha256')} ${toHash('sha512', 'other')}`],
  ['two wrong ones', `${WRONG} ${toHash('sha256', 'another')}`],
  ['an unknown one next to a wrong one', `foo-bar ${WRONG}`],
]

const INTEGRITY: readonly Case[] = [
  ...INTEGRITIES.map(([what, integrity]) =>
    inIntegrity(`${what} lets the response be`, async (scene) => {
      expect(await (await scene.ask({ body: 'text', pieces: 2 }, { integrity })).text()).toBe('text')
    }),
  ),
  ...BROKEN.map(([what, integrity]) =>
    inIntegrity(`${what} fails the fetch`, (scene) =>
      scene.refuse(scene.url({ body: 'text' }), { integrity }),
    ),
  ),
  inIntegrity('that of an empty body is tried', async (scene) => {
    const integrity = toHash('sha256', '')
    expect(await (await scene.ask({}, { integrity })).text()).toBe('')
    await scene.refuse(scene.url({ body: 'text' }), { integrity })
  }),
  inIntegrity('that of a decoded body is tried', async (scene) => {
    const integrity = toHash('sha256', TEXT)
    expect(await (await askCoded(scene, 'gzip', GZIP, { integrity })).text()).toBe(TEXT)
  }),
  inIntegrity('that of the response after a redirection is tried', async (scene) => {
    const init = { integrity: toHash('sha256') }
    expect(await (await scene.redirect(302, scene.url({ body: 'text' }), init)).text()).toBe('text')
    const location: Fields = [['location', scene.url({ body: 'other' })]]
    await scene.refuse(scene.url({ status: 302, headers: location }), init)
  }),
  inIntegrity('the response keeps its headers, status and url', async (scene) => {
    const url = scene.url({ status: 404, headers: [['x-a', '1']], body: 'text' })
    const response = await scene.fetch(url, { integrity: toHash('sha256') })
    expect([response.status, response.headers.get('x-a'), response.url]).toEqual([404, '1', url])
  }),
  inIntegrity('a connection that breaks fails the fetch', (scene) =>
    scene.refuse(scene.url({ body: 'text', end: 'reset' }), { integrity: toHash('sha256') }),
  ),
]

const LENGTHS: readonly Case[] = [
  inLength('more than was said is not part of the body, or an error', async (scene) => {
    if (scene.isHttp2) return
    const bytes = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\ntextmore')
    const response = await scene.fetch(`${scene.raw}/?${bytes.toString('base64url')}`)
    await response.text().then(
      (text) => expect(text).toBe('text'),
      (reason: unknown) => expect(reason).toBeInstanceOf(TypeError),
    )
  }),
  inLength('less than was said is a TypeError', async (scene) => {
    const response = await scene.ask({ headers: [['content-length', '10']], body: 'text', end: 'reset' })
    await toTypeError(response.text())
  }),
  inLength('a body without a length is whole', async (scene) => {
    expect(await (await scene.ask({ body: 'dodici', pieces: 6 })).text()).toBe('dodici')
  }),
  ...['4, 4', '4, 5', '-4', 'four', '4.0'].map((length) =>
    inLength(
      `content-length '${length}' of an HTTP/1.1 server is refused${length === '4, 4' ? ', or 4' : ''}`,
      async (scene) => {
        if (scene.isHttp2) return
        const head = `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\ntext`
        const promise = scene.fetch(`${scene.raw}/?${Buffer.from(head).toString('base64url')}`)
        if (length === '4, 4')
          await promise.then((response) => response.text()).catch(() => toTypeError(promise))
        else await toTypeError(promise)
      },
    ),
  ),
]

export const CODED: readonly Case[] = [...DECODED, ...BAD, ...INTEGRITY, ...LENGTHS]
