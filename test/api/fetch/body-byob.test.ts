/** Readers that bring their own buffers (Streams, ReadableStreamBYOBReader). */

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { tapped, toNoise } from './body-support.ts'
import type { Rig } from './body-support-rig.ts'
import { startRig, toReason, toStream } from './body-support-rig.ts'

const NOISE = toNoise(300_000)

async function start(content: Buffer = NOISE, coding = 'identity'): Promise<Rig> {
  return startRig(tapped((stream, tap) => tap.pour(stream, content, [['content-encoding', coding]])))
}

async function toByob(rig: Rig): Promise<ReadableStreamBYOBReader> {
  return toStream(await rig.get('/')).getReader({ mode: 'byob' })
}

/** The whole buffer of a view, written or not. */
function toWhole(view: ArrayBufferView<ArrayBuffer> | undefined): Buffer {
  return view === undefined ? Buffer.alloc(0) : Buffer.from(view.buffer)
}

async function readAll(reader: ReadableStreamBYOBReader, size: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let buffer = new ArrayBuffer(size)
  for (;;) {
    const { done, value } = await reader.read(new Uint8Array(buffer))
    if (value === undefined) throw new Error('It was cancelled')
    pieces.push(Buffer.from(value))
    if (done) return Buffer.concat(pieces)
    buffer = value.buffer
  }
}

describe('when a body is read into buffers of the reader', () => {
  it.each([
    ['smaller than its pieces', 1_000],
    ['of one byte more than a frame', 16_385],
    ['larger than all of it', 1_048_576],
  ])('buffers %s get all of it', async (_what, size) => {
    const all = await readAll(await toByob(await start()), size)
    expect(all.equals(NOISE)).toBe(true)
  })

  it('a decoded body is read the same way', async () => {
    const all = await readAll(await toByob(await start(gzipSync(NOISE), 'gzip')), 5_000)
    expect(all.equals(NOISE)).toBe(true)
  })

  it('a reader of the other kind goes on where the first stopped', async () => {
    const stream = toStream(await (await start()).get('/'))
    const byob = stream.getReader({ mode: 'byob' })
    const { value: first } = await byob.read(new Uint8Array(10))
    byob.releaseLock()
    const reader = stream.getReader()
    const { value: second } = await reader.read()
    await reader.cancel()
    const begin = Buffer.concat([first ?? Buffer.alloc(0), second ?? Buffer.alloc(0)])
    expect(begin.equals(NOISE.subarray(0, begin.length))).toBe(true)
    expect(first?.length).toBe(10)
  })

  it('a view in the middle of a buffer gets its own part alone', async () => {
    const reader = await toByob(await start())
    const { value } = await reader.read(new Uint8Array(new ArrayBuffer(100), 40, 20))
    expect(toWhole(value).toString('hex')).toBe(
      `${'00'.repeat(40)}${NOISE.toString('hex', 0, 20)}${'00'.repeat(40)}`,
    )
    await reader.cancel()
  })

  it('elements of several bytes are whole', async () => {
    const reader = await toByob(await start(Buffer.from([1, 2, 3, 4, 5, 6, 7, 8])))
    const { value } = await reader.read(new Uint32Array(2))
    expect(toWhole(value).toString('hex')).toBe('0102030405060708')
    expect((await reader.read(new Uint32Array(2))).done).toBe(true)
  })

  it('a read that waits gets the bytes that come', async () => {
    const rig = await startRig({ onRequest: (stream) => stream.head(200) })
    const reader = await toByob(rig)
    const read = reader.read(new Uint8Array(100))
    rig.peer.request('/').data('late')
    expect(Buffer.from((await read).value ?? []).toString()).toBe('late')
    await reader.cancel()
  })

  it('a read that waits ends with the body', async () => {
    const rig = await startRig({ onRequest: (stream) => stream.head(200) })
    const reader = await toByob(rig)
    const read = reader.read(new Uint8Array(100))
    rig.peer.request('/').end()
    const { done, value } = await read
    expect([done, value?.byteLength, value?.buffer.byteLength]).toEqual([true, 0, 100])
    await reader.closed
  })

  it('a read that waits fails with the body', async () => {
    const rig = await startRig({ onRequest: (stream) => stream.head(200) })
    const reader = await toByob(rig)
    const read = toReason(reader.read(new Uint8Array(100)))
    await rig.roundTrip()
    rig.peer.request('/').reset(2)
    expect(await read).toMatchObject({ name: 'TypeError', message: 'terminated' })
  })
})

describe('when a body ends in the middle of an element', () => {
  /** By the standard, such a read can't be fulfilled. */
  it.each([
    ['at once', (rig: Rig) => rig.peer.request('/').end('12345')],
    [
      'later',
      async (rig: Rig): Promise<void> => {
        rig.peer.request('/').data('12345')
        await rig.roundTrip()
        rig.peer.request('/').end()
      },
    ],
  ])('the read fails, %s, and the session goes on', async (_when, finish) => {
    const rig = await startRig({
      onRequest: (stream) => (stream.path === '/' ? stream.head(200) : stream.respond()),
    })
    const reader = await toByob(rig)
    const first = await Promise.all([reader.read(new Uint32Array(4)), finish(rig)])
    expect(toWhole(first[0].value).toString('latin1', 0, 4)).toBe('1234')
    expect(await toReason(reader.read(new Uint32Array(4)))).toBeInstanceOf(TypeError)
    expect(await (await rig.get('/next')).text()).toBe('GET /next')
    expect(rig.peer.connections.length).toBe(1)
  })
})
