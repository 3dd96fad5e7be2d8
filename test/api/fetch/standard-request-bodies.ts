/** Each kind of body that a request can have: extracting it, its type and its length. */

import { Blob, File } from 'node:buffer'
import { ReadableStream } from 'node:stream/web'
import { expect } from 'vitest'
import type { Case, Scene, Seen } from './standard-scene.ts'
import { bodyOf, fieldOf, inSection, toReason, toTypeError } from './standard-scene.ts'

const inExtract = inSection('5.2 BodyInit unions: extract a body')
const inCopy = inSection('5.2 BodyInit unions: what is extracted is a copy')
const inMultipart = inSection('5.2 BodyInit unions: multipart/form-data encoding')
const inStream = inSection('5.4 Request class: a stream needs duplex')
const inTransmit = inSection('4.6 HTTP-network fetch: transmit the body')

const BYTES = new Uint8Array([0, 1, 2, 0xc3, 0xa9, 0xff])
const TEXT = 'text/plain;charset=UTF-8'

export function toStream(...chunks: unknown[]): ReadableStream {
  return new ReadableStream({
    pull(controller) {
      if (chunks.length === 0) controller.close()
      else controller.enqueue(chunks.shift())
    },
  })
}

export function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

async function post(scene: Scene, body: unknown, init: object = {}): Promise<Seen> {
  return await scene.inspect({ method: 'POST', body, ...init })
}

function bytesOf(seen: Seen): number[] {
  return [...Buffer.from(seen.body, 'base64')]
}

/** [what, the body, its bytes, its content-type] */
const KINDS: readonly (readonly [string, () => unknown, Uint8Array | string, string | null])[] = [
  ['a string', () => 'é🎾', 'é🎾', TEXT],
  ['an empty string', () => '', '', TEXT],
  ['a string with a lone surrogate', () => 'a\ud83cb', 'a\ufffdb', TEXT],
  ['a number', () => 12, '12', TEXT],
  ['a boolean', () => false, 'false', TEXT],
  ['a plain object', () => ({}), '[object Object]', TEXT],
  ['an object with toString()', () => ({ toString: () => 'mine' }), 'mine', TEXT],
  ['an array', () => [1, 2], '1,2', TEXT],
  ['an ArrayBuffer', () => BYTES.slice().buffer, BYTES, null],
  ['an empty ArrayBuffer', () => new ArrayBuffer(0), '', null],
  ['a Uint8Array', () => BYTES.slice(), BYTES, null],
  ['a part of a Uint8Array', () => BYTES.subarray(1, 4), BYTES.slice(1, 4), null],
  ['a Buffer', () => Buffer.from('dodici'), 'dodici', null],
  ['a Uint16Array', () => new Uint16Array(BYTES.slice().buffer, 2, 1), BYTES.slice(2, 4), null],
  ['a Float64Array', () => new Float64Array([0]), new Uint8Array(8), null],
  ['a BigInt64Array', () => new BigInt64Array([1n]), Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0), null],
  ['a DataView', () => new DataView(BYTES.slice().buffer, 3), BYTES.slice(3), null],
  ['a Blob', () => new Blob([BYTES]), BYTES, null],
  ['a Blob with a type', () => new Blob(['a', 'b'], { type: 'image/PNG' }), 'ab', 'image/png'],
  ['a part of a Blob', () => new Blob([BYTES]).slice(1, 3, 'a/b'), BYTES.slice(1, 3), 'a/b'],
  ['an empty Blob', () => new Blob([], { type: 'a/b' }), '', 'a/b'],
  ['a File', () => new File(['file'], 'name.txt', { type: 'text/css' }), 'file', 'text/css'],
  [
    'URLSearchParams',
    () =>
      new URLSearchParams([
        ['a', 'é &'],
        ['b', '+'],
        ['a', ''],
      ]),
    'a=%C3%A9+%26&b=%2B&a=',
    'application/x-www-form-urlencoded;charset=UTF-8',
  ],
  [
    'empty URLSearchParams',
    () => new URLSearchParams(),
    '',
    'application/x-www-form-urlencoded;charset=UTF-8',
  ],
]

const EXTRACTED: readonly Case[] = [
  ...KINDS.map(([what, toBody, expected, type]) =>
    inExtract(`${what} is sent, with its type and length`, async (scene) => {
      const seen = await post(scene, toBody())
      expect(bytesOf(seen)).toEqual([...Buffer.from(expected)])
      expect(fieldOf(seen, 'content-type')).toBe(type)
      expect(fieldOf(seen, 'content-length')).toBe(`${Buffer.from(expected).length}`)
    }),
  ),
  ...['content-type', 'Content-Type'].map((name) =>
    inExtract(`${name} of the caller wins`, async (scene) => {
      expect(fieldOf(await post(scene, 'text', { headers: { [name]: 'a/b' } }), 'content-type')).toBe('a/b')
    }),
  ),
  inExtract('a symbol is no body', (scene) =>
    scene.refuse(scene.inspectUrl, { method: 'POST', body: Symbol('body') }),
  ),
  inExtract('a string of a megabyte is sent', async (scene) => {
    const body = 'é'.repeat(500_000)
    expect(bodyOf(await post(scene, body)) === body).toBe(true)
  }),
  inExtract('a Blob of a megabyte is sent', async (scene) => {
    const bytes = Buffer.alloc(1_000_000, 'dodici')
    const seen = await post(scene, new Blob([bytes]))
    expect(Buffer.from(seen.body, 'base64').equals(bytes)).toBe(true)
  }),
]

const COPIES: readonly Case[] = [
  inCopy('a Uint8Array that changes after the call is sent as it was', async (scene) => {
    const body = encode('before')
    const promise = post(scene, body)
    body.set(encode('after!'))
    expect(bodyOf(await promise)).toBe('before')
  }),
  inCopy('an ArrayBuffer that changes after the call is sent as it was', async (scene) => {
    const bytes = encode('before')
    const promise = post(scene, bytes.buffer)
    bytes.set(encode('after!'))
    expect(bodyOf(await promise)).toBe('before')
  }),
  inCopy('URLSearchParams that change after the call are sent as they were', async (scene) => {
    const body = new URLSearchParams('a=before')
    const promise = post(scene, body)
    body.set('a', 'after')
    expect(bodyOf(await promise)).toBe('a=before')
  }),
  inCopy('a FormData that changes after the call is sent as it was', async (scene) => {
    const body = new FormData()
    body.set('a', 'before')
    const promise = post(scene, body)
    body.set('a', 'after!')
    expect(bodyOf(await promise)).toContain('before')
  }),
]

/** What was sent, parsed by Node. */
async function toForm(seen: Seen): Promise<FormData> {
  const headers = { 'content-type': fieldOf(seen, 'content-type') ?? '' }
  return await new Response(Buffer.from(seen.body, 'base64'), { headers }).formData()
}

/** What the first part is called: the name of this field may be of any case. */
function toDisposition(seen: Seen): string {
  return (
    bodyOf(seen)
      .split('\r\n')[1]
      ?.replace(/^content-disposition:/i, 'Content-Disposition:') ?? ''
  )
}

const FORM: readonly Case[] = [
  inMultipart('texts and files are sent in order', async (scene) => {
    const body = new FormData()
    body.append('a', '1')
    body.append('file', new Blob(['content'], { type: 'text/plain' }), 'name.txt')
    body.append('a', 'é🎾')
    const form = await toForm(await post(scene, body))
    expect([...form.keys()]).toEqual(['a', 'file', 'a'])
    expect(form.getAll('a')).toEqual(['1', 'é🎾'])
    const file = form.get('file')
    expect(file).toMatchObject({ name: 'name.txt', type: 'text/plain', size: 7 })
  }),
  inMultipart(
    'the boundary is that of content-type, the length is said, and names are those that browsers write',
    async (scene) => {
      const body = new FormData()
      body.append('a', '1')
      const seen = await post(scene, body)
      const [, boundary] =
        /^multipart\/form-data; boundary=(\S+)$/.exec(fieldOf(seen, 'content-type') ?? '') ?? []
      const part = 'Content-Disposition: form-data; name="a"\r\n\r\n1'
      expect(bodyOf(seen).trimEnd()).toBe(`--${boundary}\r\n${part}\r\n--${boundary}--`)
      expect(fieldOf(seen, 'content-length')).toBe(`${bytesOf(seen).length}`)
    },
  ),
  inMultipart('an empty FormData is a closing boundary', async (scene) => {
    const seen = await post(scene, new FormData())
    const [, boundary] = /boundary=(\S+)$/.exec(fieldOf(seen, 'content-type') ?? '') ?? []
    expect(bodyOf(seen).trimEnd()).toBe(`--${boundary}--`)
  }),
  inMultipart('a file without a type is application/octet-stream', async (scene) => {
    const body = new FormData()
    body.append('a', new Blob(['1']))
    const seen = await post(scene, body)
    expect(toDisposition(seen)).toBe('Content-Disposition: form-data; name="a"; filename="blob"')
    expect(bodyOf(seen)).toMatch(/\r\nContent-Type: application\/octet-stream\r\n\r\n1\r\n/i)
  }),
  ...[
    ['a"b', 'a%22b'],
    ['a\r\nb', 'a%0D%0Ab'],
    ['a\nb', 'a%0D%0Ab'],
    ['a\rb', 'a%0D%0Ab'],
    ['é%\\', 'é%\\'],
  ].map(([name = '', escaped]) =>
    inMultipart(`the name ${JSON.stringify(name)} is escaped`, async (scene) => {
      const body = new FormData()
      body.append(name, '1')
      expect(toDisposition(await post(scene, body))).toBe(`Content-Disposition: form-data; name="${escaped}"`)
    }),
  ),
  inMultipart('the name of a file is escaped, and keeps its kind of newline', async (scene) => {
    const body = new FormData()
    body.append('a', new Blob(['1']), 'x"\ny.txt')
    const disposition = 'Content-Disposition: form-data; name="a"; filename="x%22%0Ay.txt"'
    expect(toDisposition(await post(scene, body))).toBe(disposition)
  }),
  inMultipart('newlines of a text become CRLF, those of a file stay', async (scene) => {
    const body = new FormData()
    body.append('a', '1\n2\r3\r\n4')
    body.append('b', new Blob(['1\n2\r3\r\n4']))
    const text = bodyOf(await post(scene, body))
    expect(text).toContain('name="a"\r\n\r\n1\r\n2\r\n3\r\n4\r\n')
    expect(text).toContain('\r\n\r\n1\n2\r3\r\n4\r\n')
  }),
]

async function* toChunks(): AsyncGenerator<Uint8Array> {
  yield encode('a')
  yield encode('b')
}

const STREAMS: readonly Case[] = [
  inStream('a stream is sent with duplex: half, without a type', async (scene) => {
    const seen = await post(scene, toStream(encode('a'), encode('é')), { duplex: 'half' })
    expect(bodyOf(seen)).toBe('aé')
    expect([fieldOf(seen, 'content-type'), fieldOf(seen, 'content-length')]).toEqual([null, null])
  }),
  inStream('a stream is refused without duplex', (scene) =>
    scene.refuse(scene.inspectUrl, { method: 'POST', body: toStream() }),
  ),
  inStream('an empty stream is sent', async (scene) => {
    expect((await post(scene, toStream(), { duplex: 'half' })).body).toBe('')
  }),
  inStream('a byte stream is sent', async (scene) => {
    const body = new ReadableStream({
      type: 'bytes',
      pull(controller) {
        controller.enqueue(encode('bytes'))
        controller.close()
      },
    })
    expect(bodyOf(await post(scene, body, { duplex: 'half' }))).toBe('bytes')
  }),
  inStream('a stream of a megabyte is sent', async (scene) => {
    const chunks = Array.from({ length: 100 }, (_, i) => Buffer.alloc(10_000, `${i}`))
    const seen = await post(scene, toStream(...chunks), { duplex: 'half' })
    expect(Buffer.from(seen.body, 'base64').equals(Buffer.concat(chunks))).toBe(true)
  }),
  inStream('a locked stream is refused', async (scene) => {
    const body = toStream(encode('a'))
    body.getReader()
    await scene.refuse(scene.inspectUrl, { method: 'POST', body, duplex: 'half' })
  }),
  inStream('a stream that was read from is refused', async (scene) => {
    const body = toStream(encode('a'), encode('b'))
    const reader = body.getReader()
    await reader.read()
    reader.releaseLock()
    await scene.refuse(scene.inspectUrl, { method: 'POST', body, duplex: 'half' })
  }),
  inStream('keepalive takes no stream', (scene) =>
    scene.refuse(scene.inspectUrl, { method: 'POST', body: toStream(), duplex: 'half', keepalive: true }),
  ),
  inStream('duplex: half is passed over for other bodies', async (scene) => {
    expect(bodyOf(await post(scene, 'text', { duplex: 'half' }))).toBe('text')
    expect((await scene.inspect({ duplex: 'half' })).body).toBe('')
  }),
  // Node's own: the standard takes an async iterable for its string.
  inStream('an async iterable is sent with duplex: half', async (scene) => {
    expect(bodyOf(await post(scene, toChunks(), { duplex: 'half' }))).toBe('ab')
  }),
  inStream('an async iterable is refused without duplex', (scene) =>
    scene.refuse(scene.inspectUrl, { method: 'POST', body: toChunks() }),
  ),
]

const TRANSMITTED: readonly Case[] = [
  ...['a string', 1, null, new ArrayBuffer(1), {}].map((chunk) =>
    inTransmit(
      `a stream's chunk can't be ${chunk instanceof ArrayBuffer ? 'an ArrayBuffer' : JSON.stringify(chunk)}`,
      async (scene) => {
        await scene.refuse(scene.inspectUrl, { method: 'POST', body: toStream(chunk), duplex: 'half' })
      },
    ),
  ),
  inTransmit('a stream that fails, fails the fetch with a TypeError', async (scene) => {
    const body = new ReadableStream({ start: (controller) => controller.error(new RangeError('mine')) })
    await scene.refuse(scene.inspectUrl, { method: 'POST', body, duplex: 'half' })
  }),
  inTransmit('a stream that fails after a chunk, fails the fetch with a TypeError', async (scene) => {
    let count = 0
    const body = new ReadableStream({
      pull(controller) {
        if (count++ === 0) controller.enqueue(encode('a'))
        else controller.error(new RangeError('mine'))
      },
    })
    await scene.refuse(scene.inspectUrl, { method: 'POST', body, duplex: 'half' })
  }),
  inTransmit('a stream is read while the response comes', async (scene) => {
    let end = (): void => {}
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(encode('a'))
        end = () => controller.close()
      },
      // The rest isn't needed once the response is complete.
      cancel() {
        end = () => {}
      },
    })
    const response = await scene.ask({ early: true, body: 'early' }, { method: 'POST', body, duplex: 'half' })
    expect(await response.text()).toBe('early')
    end()
  }),
  inTransmit("what a stream's pull() throws, fails the fetch with a TypeError", async (scene) => {
    const body = new ReadableStream({
      pull() {
        throw new RangeError('mine')
      },
    })
    const reason = await toReason(scene.fetch(scene.inspectUrl, { method: 'POST', body, duplex: 'half' }))
    expect(reason).toBeInstanceOf(TypeError)
  }),
  inTransmit('the body of a response can be that of a request', async (scene) => {
    const { body } = await scene.ask({ body: 'round trip' })
    expect(bodyOf(await post(scene, body, { duplex: 'half' }))).toBe('round trip')
  }),
  inTransmit('the body of a response that was sent on can not be read', async (scene) => {
    const response = await scene.ask({ body: 'round trip' })
    await post(scene, response.body, { duplex: 'half' })
    await toTypeError(response.text())
  }),
]

export const REQUEST_BODIES: readonly Case[] = [...EXTRACTED, ...COPIES, ...FORM, ...STREAMS, ...TRANSMITTED]
