import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  ChunkReadable,
  IteratorSource,
  PartsSource,
  ReaderSource,
  toBytes,
  toChunk,
} from '../../../src/request/chunk-source.ts'

/** Opens a generator that gets at its own stream, as one does that aborts its own request. */
function open(toIterator: (self: () => ChunkReadable) => Iterator<unknown> | AsyncIterator<unknown>) {
  const made: ChunkReadable[] = []
  const readable: ChunkReadable = new ChunkReadable(
    new IteratorSource(
      toIterator(() => {
        const [self] = made
        if (self === undefined) throw new Error('It runs before it was opened')
        return self
      }),
    ),
  )
  made.push(readable)
  const errors: Error[] = []
  readable.on('error', (error) => errors.push(error))
  return { readable, errors }
}

async function read(readable: ChunkReadable): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of readable) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

describe('the pieces of an iterator', () => {
  it('are copied, unless they are large, or eight of them had memory of their own', async () => {
    const large = Buffer.alloc(4_194_305)
    const pieces = [large, ...Array.from({ length: 9 }, () => Buffer.alloc(10))]
    const chunks = await new ChunkReadable(new IteratorSource(pieces.values())).toArray()
    expect(chunks.map((chunk, i) => chunk === pieces[i])).toEqual([true, ...Array(8).fill(false), true])
  })

  it('are all copied once two have shared memory', async () => {
    const memory = Buffer.alloc(30)
    const own = Array.from({ length: 9 }, () => Buffer.alloc(10))
    const shared = [memory.subarray(0, 20), memory.subarray(19)]
    const pieces = [...own, ...shared, ...own]
    const chunks = await new ChunkReadable(new IteratorSource(pieces.values())).toArray()
    const passedOn = chunks.flatMap((chunk, i) => (chunk === pieces[i] ? [i] : []))
    expect(passedOn).toEqual([8, 9])
  })

  it('of a list are passed on', async () => {
    const pieces = [Buffer.alloc(10)]
    const chunks = await new ChunkReadable(new IteratorSource(pieces.values(), false)).toArray()
    expect(chunks[0]).toBe(pieces[0])
  })
})

describe('toBytes', () => {
  it.each<[string, unknown, number[]]>([
    ['a string, as UTF-8', 'é', [0xc3, 0xa9]],
    ['a Buffer', Buffer.from([1, 2]), [1, 2]],
    ['a view, and just what it covers', new Uint16Array(new Uint8Array([1, 2, 3, 4]).buffer, 2, 1), [3, 4]],
    ['an ArrayBuffer', new Uint8Array([1, 2]).buffer, [1, 2]],
    ['a SharedArrayBuffer', new SharedArrayBuffer(1), [0]],
  ])('gives the bytes of %s', (_kind, value, bytes) => {
    expect([...(toBytes(value) ?? [])]).toEqual(bytes)
    expect([...toChunk(value)]).toEqual(bytes)
  })

  it('does not copy them', () => {
    const bytes = new Uint8Array(2)
    expect(toBytes(bytes)).toBe(bytes)
    expect(toBytes(bytes.buffer)?.buffer).toBe(bytes.buffer)
  })

  it.each([null, undefined, 1, true, {}, [1]])('gives nothing of anything else: %j', (value) => {
    expect(toBytes(value)).toBeNull()
    expect(() => toChunk(value)).toThrow(TypeError)
    expect(() => toChunk(value)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }))
    expect(() => toChunk(value)).toThrow(
      /^Invalid chunk of the request body: got .+, expected a string or bytes$/,
    )
  })
})

describe('IteratorSource', () => {
  describe('when it is stopped', () => {
    it('tells the iterator, once', () => {
      let returns = 0
      const source = new IteratorSource({
        next: () => ({ done: false, value: 'a' }),
        return: () => ({ done: true, value: ++returns }),
      })
      source.next()
      source.stop()
      source.stop()
      expect(returns).toBe(1)
    })

    it('does without an iterator that wants to hear nothing', () => {
      const source = new IteratorSource(['a'].values())
      expect(() => source.stop()).not.toThrow()
    })

    it('takes no notice of what it throws', () => {
      const source = new IteratorSource({
        next: () => ({ done: false, value: 'a' }),
        return: () => {
          throw new Error('It does not want to end')
        },
      })
      expect(() => source.stop()).not.toThrow()
    })

    it('takes no notice of what it rejects with', async () => {
      const source = new IteratorSource({
        next: async () => ({ done: false, value: 'a' }),
        return: () => Promise.reject(new Error('It does not want to end')),
      })
      source.stop()
      // An unhandled rejection would end the run.
      await setImmediate()
      expect(() => source.stop()).not.toThrow()
    })
  })

  describe('when it is stopped from inside the iterator', () => {
    it('tells it too when it throws then', () => {
      const told: string[] = []
      const source: IteratorSource = new IteratorSource({
        next: () => {
          source.stop()
          throw new Error('It broke')
        },
        return: () => {
          told.push('returns')
          return { done: true, value: undefined }
        },
      })
      expect(() => source.next()).toThrow('It broke')
      expect(told).toEqual(['returns'])
    })
  })
})

describe('ReaderSource', () => {
  it('cancels it once, with the reason, also while a read is pending', async () => {
    const cancelled: unknown[] = []
    const source = new ReaderSource(new ReadableStream({ cancel: (reason) => void cancelled.push(reason) }))
    const reason = new Error('enough')
    const pending = source.next()
    source.stop(reason)
    source.stop(new Error('again'))
    await setImmediate()
    expect(cancelled).toEqual([reason])
    expect(await pending).toMatchObject({ done: true })
  })
})

describe('PartsSource', () => {
  it('gives bytes and blobs one after another, empty ones too', async () => {
    const parts = [Buffer.from('a'), new Blob(['bc', 'd']), new Blob([]), Buffer.alloc(0), Buffer.from('e')]
    expect(await read(new ChunkReadable(new PartsSource(parts)))).toBe('abcde')
  })

  it('releases the blob that is being read, and opens no other', async () => {
    const told: string[] = []
    const toBlob = (name: string) => ({
      size: 1,
      type: '',
      stream: () => {
        told.push(`opens ${name}`)
        return new ReadableStream({ cancel: () => void told.push(`cancels ${name}`) })
      },
    })
    const source = new PartsSource([toBlob('a'), toBlob('b')])
    const pending = source.next()
    source.stop(null)
    expect(await pending).toMatchObject({ done: true })
    expect(told).toEqual(['opens a', 'cancels a'])
  })
})

describe('ChunkReadable', () => {
  describe('when its reader is slow', () => {
    it('asks for one piece at a time', async () => {
      let asked = 0
      const { readable } = open(function* () {
        for (;;) yield String(++asked)
      })
      expect(asked).toBe(0)
      readable.read(0)
      await setImmediate()
      expect(asked).toBe(1)
      readable.destroy()
    })

    it('does not ask again while a piece is on its way', async () => {
      let running = 0
      let most = 0
      const { readable } = open(async function* () {
        for (let i = 0; i < 3; i++) {
          most = Math.max(most, ++running)
          await setImmediate()
          running--
          yield 'a'
        }
      })
      expect(await read(readable)).toBe('aaa')
      expect(most).toBe(1)
    })
  })

  describe('when its source throws', () => {
    it.each<[string, () => Iterator<unknown> | AsyncIterator<unknown>]>([
      [
        'a generator',
        // biome-ignore lint/correctness/useYield: it throws before it has anything to give.
        function* () {
          throw new Error('The file is gone')
        },
      ],
      [
        'an async generator',
        // biome-ignore lint/correctness/useYield: likewise.
        async function* () {
          throw new Error('The file is gone')
        },
      ],
    ])('breaks with that error: %s', async (_kind, toIterator) => {
      const { readable, errors } = open(toIterator)
      await expect(read(readable)).rejects.toThrow('The file is gone')
      expect(errors).toEqual([new Error('The file is gone')])
    })

    it('breaks with an Error, whatever was thrown', async () => {
      // biome-ignore lint/correctness/useYield: it throws before it has anything to give.
      const { readable } = open(function* () {
        throw 'oops'
      })
      await expect(read(readable)).rejects.toThrow('oops')
    })
  })

  describe('when a generator aborts its own request', () => {
    const reason = new Error('enough')

    it('is told to return after it has yielded, when it is async', async () => {
      const told: string[] = []
      const { readable, errors } = open(async function* (self) {
        try {
          yield 'a'
          await setImmediate()
          self().destroy(reason)
          told.push('goes on')
          yield 'b'
          told.push('is asked for more')
        } finally {
          told.push('ends')
        }
      })
      const chunks: unknown[] = []
      readable.on('data', (chunk) => chunks.push(chunk))
      while (!told.includes('ends')) await setImmediate()
      expect(told).toEqual(['goes on', 'ends'])
      expect(chunks).toEqual([Buffer.from('a')])
      expect(errors).toEqual([reason])
    })

    it('breaks with the reason, and not with what it throws then', async () => {
      // biome-ignore lint/correctness/useYield: it throws before it has anything to give.
      const { readable, errors } = open(function* (self) {
        self().destroy(reason)
        throw new Error('too late')
      })
      readable.resume()
      await setImmediate()
      expect(errors).toEqual([reason])
    })
  })
})
