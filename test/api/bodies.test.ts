import { Blob, File } from 'node:buffer'
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http2'
import { PassThrough, Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { describe, expect, it } from 'vitest'
import type { ClientOptions, RequestBody, RequestHeaders } from '../../types/index.ts'
import { startClient } from '../support/clients/agents.ts'

/** A request, as the server received it. */
interface Received {
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

async function start(options: ClientOptions = {}) {
  const received: Received[] = []
  const { server, client } = await startClient((stream, headers) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      received.push({ headers, bytes: Buffer.concat(chunks) })
      if (stream.destroyed) return
      stream.respond({ ':status': 200 })
      stream.end('hello')
    })
  }, options)
  const send = async (body: RequestBody, headers?: RequestHeaders, method = 'POST'): Promise<Received> => {
    const { body: response } = await client.request({ path: '/', method, body, headers })
    await response.text()
    const last = received.at(-1)
    if (last === undefined) throw new Error('The server got nothing')
    return last
  }
  return { server, client, received, send }
}

function* split(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function* splitLater(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (const piece of split(bytes, size)) {
    await null
    yield piece
  }
}

/** A copy in a buffer of its own. */
function toArrayBuffer(bytes: Uint8Array): ArrayBuffer {
  const copy = new ArrayBuffer(bytes.length)
  new Uint8Array(copy).set(bytes)
  return copy
}

/** In the middle of a larger buffer: the rest of it must not go out. */
function inLarger(bytes: Uint8Array): ArrayBuffer {
  const larger = new Uint8Array(bytes.length + 16).fill(0xee)
  larger.set(bytes, 8)
  return larger.buffer
}

interface Kind {
  readonly kind: string
  readonly toBody: (bytes: Buffer) => RequestBody
  readonly isSized: boolean
  readonly type?: string
}

const KINDS: readonly Kind[] = [
  { kind: 'string', toBody: (bytes) => bytes.toString(), isSized: true },
  { kind: 'Buffer', toBody: (bytes) => bytes, isSized: true },
  { kind: 'Uint8Array', toBody: (bytes) => new Uint8Array(inLarger(bytes), 8, bytes.length), isSized: true },
  {
    kind: 'Uint16Array',
    toBody: (bytes) => new Uint16Array(inLarger(bytes), 8, bytes.length / 2),
    isSized: true,
  },
  { kind: 'DataView', toBody: (bytes) => new DataView(inLarger(bytes), 8, bytes.length), isSized: true },
  { kind: 'ArrayBuffer', toBody: toArrayBuffer, isSized: true },
  { kind: 'Blob without a type', toBody: (bytes) => new Blob([toArrayBuffer(bytes)]), isSized: true },
  {
    kind: 'Blob',
    toBody: (bytes) => new Blob([toArrayBuffer(bytes)], { type: 'text/csv' }),
    isSized: true,
    type: 'text/csv',
  },
  {
    kind: 'File',
    toBody: (bytes) => new File([toArrayBuffer(bytes)], 'a.txt', { type: 'text/plain' }),
    isSized: true,
    type: 'text/plain',
  },
  { kind: 'Readable', toBody: (bytes) => new PassThrough().end(bytes), isSized: false },
  { kind: 'Readable of objects', toBody: (bytes) => Readable.from(split(bytes, 70_000)), isSized: false },
  { kind: 'web stream', toBody: (bytes) => ReadableStream.from(split(bytes, 70_000)), isSized: false },
  {
    kind: 'web stream of bytes',
    toBody: (bytes) => {
      const pieces = split(bytes, 70_000)
      return new ReadableStream({
        type: 'bytes',
        pull(controller) {
          const { done, value } = pieces.next()
          // A byte stream takes the buffer away from its owner.
          if (done !== true) controller.enqueue(new Uint8Array(value))
          else controller.close()
        },
      })
    },
    isSized: false,
  },
  { kind: 'array', toBody: (bytes) => [...split(bytes, 70_000)], isSized: false },
  {
    kind: 'array of ArrayBuffers',
    toBody: (bytes) => [...split(bytes, 70_000)].map(toArrayBuffer),
    isSized: false,
  },
  { kind: 'generator', toBody: (bytes) => split(bytes, 70_000), isSized: false },
  { kind: 'async generator', toBody: (bytes) => splitLater(bytes, 70_000), isSized: false },
  { kind: 'factory of a string', toBody: (bytes) => () => bytes.toString(), isSized: true },
  {
    kind: 'factory of a Blob',
    toBody: (bytes) => () => new Blob([toArrayBuffer(bytes)], { type: 'text/csv' }),
    isSized: true,
    type: 'text/csv',
  },
  {
    kind: 'factory of a Readable',
    toBody: (bytes) => () => Readable.from(split(bytes, 9_000)),
    isSized: false,
  },
  { kind: 'generator function', toBody: (bytes) => () => splitLater(bytes, 9_000), isSized: false },
]

describe.each(KINDS)('a body that is a $kind', ({ toBody, isSized, type }) => {
  it.each([
    { size: '12 bytes', bytes: Buffer.from('žluťoučk ') },
    { size: '16 KiB', bytes: Buffer.alloc(16_384, '0123456789abcdef') },
    {
      size: '8 MB',
      bytes: Buffer.alloc(8 * 1024 * 1024, 'abcdefghijklmnopqrstuvwxyz0123456789 of no power of two'),
    },
  ])('of $size arrives byte for byte, with its known length and type', async ({ bytes }) => {
    const { send } = await start()
    const { headers, bytes: arrived } = await send(toBody(bytes))
    expect(arrived.length).toBe(bytes.length)
    expect(arrived.equals(bytes)).toBe(true)
    expect(headers['content-length']).toBe(isSized ? String(bytes.length) : undefined)
    expect(headers['content-type']).toBe(type)
  })

  it('does not change a content-type and a content-length of the caller', async () => {
    const { send } = await start()
    const bytes = Buffer.from('twelve bytes')
    const own = { 'Content-Type': 'text/own', 'content-length': '12' }
    const { headers, bytes: arrived } = await send(toBody(bytes), own)
    expect(arrived.toString()).toBe('twelve bytes')
    expect(headers).toMatchObject({ 'content-type': 'text/own', 'content-length': '12' })
  })

  it('may be empty', async () => {
    const { send } = await start()
    const { headers, bytes } = await send(toBody(Buffer.alloc(0)))
    expect(bytes.length).toBe(0)
    expect(headers['content-length']).toBe(isSized ? '0' : undefined)
  })
})

describe('a body that is a URLSearchParams', () => {
  it('is sent as a form', async () => {
    const { send } = await start()
    const form = new URLSearchParams([
      ['a', '1 & 2'],
      ['ž', 'é'],
      ['a', '3'],
    ])
    const { headers, bytes } = await send(form)
    expect(bytes.toString()).toBe(form.toString())
    expect(headers['content-type']).toBe('application/x-www-form-urlencoded;charset=UTF-8')
    expect(headers['content-length']).toBe(String(bytes.length))
  })
})

describe('a body that is a FormData', () => {
  /** The form, as a server reads it. */
  function parse({ headers, bytes }: Received): Promise<FormData> {
    const type = headers['content-type'] ?? ''
    return new Response(toArrayBuffer(bytes), { headers: { 'content-type': type } }).formData()
  }

  it('is sent as multipart, which the server parses correctly', async () => {
    const { send } = await start()
    const form = new FormData()
    form.append('field', 'value')
    form.append('field', 'žluť')
    form.append('empty', '')
    form.append('quoted "name"\n', 'line\nbreak')
    form.append('file', new File(['content'], 'a "b".txt', { type: 'text/plain' }))
    form.append('blob', new Blob([new Uint8Array([0, 13, 10, 45, 45, 255])]))
    const received = await send(form)
    expect(received.headers['content-length']).toBe(String(received.bytes.length))
    const parsed = await parse(received)
    expect(parsed.getAll('field')).toEqual(['value', 'žluť'])
    expect(parsed.get('empty')).toBe('')
    expect([...parsed.keys()]).toHaveLength(6)
    // HTML: a line break is CRLF on the wire.
    expect([...parsed.values()]).toContain('line\r\nbreak')
    const file = parsed.get('file') as globalThis.File
    expect([file.name, file.type, await file.text()]).toEqual(['a "b".txt', 'text/plain', 'content'])
    const blob = parsed.get('blob') as globalThis.File
    expect([blob.name, blob.type]).toEqual(['blob', 'application/octet-stream'])
    expect([...new Uint8Array(await blob.arrayBuffer())]).toEqual([0, 13, 10, 45, 45, 255])
  })

  it('may be empty', async () => {
    const { send } = await start()
    const { headers, bytes } = await send(new FormData())
    const boundary = /boundary=(.+)$/.exec(headers['content-type'] ?? '')?.[1]
    expect(bytes.toString()).toBe(`--${boundary}--\r\n`)
  })

  it('has a boundary of its own each time', async () => {
    const { send } = await start()
    const types = [await send(new FormData()), await send(new FormData())].map(
      ({ headers }) => headers['content-type'],
    )
    expect(new Set(types).size).toBe(2)
  })
})

describe('an iterable that fills the same memory for each piece', () => {
  const SIZE = 65_536

  function* fill(buffers: readonly Buffer[]): Generator<Buffer> {
    for (let i = 0; i < 40; i++) yield (buffers[i % buffers.length] as Buffer).fill(i + 1)
  }

  const expected = Buffer.concat(Array.from({ length: 40 }, (_, i) => Buffer.alloc(SIZE, i + 1)))

  it.each([1, 2, 3])('is sent as yielded: %d buffers', async (count) => {
    const { send } = await start()
    const toBuffers = (): Buffer[] => Array.from({ length: count }, () => Buffer.alloc(SIZE))
    expect((await send(fill(toBuffers()))).bytes.equals(expected)).toBe(true)
    const pieces = fill(toBuffers())
    const later = (async function* () {
      yield 'head'
      for await (const piece of pieces) yield piece
    })()
    expect((await send(later)).bytes.subarray(4).equals(expected)).toBe(true)
  })

  it('yielding slices of it is sent as yielded', async () => {
    const { send } = await start()
    const buffer = Buffer.alloc(3 * SIZE)
    const slices = (function* () {
      for (let i = 0; i < 40; i++) {
        buffer.fill(i + 1)
        yield buffer.subarray(SIZE * (i % 2), SIZE * ((i % 2) + 1))
      }
    })()
    expect((await send(slices)).bytes.equals(expected)).toBe(true)
  })
})

describe('a stream that has ended without data', () => {
  it.each([
    { what: 'and is closed', autoDestroy: true },
    { what: 'and stays open', autoDestroy: false },
  ])('$what is an empty body', async ({ autoDestroy }) => {
    const { send } = await start()
    for (const method of ['POST', 'GET']) {
      const body = new PassThrough({ autoDestroy })
      body.resume().end()
      await once(body, 'end')
      expect((await send(body, undefined, method)).bytes).toHaveLength(0)
    }
  })

  it('while its call waited for a connection is an empty body', async () => {
    const { send } = await start()
    const body = new PassThrough()
    const sent = send(body)
    body.resume().end()
    expect((await sent).bytes).toHaveLength(0)
  })
})

describe('no body', () => {
  it.each([
    { what: 'null', body: null },
    { what: 'a factory of null', body: () => null },
  ])('given as $what says content-length: 0 where a body is expected', async ({ body }) => {
    const { send } = await start()
    for (const method of ['POST', 'PUT', 'PATCH']) {
      expect((await send(body, undefined, method)).headers['content-length']).toBe('0')
    }
    expect((await send(body, undefined, 'DELETE')).headers['content-length']).toBeUndefined()
  })
})
