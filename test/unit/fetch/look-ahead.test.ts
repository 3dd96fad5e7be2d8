import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { lookAhead } from '../../../src/fetch/look-ahead.ts'
import type { ReadableStreamLike } from '../../../types/body.ts'

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

/** A byte stream, and its controller. */
function openBytes() {
  const opened: { controller: ReadableByteStreamController | null; reasons: unknown[] } = {
    controller: null,
    reasons: [],
  }
  const stream = new ReadableStream({
    type: 'bytes',
    start(controller) {
      opened.controller = controller
    },
    cancel(reason) {
      opened.reasons.push(reason)
    },
  })
  const { controller, reasons } = opened
  if (controller === null) throw new Error('It was not started')
  return { stream, controller, reasons }
}

interface ReaderLike {
  read(): PromiseLike<{ readonly done: boolean; readonly value?: unknown }>
  cancel(reason: unknown): PromiseLike<void>
}

function toReader(content: unknown): ReaderLike {
  return (content as { getReader(): ReaderLike }).getReader()
}

/** The rest of the stream, as text. */
async function readAll(content: unknown): Promise<string> {
  const reader = toReader(content)
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text
    text += new TextDecoder().decode(value as Uint8Array)
  }
}

function toStream(body: NonNullable<RequestInit['body']>): ReadableStreamLike {
  const { body: stream } = new Request('http://a/', { method: 'POST', body, duplex: 'half' })
  if (stream === null) throw new Error('It has no body')
  return stream
}

describe('when the whole body is in memory', () => {
  it.each<[string, () => NonNullable<RequestInit['body']>, string]>([
    ['a string', () => 'text', 'text'],
    ['an empty string', () => '', ''],
    ['bytes', () => toBytes('bytes'), 'bytes'],
    ['parameters', () => new URLSearchParams({ a: 'b' }), 'a=b'],
    ['a Blob', () => new Blob(['a blob']), 'a blob'],
    ['a Blob of parts', () => new Blob(['a', 'blob', new Blob(['of', 'parts'])]), 'ablobofparts'],
    ['a large Blob', () => new Blob(['x'.repeat(500_000)]), 'x'.repeat(500_000)],
    ['a string beyond what is held in pieces', () => 'x'.repeat(9_000_000), 'x'.repeat(9_000_000)],
  ])('reads %s before anything is sent', async (_what, toBody, expected) => {
    const { content, hasSource, contentType } = await lookAhead(toStream(toBody()))
    if (!(content instanceof Uint8Array)) throw new Error('It was not read')
    expect(Buffer.from(content).toString() === expected).toBe(true)
    expect([hasSource, contentType]).toEqual([true, null])
  })

  it('reads a form with a file', async () => {
    const form = new FormData()
    form.append('name', 'value')
    form.append('file', new File(['content'], 'name'))
    const { content, hasSource } = await lookAhead(toStream(form))
    if (!(content instanceof Uint8Array)) throw new Error('It was not read')
    expect(hasSource).toBe(true)
    expect(Buffer.from(content).toString()).toContain('content')
  })
})

describe('when part of the body is not there yet', () => {
  it('gives what is there, and then what comes, in order', async () => {
    const { stream, controller } = openBytes()
    controller.enqueue(toBytes('one '))
    controller.enqueue(toBytes('two '))
    const { content, hasSource } = await lookAhead(stream)
    expect(hasSource).toBe(false)
    const read = readAll(content)
    controller.enqueue(toBytes('three'))
    controller.close()
    expect(await read).toBe('one two three')
  })

  it('locks the stream', async () => {
    const { stream } = openBytes()
    const looked = lookAhead(stream)
    expect(stream.locked).toBe(true)
    const { content } = await looked
    expect(() => stream.getReader()).toThrow(TypeError)
    expect((content as ReadableStreamLike).locked).toBe(false)
  })

  it('passes on an error of the stream, at any time', async () => {
    const { stream, controller } = openBytes()
    const { content } = await lookAhead(stream)
    const error = new Error('broken')
    controller.error(error)
    await nextTurn()
    await expect(toReader(content).read()).rejects.toBe(error)
  })

  it('passes on a cancellation', async () => {
    const { stream, reasons } = openBytes()
    const { content } = await lookAhead(stream)
    await toReader(content).cancel('enough')
    expect(reasons).toEqual(['enough'])
  })

  it('buffers only part of a body without end', async () => {
    let size = 0
    const stream = new ReadableStream({
      type: 'bytes',
      pull(controller) {
        size += 1_000_000
        controller.enqueue(new Uint8Array(1_000_000))
      },
    })
    const { content, hasSource } = await lookAhead(stream)
    expect(hasSource).toBe(false)
    expect(size).toBeLessThan(12_000_000)
    const reader = toReader(content)
    for (let i = 0; i < 20; i++) expect((await reader.read()).value).toHaveLength(1_000_000)
    await reader.cancel(null)
  })
})

describe('when the stream is not a byte stream', () => {
  it('leaves it to the dispatcher, even if all of it is there', async () => {
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(toBytes('one'))
        controller.close()
      },
    })
    const { content, hasSource } = await lookAhead(stream)
    expect(hasSource).toBe(false)
    expect(await readAll(content)).toBe('one')
  })

  it.each([['text'], [5], [null], [new ArrayBuffer(1)]])('refuses a chunk %j', async (chunk) => {
    const stream = new ReadableStream({ start: (controller) => controller.enqueue(chunk) })
    const { content } = await lookAhead(stream)
    await expect(toReader(content).read()).rejects.toThrow(/Uint8Array/)
  })

  it('throws the error of a byte stream that fails', async () => {
    const { stream, controller } = openBytes()
    const error = new Error('broken')
    controller.error(error)
    await expect(lookAhead(stream)).rejects.toBe(error)
  })
})
