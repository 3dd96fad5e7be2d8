import { File } from 'node:buffer'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { RequestAbortedError } from '../../../src/errors/errors.ts'
import { toBodySource } from '../../../src/request/body.ts'
import type { StreamBody } from '../../../src/request/body-source.ts'

function toStream(body: unknown): StreamBody {
  const source = toBodySource(body)
  if (source.kind !== 'stream') throw new Error(`Made a body of kind ${source.kind}`)
  return source
}

async function read(source: StreamBody): Promise<string> {
  return (await buffer(source.open())).toString()
}

/** What an iterator heard. */
function toIterable(pieces: unknown[]) {
  const told: string[] = []
  const rest = [...pieces]
  const iterator = {
    next: () => {
      told.push('next')
      return rest.length === 0 ? { done: true, value: undefined } : { done: false, value: rest.shift() }
    },
    return: () => {
      told.push('return')
      return { done: true, value: undefined }
    },
  }
  return { told, iterable: { [Symbol.iterator]: () => iterator } }
}

describe('toBodySource', () => {
  describe('when the body is a Blob', () => {
    it('has its length and its type, and can be sent again', () => {
      const source = toStream(new Blob(['aé'], { type: 'text/plain;charset=utf-8' }))
      expect(source).toMatchObject({ length: 3, replayable: true, contentType: 'text/plain;charset=utf-8' })
    })

    it('has no type where the Blob has none', () => {
      expect(toStream(new Blob(['a'])).contentType).toBeNull()
    })

    it.each([
      ['a Blob', new Blob(['abc', 'def']), 'abcdef'],
      ['a slice of one', new Blob(['abcdef']).slice(2, 4), 'cd'],
      ['a File', new File(['abc'], 'a.txt'), 'abc'],
    ])('gives its bytes anew for each attempt: %s', async (_kind, blob, text) => {
      const source = toStream(blob)
      expect(await read(source)).toBe(text)
      expect(await read(source)).toBe(text)
    })

    it('takes anything that has what is used of one', async () => {
      const like = { size: 3, type: 'a/b', stream: () => new Blob(['abc']).stream() }
      const source = toStream(like)
      expect(source).toMatchObject({ length: 3, replayable: true, contentType: 'a/b' })
      expect(await read(source)).toBe('abc')
    })

    it('reads it from the start after an attempt that read a part', async () => {
      const source = toStream(new Blob(['x'.repeat(200_000)]))
      const first = source.open()
      for await (const _chunk of first) break
      source.destroy(null)
      expect((await read(source)).length).toBe(200_000)
    })

    it('releases the source that an attempt has opened', async () => {
      const cancelled: unknown[] = []
      const stream = () => new ReadableStream({ cancel: (reason) => void cancelled.push(reason) })
      const source = toStream({ size: 3, type: '', stream })
      const error = new Error('enough')
      const opened = source.open()
      opened.on('data', () => {})
      opened.read()
      source.destroy(error)
      expect(opened.destroyed).toBe(true)
      await setImmediate()
      expect(cancelled).toEqual([error])
    })
  })

  describe('when the body is a FormData', () => {
    it('is multipart of a known length, the same for each attempt', async () => {
      const form = new FormData()
      form.append('a', '1')
      form.append('b', new File(['xyz'], 'b.txt', { type: 'text/plain' }))
      const source = toStream(form)
      expect(source.replayable).toBe(true)
      expect(source.contentType).toMatch(/^multipart\/form-data; boundary=\S+$/)
      const first = await read(source)
      expect(Buffer.byteLength(first)).toBe(source.length)
      expect(await read(source)).toBe(first)
    })

    it('is what it was when the request was made', async () => {
      const form = new FormData()
      form.append('a', '1')
      const source = toStream(form)
      form.append('b', '2')
      expect(await read(source)).not.toContain('name="b"')
    })
  })

  describe('when the body is a URLSearchParams', () => {
    it('is its bytes, with a type', () => {
      const source = toBodySource(new URLSearchParams({ a: '1 2', b: 'é' }))
      expect(source).toMatchObject({
        kind: 'bytes',
        length: 14,
        replayable: true,
        contentType: 'application/x-www-form-urlencoded;charset=UTF-8',
      })
      expect(source.kind === 'bytes' && Buffer.from(source.bytes).toString()).toBe('a=1+2&b=%C3%A9')
    })
  })

  describe('when the body is an iterable', () => {
    const iterables: [string, () => unknown][] = [
      ['an array', () => ['ab', Buffer.from('c'), new Uint8Array([0x64]).buffer, '']],
      ['a Set', () => new Set(['ab', 'cd'])],
      [
        'a generator',
        function* () {
          yield 'abc'
          yield 'd'
        },
      ],
      [
        'an async generator',
        async function* () {
          yield 'abc'
          await setImmediate()
          yield 'd'
        },
      ],
      [
        'an iterator of promises',
        () => ({
          [Symbol.asyncIterator]: () => ['abcd'].values(),
        }),
      ],
    ]
    it.each(iterables)('gives its pieces, once, of unknown length: %s', async (_kind, toBody) => {
      const source = toStream(toBody())
      expect(source).toMatchObject({ length: null, replayable: false, contentType: null })
      expect(await read(source)).toBe('abcd')
      expect(() => source.open()).toThrow(RequestAbortedError)
    })

    it('asks it for nothing before it is opened', () => {
      const { told, iterable } = toIterable(['a'])
      const source = toStream(iterable)
      source.destroy(null)
      expect(told).toEqual([])
    })

    it('can not be opened once it is destroyed', () => {
      const source = toStream(['a'])
      source.destroy(null)
      expect(() => source.open()).toThrow('The request body was already read or destroyed')
    })

    it('tells it when the rest isn’t needed', () => {
      const { told, iterable } = toIterable(['a', 'b', 'c', 'd'])
      const source = toStream(iterable)
      source.open().read()
      source.destroy(new Error('enough'))
      source.destroy(null)
      expect(told.at(-1)).toBe('return')
      expect(told.filter((what) => what === 'return')).toHaveLength(1)
    })

    it('does not tell it at its end', async () => {
      const { told, iterable } = toIterable(['a', 'b'])
      expect(await read(toStream(iterable))).toBe('ab')
      expect(told).toEqual(['next', 'next', 'next'])
    })

    it('breaks at a piece that is none', async () => {
      const source = toStream([1])
      const broken: Error[] = []
      source.watch((error) => broken.push(error))
      await expect(read(source)).rejects.toThrow(TypeError)
      expect(broken.map(({ message }) => message)).toEqual([
        'Invalid chunk of the request body: got 1, expected a string or bytes',
      ])
    })
  })

  describe('when the body is a web stream', () => {
    it('gives its pieces, once, of unknown length', async () => {
      const source = toStream(new Response('abc').body)
      expect(source).toMatchObject({ length: null, replayable: false, contentType: null })
      expect(await read(source)).toBe('abc')
      expect(() => source.open()).toThrow(RequestAbortedError)
    })

    it('is not locked before it is opened', () => {
      const stream = new ReadableStream()
      const source = toStream(stream)
      expect(stream.locked).toBe(false)
      source.open().destroy()
      expect(stream.locked).toBe(true)
    })

    it('is released when it was never opened', () => {
      const cancelled: unknown[] = []
      const source = toStream(new ReadableStream({ cancel: (reason) => void cancelled.push(reason) }))
      const error = new Error('enough')
      source.destroy(error)
      source.destroy(null)
      expect(cancelled).toEqual([error])
      expect(() => source.open()).toThrow(RequestAbortedError)
    })

    it('is left alone when other code has locked it in the meantime', () => {
      const stream = new ReadableStream()
      const source = toStream(stream)
      stream.getReader()
      expect(() => source.destroy(new Error('enough'))).not.toThrow()
    })

    it('breaks with its own error', async () => {
      const error = new Error('The file is gone')
      const source = toStream(new ReadableStream({ pull: (controller) => controller.error(error) }))
      const broken: Error[] = []
      source.watch((thrown) => broken.push(thrown))
      await expect(read(source)).rejects.toBe(error)
      expect(broken).toEqual([error])
    })

    it.each<[string, () => ReadableStream]>([
      [
        'locked',
        () => {
          const stream = new ReadableStream()
          stream.getReader()
          return stream
        },
      ],
      [
        'read from',
        () => {
          const stream = new ReadableStream()
          const reader = stream.getReader()
          void reader.read()
          void reader.cancel()
          reader.releaseLock()
          return stream
        },
      ],
    ])('is refused when it is %s', (_how, make) => {
      expect(() => toBodySource(make())).toThrow(
        "Invalid body: got an object (ReadableStream), expected a ReadableStream that hasn't been read from or locked",
      )
    })
  })

  describe('when it is watched', () => {
    it('tells once of one that is destroyed without an error', async () => {
      const readable = new Readable({ read() {} })
      const source = toStream(readable)
      const broken: Error[] = []
      source.watch((error) => broken.push(error))
      readable.destroy()
      await setImmediate()
      expect(broken).toEqual([expect.any(RequestAbortedError)])
      expect(broken[0]?.message).toBe('The request body was destroyed before it ended')
    })

    it('tells nothing of an end', async () => {
      const source = toStream(Readable.from(['abc']))
      const broken: Error[] = []
      source.watch((error) => broken.push(error))
      await read(source)
      await setImmediate()
      expect(broken).toEqual([])
    })

    it('tells nothing of what it is destroyed with itself', async () => {
      const readable = new Readable({ read() {} })
      const source = toStream(readable)
      const broken: Error[] = []
      source.watch((error) => broken.push(error))
      source.destroy(new Error('enough'))
      await setImmediate()
      expect(readable.destroyed).toBe(true)
      expect(broken).toEqual([])
    })

    it('tells nothing of an attempt that is over', async () => {
      const source = toStream(new Blob(['abc']))
      const broken: Error[] = []
      source.watch((error) => broken.push(error))
      const first = source.open()
      const second = source.open()
      first.destroy(new Error('The first attempt failed'))
      await setImmediate()
      expect(broken).toEqual([])
      const error = new Error('The second too')
      second.destroy(error)
      await setImmediate()
      expect(broken).toEqual([error])
    })
  })
})
