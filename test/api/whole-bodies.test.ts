/** Bodies that are read as a whole, while they come: in which pieces, and whatever length was announced. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { fetch, request } from '../../src/index.ts'
import type { DispatchHandler, DispatchOptions } from '../../types/index.ts'
import { startClient } from '../support/clients/agents.ts'
import { INERT } from '../support/clients/inert-controller.ts'

const ANYWHERE = 'http://a.test/'
/** A byte order mark, and characters of one to four bytes. */
const TEXT = '\ufeff{"é":"€ 😀"}'
const BYTES = Buffer.from(TEXT)
const MIB = 1_048_576

/** A body with the methods that `request()` and `fetch()` share. */
interface Body {
  text(): Promise<string>
  json(): Promise<unknown>
  bytes(): Promise<Uint8Array>
  arrayBuffer(): Promise<ArrayBuffer>
  blob(): Promise<Blob>
}

const WAYS = ['text', 'json', 'bytes', 'arrayBuffer', 'blob'] as const

/** What the methods of a body give, as bytes; `json()` gives the value. */
async function read(body: Body, way: (typeof WAYS)[number]): Promise<unknown> {
  if (way === 'json') return body.json()
  if (way === 'text') return Buffer.from(await body.text())
  if (way === 'bytes') return Buffer.from(await body.bytes())
  return Buffer.from(way === 'blob' ? await (await body.blob()).arrayBuffer() : await body.arrayBuffer())
}

/** As the Fetch standard says: a mark is left out of strings, and out of nothing else. */
function toExpected(way: (typeof WAYS)[number]): unknown {
  if (way === 'json') return { é: '€ 😀' }
  return way === 'text' ? BYTES.subarray(3) : BYTES
}

/** A dispatcher of the caller's, which may announce any length. The pieces come once the body is read. */
class Pieces {
  readonly #pieces: readonly Buffer[]
  readonly #announced: string | undefined
  #handler: DispatchHandler | null = null

  constructor(pieces: readonly Buffer[], announced: string | undefined) {
    this.#pieces = pieces
    this.#announced = announced
  }

  dispatch(_options: DispatchOptions, handler: DispatchHandler): boolean {
    this.#handler = handler
    handler.onRequestStart?.(INERT, null)
    const headers = this.#announced === undefined ? {} : { 'content-length': this.#announced }
    handler.onResponseStart?.(INERT, 200, headers, '')
    return true
  }

  async open(api: 'request' | 'fetch'): Promise<Body> {
    if (api === 'fetch') return (await fetch(ANYWHERE, { dispatcher: this })) as Body
    // Only `dispatch` is needed of a dispatcher.
    const options = { dispatcher: this } as unknown as Parameters<typeof request>[1]
    return (await request(ANYWHERE, options)).body as Body
  }

  play(from = 0, end = this.#pieces.length): void {
    for (const piece of this.#pieces.slice(from, end)) this.#handler?.onResponseData?.(INERT, piece)
    if (end === this.#pieces.length) this.#handler?.onResponseEnd?.(INERT, {})
  }

  fail(reason: Error): void {
    this.#handler?.onResponseError?.(INERT, reason)
  }
}

/** Transfers its memory away, as `postMessage(bytes, [bytes.buffer])` does. */
function transfer(buffer: ArrayBufferLike): void {
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })
}

const ANNOUNCED = [
  undefined,
  `${BYTES.length}`,
  `${BYTES.length - 1}`,
  `${BYTES.length + 1}`,
  '0',
  '1',
  '-1',
  '3.5',
  `${MIB}`,
  `${Number.MAX_SAFE_INTEGER}`,
  'Infinity',
  'nonsense',
] as const

const APIS = ['request', 'fetch'] as const

describe.each(APIS)('%s(), when a body is read as a whole', (api) => {
  it.each(
    ANNOUNCED,
  )('and content-length is %s › has the same bytes, wherever they are cut', async (announced) => {
    for (let cut = 0; cut <= BYTES.length; cut++) {
      for (const [way, before] of WAYS.flatMap((one) => [0, 1, 2].map((count) => [one, count] as const))) {
        const pieces = [BYTES.subarray(0, cut), BYTES.subarray(cut)]
        const peer = new Pieces(pieces, announced)
        const body = await peer.open(api)
        peer.play(0, before)
        const result = read(body, way)
        if (before < pieces.length) peer.play(before)
        expect(await result, `${way}(), cut at ${cut}, ${before} pieces came before`).toEqual(toExpected(way))
      }
    }
  })

  it.each(
    ANNOUNCED,
  )('and content-length is %s › has the same bytes, when each comes by itself', async (announced) => {
    for (const way of WAYS) {
      const peer = new Pieces(
        [...BYTES].map((byte) => Buffer.of(byte)),
        announced,
      )
      const result = read(await peer.open(api), way)
      await nextTurn()
      peer.play()
      expect(await result, `${way}()`).toEqual(toExpected(way))
    }
  })

  it.each([
    { sizes: [8_192], announced: '8192' },
    { sizes: [8_192], announced: undefined },
    { sizes: [3_000, 5_192], announced: '8192' },
    { sizes: [3_000, 5_192], announced: undefined },
    { sizes: [3_000, 5_192], announced: '8191' },
    { sizes: [3_000, 5_192], announced: '8193' },
    { sizes: [100, 200, 7_892], announced: '300' },
    { sizes: [16_384, 16_384, MIB], announced: `${MIB + 32_768}` },
    { sizes: [200_000, 200_000, 200_000], announced: '300001' },
    { sizes: [200_000, 200_000, 200_000], announced: '400000' },
    { sizes: [200_000, 200_000, 200_000], announced: '600000' },
    { sizes: [200_000, 200_000, 200_000], announced: '600001' },
    { sizes: [200_000, 200_000, 200_000], announced: undefined },
  ])('in pieces of $sizes with content-length $announced › owns its memory alone', async ({
    sizes,
    announced,
  }) => {
    for (const way of ['bytes', 'arrayBuffer'] as const) {
      for (const before of [0, sizes.length]) {
        const pieces = sizes.map((size, index) => Buffer.allocUnsafeSlow(size).fill(index + 1))
        const all = Buffer.concat(pieces)
        const peer = new Pieces(pieces, announced)
        const body = await peer.open(api)
        peer.play(0, before)
        const reading: Promise<Uint8Array | ArrayBuffer> = body[way]()
        if (before === 0) peer.play()
        const result = await reading
        const buffer = result instanceof ArrayBuffer ? result : result.buffer
        expect(buffer.byteLength).toBe(all.length)
        expect(Buffer.from(buffer).equals(all)).toBe(true)
        // A dispatcher that keeps what it has handed on, as a cache does, has its bytes still.
        new Uint8Array(buffer).fill(0xff)
        transfer(buffer)
        expect(Buffer.concat(pieces).equals(all)).toBe(true)
      }
    }
  })

  it('that fails halfway › rejects with the reason', async () => {
    for (const way of WAYS) {
      const peer = new Pieces(
        [BYTES.subarray(0, 5), BYTES.subarray(5, 9), BYTES.subarray(9)],
        `${BYTES.length}`,
      )
      const result = read(await peer.open(api), way)
      peer.play(0, 2)
      const reason = new Error('halfway')
      peer.fail(reason)
      const thrown: unknown = await result.catch((error: unknown) => error)
      expect(api === 'fetch' ? (thrown as Error).cause : thrown, `${way}()`).toBe(reason)
    }
  })
})

describe('a response of a server, read as a whole', () => {
  /** Larger than a chunk of a socket, with a character that pieces may cut anywhere. */
  const LARGE = Buffer.from('é€😀'.repeat(150_000))

  it.each([
    undefined,
    LARGE.length,
  ])('with content-length %s › has the bytes that were sent', async (length) => {
    const { client, server } = await startClient((stream) => {
      stream.respond(length === undefined ? { ':status': 200 } : { ':status': 200, 'content-length': length })
      for (let at = 0; at < LARGE.length; at += 100_001) stream.write(LARGE.subarray(at, at + 100_001))
      stream.end()
    })
    for (const api of APIS) {
      const open = async (): Promise<Body> =>
        api === 'fetch'
          ? ((await fetch(server.origin, { dispatcher: client })) as Body)
          : ((await client.request({ path: '/', method: 'GET' })).body as Body)
      expect((await (await open()).text()) === LARGE.toString(), `${api}, text()`).toBe(true)
      for (const way of ['bytes', 'arrayBuffer', 'blob'] as const) {
        const bytes = (await read(await open(), way)) as Buffer
        expect(bytes.equals(LARGE), `${api}, ${way}()`).toBe(true)
      }
    }
  })

  it('a HEAD with content-length › is empty', async () => {
    const { client } = await startClient((stream) => {
      stream.respond({ ':status': 200, 'content-length': MIB }, { endStream: true })
    })
    const { body } = await client.request({ path: '/', method: 'HEAD' })
    expect((await body.arrayBuffer()).byteLength).toBe(0)
  })
})
