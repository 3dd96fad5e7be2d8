/** GET, and POST of each kind of body. */

import { Blob } from 'node:buffer'
import { ReadableStream } from 'node:stream/web'
import { expect } from 'vitest'
import type { AnyBody } from './fetch-fetches.ts'
import type { Case, Init, Scene } from './fetch-scene.ts'
import type { ServerName } from './fetch-servers.ts'

const ALL: readonly ServerName[] = ['nghttpd', 'nginx', 'apache', 'go', 'node']
/** Servers that report the fields of the request's body. */
const TELLING: readonly ServerName[] = ['nginx', 'apache', 'go', 'node']

/** More than a stream's first window has room for, and than one byte for a character. */
const TEXT = 'dodici è più di undici, '.repeat(8_000)
const BYTES = new TextEncoder().encode(TEXT)
const PIECE = 65_536
const MEBIBYTE = 2 ** 20

function* toPieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += PIECE) yield bytes.subarray(from, from + PIECE)
}

async function* toAsyncPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield* toPieces(bytes)
}

function toStream(bytes: Uint8Array): ReadableStream<Uint8Array> {
  const pieces = toPieces(bytes)
  return new ReadableStream({
    pull(controller) {
      const { done, value } = pieces.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
  })
}

interface Kind {
  readonly kind: string
  make(scene: Scene): AnyBody
  /** What it is on the wire, where that is one thing alone. */
  readonly text: string | null
  /** Null for none. */
  readonly type: RegExp | null
  /** Null where it isn't known beforehand. */
  readonly length: number | null
  readonly duplex?: 'half'
}

const FORM_TYPE = /^multipart\/form-data; ?boundary=/
const PLAIN = { text: TEXT, type: null, length: BYTES.length }
const STREAMED = { text: TEXT, type: null, length: null, duplex: 'half' } as const

function fillForm(scene: Scene): InstanceType<Scene['FormData']> {
  const form = new scene.FormData()
  form.append('name', 'è "più"')
  form.append('twice', '1')
  form.append('twice', '2')
  form.append('file', new Blob([BYTES], { type: 'text/plain' }), 'dodici.txt')
  return form
}

const KINDS: readonly Kind[] = [
  { ...PLAIN, kind: 'a string', make: () => TEXT, type: /^text\/plain;charset=utf-8$/i },
  { ...PLAIN, kind: 'a Uint8Array', make: () => BYTES.slice() },
  { ...PLAIN, kind: 'an ArrayBuffer', make: () => BYTES.slice().buffer },
  { ...PLAIN, kind: 'a Blob', make: () => new Blob([BYTES], { type: 'text/x' }), type: /^text\/x$/ },
  {
    kind: 'URLSearchParams',
    make: () => new URLSearchParams({ a: '1 & 2', b: 'è' }),
    text: 'a=1+%26+2&b=%C3%A8',
    type: /^application\/x-www-form-urlencoded;charset=utf-8$/i,
    length: 18,
  },
  { kind: 'a FormData', make: fillForm, text: null, type: FORM_TYPE, length: null },
  { ...STREAMED, kind: 'a ReadableStream', make: () => toStream(BYTES) },
  { ...STREAMED, kind: 'an async iterable', make: () => toAsyncPieces(BYTES) },
]

function toInit(scene: Scene, { make, duplex }: Kind): Init {
  return { method: 'POST', body: make(scene), ...(duplex === undefined ? {} : { duplex }) }
}

const POSTS: readonly Case[] = KINDS.map((kind) => ({
  what: `POST of ${kind.kind} brings all of it, as what it is`,
  servers: kind.text === null ? TELLING : ALL,
  async run(scene) {
    const response = await scene.ask('/echo', toInit(scene, kind))
    expect(response.status).toBe(200)
    const text = await response.text()
    if (kind.text !== null) expect(text === kind.text).toBe(true)
    if (!TELLING.includes(scene.name)) return
    expect(response.headers.get('x-method')).toBe('POST')
    expect(response.headers.get('content-type')).toMatch(kind.type ?? /^none\/none$/)
    if (kind.length !== null) expect(response.headers.get('x-length')).toBe(`${kind.length}`)
  },
}))

export const REQUESTS: readonly Case[] = [
  {
    what: 'GET gives the response',
    servers: ALL,
    async run(scene) {
      const response = await scene.ask('/file')
      expect(response.status).toBe(200)
      expect(response.url).toBe(`${scene.server.origin}/file`)
      expect(await response.text()).toBe('the content of a file')
    },
  },
  ...POSTS,
  {
    what: 'a FormData goes there and comes back',
    servers: TELLING,
    async run(scene) {
      const response = await scene.ask('/echo', { method: 'POST', body: fillForm(scene) })
      const form = await response.formData()
      expect(form.get('name')).toBe('è "più"')
      expect(form.getAll('twice')).toEqual(['1', '2'])
      const file = form.get('file')
      if (file === null || typeof file === 'string') throw new Error('The file came back as something else')
      expect([file.name, file.type]).toEqual(['dodici.txt', 'text/plain'])
      expect((await file.text()) === TEXT).toBe(true)
    },
  },
  {
    what: 'four mebibytes are streamed there and back',
    // Not nginx: 1.22 sometimes stalls when a large body comes back through it. curl's requests stand still there, too.
    servers: ['nghttpd', 'apache', 'go', 'node'],
    async run(scene) {
      const bytes = Buffer.alloc(4 * MEBIBYTE, TEXT)
      const response = await scene.ask('/echo', { method: 'POST', body: toStream(bytes), duplex: 'half' })
      expect(bytes.equals(Buffer.from(await response.arrayBuffer()))).toBe(true)
    },
  },
  {
    what: "four mebibytes of the server's are streamed, as they are read",
    servers: ['nghttpd', 'nginx', 'apache'],
    async run(scene) {
      const { body } = await scene.ask('/large')
      const pieces: Uint8Array[] = []
      for await (const piece of body ?? []) pieces.push(piece)
      expect(Buffer.concat(pieces).equals(Buffer.alloc(4 * MEBIBYTE, 'dodici'))).toBe(true)
    },
  },
  {
    what: 'the first part of the response is read before the rest of the request is sent',
    // The others proxy it, one way after the other.
    servers: ['go', 'node'],
    async run(scene) {
      const lines = new Source()
      const response = await scene.ask('/echo', { method: 'POST', body: lines.readable, duplex: 'half' })
      const reader = response.body?.getReader()
      for (const line of ['one', 'two', 'three']) {
        lines.write(line)
        expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe(line)
      }
      lines.end()
      expect((await reader?.read())?.done).toBe(true)
    },
  },
]

/** A stream that is written from outside. */
class Source {
  readonly readable: ReadableStream<Uint8Array>
  #controller: { enqueue(bytes: Uint8Array): void; close(): void } | null = null

  constructor() {
    this.readable = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller
      },
    })
  }

  write(text: string): void {
    this.#controller?.enqueue(Buffer.from(text))
  }

  end(): void {
    this.#controller?.close()
  }
}
