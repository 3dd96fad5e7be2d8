/** Reading the body of a Response. */

import { expect } from 'vitest'
import type { Case, Scene } from './standard-scene.ts'
import { inSection, toReason, toTypeError } from './standard-scene.ts'

const inNull = inSection('4.1 Main fetch: a null body status or HEAD has no body')
const inText = inSection('5.3 Body mixin: text()')
const inJson = inSection('5.3 Body mixin: json()')
const inBlob = inSection('5.3 Body mixin: blob()')
const inBytes = inSection('5.3 Body mixin: arrayBuffer() and bytes()')
const inForm = inSection('5.3 Body mixin: formData()')
const inConsume = inSection('5.3 Body mixin: consume a body once')

const URLENCODED = 'application/x-www-form-urlencoded'

type Method = 'text' | 'json' | 'arrayBuffer' | 'bytes' | 'blob' | 'formData'

const METHODS: readonly Method[] = ['text', 'json', 'arrayBuffer', 'bytes', 'blob', 'formData']

/** One that each method can read. */
function toResponse(scene: Scene): Promise<Response> {
  return scene.ask({ headers: [['content-type', URLENCODED]], body: '1' })
}

function call(response: Response, method: Method): Promise<unknown> {
  return response[method]()
}

/** What has no body, however it is asked. */
const NULLS: readonly (readonly [string, number, string])[] = [
  ['204', 204, 'GET'],
  ['205', 205, 'GET'],
  ['304', 304, 'GET'],
  ['the response to a HEAD', 200, 'HEAD'],
  ['the response 404 to a HEAD', 404, 'HEAD'],
]

const NULL_BODIES: readonly Case[] = [
  ...NULLS.flatMap(([what, status, method]) => [
    inNull(`${what} has a null body`, async (scene) => {
      const response = await scene.ask({ status, headers: [['x-a', '1']] }, { method })
      expect([response.status, response.headers.get('x-a'), response.body]).toEqual([status, '1', null])
      expect([await response.text(), response.bodyUsed]).toEqual(['', false])
    }),
    inNull(`${what} can be read again and again`, async (scene) => {
      const response = await scene.ask({ status }, { method })
      expect((await response.arrayBuffer()).byteLength).toBe(0)
      expect((await response.bytes()).byteLength).toBe(0)
      expect((await response.blob()).size).toBe(0)
      expect(await toReason(response.json())).toBeInstanceOf(SyntaxError)
      expect([await response.text(), response.bodyUsed]).toEqual(['', false])
    }),
  ]),
  inNull('a HEAD has the content-length of the GET', async (scene) => {
    const response = await scene.ask({ headers: [['content-length', '5']] }, { method: 'HEAD' })
    expect([response.headers.get('content-length'), await response.text()]).toEqual(['5', ''])
  }),
  inNull('a null body is no form', async (scene) => {
    await toTypeError((await scene.ask({ status: 204 })).formData())
  }),
  inNull('a null body is an empty form of urlencoded type', async (scene) => {
    const response = await scene.ask({ headers: [['content-type', URLENCODED]] }, { method: 'HEAD' })
    expect([...(await response.formData())]).toEqual([])
  }),
  inNull('an empty body of a 200 is none that is null', async (scene) => {
    const response = await scene.ask({ headers: [['content-length', '0']] })
    expect(response.body).not.toBeNull()
    expect([await response.text(), response.bodyUsed]).toEqual(['', true])
  }),
]

const BOM = '\ufeff'

function toName(body: string): string {
  return JSON.stringify(body).replaceAll(BOM, '\\ufeff')
}

/** [what, the bytes, the text] */
const TEXTS: readonly (readonly [string, string | Uint8Array, string])[] = [
  ['UTF-8 is decoded', 'é🎾', 'é🎾'],
  ['a byte order mark is left out', `${BOM}a`, 'a'],
  ['one of two byte order marks is left out', `${BOM}${BOM}a`, `${BOM}a`],
  ['a byte order mark within is kept', `a${BOM}`, `a${BOM}`],
  ['a byte order mark alone is nothing', BOM, ''],
  ['a byte order mark of UTF-16 is not one', Uint8Array.of(0xff, 0xfe, 0x61, 0), '\ufffd\ufffda\0'],
  ['invalid UTF-8 is replaced', Uint8Array.of(0x61, 0xff, 0x62, 0xc3), 'a\ufffdb\ufffd'],
  ['an overlong form is replaced', Uint8Array.of(0xc0, 0xaf), '\ufffd\ufffd'],
  ['a surrogate is replaced', Uint8Array.of(0xed, 0xa0, 0x80), '\ufffd\ufffd\ufffd'],
  ['NUL is kept', 'a\0b', 'a\0b'],
]

const TEXT: readonly Case[] = [
  ...TEXTS.map(([what, body, expected]) =>
    inText(what, async (scene) => {
      expect(await (await scene.ask({ body })).text()).toBe(expected)
    }),
  ),
  inText('a character that is cut by a chunk is whole', async (scene) => {
    const response = await scene.ask({ body: '🎾é🎾', pieces: 10 })
    expect(await response.text()).toBe('🎾é🎾')
  }),
  ...['text/plain; charset=utf-16le', 'text/plain; charset=latin1', 'image/png'].map((type) =>
    inText(`${type} is UTF-8 as well`, async (scene) => {
      expect(await (await scene.ask({ headers: [['content-type', type]], body: 'é' })).text()).toBe('é')
    }),
  ),
]

const JSONS: readonly Case[] = [
  ...[{ a: [1, null, 'é'] }, [], 'text', 1.5, true, null].map((value) =>
    inJson(`${JSON.stringify(value)} is parsed`, async (scene) => {
      const response = await scene.ask({ body: JSON.stringify(value) })
      expect(await response.json()).toEqual(value)
      expect(response.bodyUsed).toBe(true)
    }),
  ),
  ...['', '{', 'undefined', "{'a':1}", '{} {}', `${BOM}${BOM}1`].map((body) =>
    inJson(`${toName(body)} is a SyntaxError`, async (scene) => {
      const response = await scene.ask({ body })
      expect(await toReason(response.json())).toBeInstanceOf(SyntaxError)
      expect(response.bodyUsed).toBe(true)
    }),
  ),
  inJson('a byte order mark is left out', async (scene) => {
    expect(await (await scene.ask({ body: `${BOM}{"a":1}` })).json()).toEqual({ a: 1 })
  }),
  inJson('an own __proto__ is one', async (scene) => {
    const value: unknown = await (await scene.ask({ body: '{"__proto__":1}' })).json()
    expect(Object.keys(Object(value))).toEqual(['__proto__'])
  }),
]

/** [the fields content-type, the type of the Blob] */
const TYPES: readonly (readonly [readonly string[], string])[] = [
  [['text/plain'], 'text/plain'],
  [['Text/HTML; Charset="utf-8"'], 'text/html;charset=utf-8'],
  [['text/html;charset=utf-8'], 'text/html;charset=utf-8'],
  [['a/b; c=d; c=e'], 'a/b;c=d'],
  [[], ''],
  [['nonsense'], ''],
  [[''], ''],
  [['text/plain', 'text/css'], 'text/css'],
  [['text/plain, text/css'], 'text/css'],
  [['text/plain', 'nonsense'], 'text/plain'],
  [['text/html;charset=gbk', 'text/html'], 'text/html;charset=gbk'],
  [['text/html;charset=gbk', 'text/html;x="'], 'text/html;x="";charset=gbk'],
  [['text/html;x=",text/plain'], 'text/html;x=",text/plain"'],
  [['text/html', '*/*'], 'text/html'],
]

const BLOBS: readonly Case[] = [
  ...TYPES.map(([types, expected]) =>
    inBlob(`its type is '${expected}' of ${JSON.stringify(types)}`, async (scene) => {
      const headers = types.map((type) => ['content-type', type] as const)
      const blob = await (await scene.ask({ headers, body: 'text' })).blob()
      expect([blob.type, blob.size, await blob.text()]).toEqual([expected, 4, 'text'])
    }),
  ),
  inBlob('it is a Blob', async (scene) => {
    expect(await (await scene.ask({ body: 'text' })).blob()).toBeInstanceOf(Blob)
  }),
]

const BYTES = Uint8Array.of(0, 0xff, 0xef, 0xbb, 0xbf, 10)

const BUFFERS: readonly Case[] = [
  inBytes('arrayBuffer() has the bytes, and nothing around them', async (scene) => {
    const buffer = await (await scene.ask({ body: BYTES, pieces: 3 })).arrayBuffer()
    expect(buffer).toBeInstanceOf(ArrayBuffer)
    expect([...new Uint8Array(buffer)]).toEqual([...BYTES])
  }),
  inBytes('bytes() is a Uint8Array of the bytes', async (scene) => {
    const bytes = await (await scene.ask({ body: BYTES })).bytes()
    expect([Object.prototype.toString.call(bytes), bytes.constructor]).toEqual([
      '[object Uint8Array]',
      Uint8Array,
    ])
    expect([...bytes]).toEqual([...BYTES])
    expect([bytes.byteOffset, bytes.buffer.byteLength]).toEqual([0, BYTES.length])
  }),
  inBytes('an ArrayBuffer can be transferred, and another response is whole', async (scene) => {
    const [one, other] = await Promise.all([scene.ask({ body: 'one' }), scene.ask({ body: 'other' })])
    await one.arrayBuffer()
    const buffer = await other.arrayBuffer()
    const moved = structuredClone(buffer, { transfer: [buffer] })
    expect([Buffer.from(moved).toString(), buffer.byteLength]).toEqual(['other', 0])
  }),
  inBytes('four megabytes are all there', async (scene) => {
    const bytes = await (await scene.ask({ body: 'dodici12', repeat: 1 << 19, pieces: 20 })).bytes()
    expect(Buffer.alloc(1 << 22, 'dodici12').equals(bytes)).toBe(true)
  }),
]

const MULTIPART = 'multipart/form-data; boundary=xyz'

function toPart(disposition: string, value: string, more = ''): string {
  return `--xyz\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n${value}\r\n`
}

function askForm(scene: Scene, type: string, body: string): Promise<FormData> {
  return scene.ask({ headers: [['content-type', type]], body }).then((response) => response.formData())
}

/** [what, the type, the body] of forms that are none. */
const NO_FORMS: readonly (readonly [string, string, string])[] = [
  ['another type', 'text/plain', 'a=1'],
  ['a multipart that is no form', 'multipart/mixed; boundary=xyz', `${toPart('name="a"', '1')}--xyz--`],
  ['no boundary in the type', 'multipart/form-data', `${toPart('name="a"', '1')}--xyz--`],
  ['another boundary', 'multipart/form-data; boundary=abc', `${toPart('name="a"', '1')}--xyz--`],
  ['no closing boundary', MULTIPART, toPart('name="a"', '1')],
  ['a part without a name', MULTIPART, `${toPart('filename="a"', '1')}--xyz--`],
  ['no part and no boundary', MULTIPART, 'nonsense'],
  ['nothing of multipart type', MULTIPART, ''],
]

const FORMS: readonly Case[] = [
  ...[
    [
      'a=1&b=2&a=3',
      [
        ['a', '1'],
        ['b', '2'],
        ['a', '3'],
      ],
    ],
    [
      'a+b=%C3%A9+%26&c',
      [
        ['a b', 'é &'],
        ['c', ''],
      ],
    ],
    [
      'a=%FF&&=b',
      [
        ['a', '\ufffd'],
        ['', 'b'],
      ],
    ],
    ['', []],
    [`${BOM}a=1`, [[`${BOM}a`, '1']]],
  ].map(([body, entries]) =>
    inForm(`${toName(`${body}`)} of urlencoded type is parsed`, async (scene) => {
      expect([...(await askForm(scene, `${URLENCODED};charset=UTF-8`, `${body}`))]).toEqual(entries)
    }),
  ),
  inForm('texts and files of multipart type are parsed', async (scene) => {
    const file = toPart('name="f"; filename="é.txt"', '2\n\r\n', 'Content-Type: text/css\r\n')
    const body = `${toPart('name="a"', '1')}${file}${toPart('name="a"', '🎾')}--xyz--\r\n`
    const form = await askForm(scene, MULTIPART, body)
    expect(form.getAll('a')).toEqual(['1', '🎾'])
    const entry = form.get('f')
    expect(entry).toBeInstanceOf(File)
    expect(entry).toMatchObject({ name: 'é.txt', type: 'text/css', size: 4 })
  }),
  inForm('a file of multipart type without a type is text/plain', async (scene) => {
    const form = await askForm(scene, MULTIPART, `${toPart('name="f"; filename="a"', '1')}--xyz--\r\n`)
    expect(form.get('f')).toMatchObject({ name: 'a', type: 'text/plain' })
  }),
  inForm('escapes in names of multipart type are undone', async (scene) => {
    const body = `${toPart('name="a%22%0D%0Ab"; filename="c%22%0A"', '1')}--xyz--\r\n`
    const form = await askForm(scene, MULTIPART, body)
    expect([...form.keys()]).toEqual(['a"\r\nb'])
    expect(form.get('a"\r\nb')).toMatchObject({ name: 'c"\n' })
  }),
  inForm('a quoted boundary is one', async (scene) => {
    const form = await askForm(
      scene,
      'multipart/form-data; boundary="xyz"',
      `${toPart('name="a"', '1')}--xyz--\r\n`,
    )
    expect([...form]).toEqual([['a', '1']])
  }),
  ...NO_FORMS.map(([what, type, body]) =>
    inForm(`${what} is a TypeError`, (scene) => toTypeError(askForm(scene, type, body))),
  ),
  inForm('no type is a TypeError', async (scene) => {
    await toTypeError((await scene.ask({ body: 'a=1' })).formData())
  }),
]

const ONCE: readonly Case[] = [
  ...METHODS.map((method) =>
    inConsume(`${method}() uses the body at once, and nothing reads it after`, async (scene) => {
      const response = await toResponse(scene)
      expect(response.bodyUsed).toBe(false)
      const promise = call(response, method)
      expect(response.bodyUsed).toBe(true)
      await promise
      expect(response.bodyUsed).toBe(true)
      for (const next of METHODS) await toTypeError(call(response, next))
    }),
  ),
  ...METHODS.map((method) =>
    inConsume(`${method}() of a locked body is refused`, async (scene) => {
      const response = await toResponse(scene)
      const reader = response.body?.getReader()
      await toTypeError(call(response, method))
      expect(response.bodyUsed).toBe(false)
      reader?.releaseLock()
      await call(response, method)
    }),
  ),
  ...METHODS.map((method) =>
    inConsume(`${method}() fails with a TypeError when the connection breaks`, async (scene) => {
      const headers = [['content-type', URLENCODED]] as const
      const response = await scene.ask({ headers, body: 'a=1', end: 'reset' })
      await toTypeError(call(response, method))
      expect(response.bodyUsed).toBe(true)
    }),
  ),
]

export const RESPONSE_BODIES: readonly Case[] = [
  ...NULL_BODIES,
  ...TEXT,
  ...JSONS,
  ...BLOBS,
  ...BUFFERS,
  ...FORMS,
  ...ONCE,
]
