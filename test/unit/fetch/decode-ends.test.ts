import zlib from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { ResponseExceededMaxSizeError } from '../../../src/errors/errors.ts'
import type { Coding } from '../../../src/fetch/coding-layer.ts'
import type { Decoder } from '../../../src/fetch/decode.ts'
import type { Encode, Sink } from './decode-support.ts'
import { cut, decode, formats, noise, open, quiesce, text, toBytes, zstd } from './decode-support.ts'

describe('Decoder', () => {
  describe('when data follows the end of the coded data', () => {
    test.each<[string, Coding, Encode]>([
      ...formats.slice(0, 1),
      ...zstd,
    ])('decodes what follows %s', async (_name, coding, encode) => {
      const parts = [text, '', 'two', 'three'].map((part) => encode(Buffer.from(part)))
      const expected = { text: `${text}twothree`, told: ['end'], error: undefined }
      const whole = Buffer.concat(parts)
      const pieces = [60, 100].map((length) => cut(whole, length))
      for (const chunks of [parts, [whole], toBytes(whole), ...pieces]) {
        expect(await decode([coding], chunks)).toEqual(expected)
      }
    })

    test.each(zstd)('skips skippable frames: %s', async (_name, coding, encode) => {
      // RFC 8878 §3.1.2
      const skipped = Buffer.from('5a2a4d1803000000616263', 'hex')
      const whole = Buffer.concat([skipped, encode(Buffer.from(text)), skipped, skipped, encode(noise)])
      const { text: decoded, told } = await decode([coding], [whole])
      expect(told).toEqual(['end'])
      expect(decoded).toBe(text + noise.toString())
    })

    test.each(zstd)('accepts more data when what follows is short: %s', async (_name, coding, encode) => {
      const { sink, decoder } = open([coding])
      expect(decoder.write(Buffer.concat([encode(noise), encode(Buffer.from(text))]))).toBe(false)
      await sink.untilTold('drain')
      expect(decoder.write(encode(Buffer.from(text)))).toBe(true)
      decoder.end()
      await sink.untilTold('end')
      expect(sink.size).toBe(noise.length + 2 * Buffer.byteLength(text))
    })

    test('emits no drain when no writer waits for one', async () => {
      const { sink, decoder } = open(['br'])
      expect(decoder.write(Buffer.concat([zlib.brotliCompressSync(text), Buffer.alloc(9)]))).toBe(true)
      await sink.until(() => sink.text === text)
      await quiesce()
      expect(decoder.write(noise)).toBe(true)
      decoder.end()
      expect(sink.events).toEqual(['end'])
    })

    test('accepts and drops the rest when it follows in an inner coding', async () => {
      const spy = vi.spyOn(zlib, 'createGunzip')
      const { sink, decoder } = open(['gzip', 'br'])
      const inner = Buffer.concat([zlib.brotliCompressSync(text), noise, Buffer.alloc(64 * 1024 * 1024)])
      expect(decoder.write(zlib.gzipSync(inner))).toBe(false)
      await sink.untilTold('drain')
      expect(sink.text).toBe(text)
      expect(spy.mock.results[0]?.value.destroyed).toBe(true)
      expect(decoder.write(noise)).toBe(true)
      decoder.end()
      expect(sink.events).toEqual(['drain', 'end'])
      spy.mockRestore()
    })

    test('fails for data after gzip, except zeros', async () => {
      const encoded = zlib.gzipSync(text)
      expect((await decode(['gzip'], [encoded, Buffer.from('rest')])).told).toEqual(['error'])
      for (const chunks of [[Buffer.concat([encoded, Buffer.alloc(9)])], [encoded, Buffer.alloc(9)]]) {
        expect(await decode(['gzip'], chunks)).toEqual({ text, told: ['end'], error: undefined })
      }
    })

    test.each(formats.slice(1, 4))('drops data after %s, of any size', async (_name, coding, encode) => {
      const { sink, decoder } = open([coding, 'gzip'])
      const inner = zlib.gzipSync(text)
      expect(decoder.write(Buffer.concat([encode(inner), noise]))).toBe(false)
      await sink.untilTold('drain')
      await sink.until(() => sink.text === text)
      await quiesce()
      expect(sink.events).toEqual(['drain'])
      expect(decoder.write(noise)).toBe(true)
      decoder.end()
      await sink.untilTold('end')
      expect(sink.events).toEqual(['drain', 'end'])
    })
  })

  describe('when the decoded size is limited', () => {
    const zeros = Buffer.alloc(64 * 1024 * 1024)
    const bomb = zlib.gzipSync(zeros)

    test('accepts as many bytes, and fails at one more', async () => {
      const chunks = [zlib.gzipSync(noise)]
      expect(await decode(['gzip'], chunks, noise.length)).toMatchObject({ told: ['end'] })
      const body = await decode(['gzip'], chunks, noise.length - 1)
      expect(body).toMatchObject({ told: ['error'], error: expect.any(ResponseExceededMaxSizeError) })
      expect(await decode(['gzip'], [zlib.gzipSync('')], 0)).toMatchObject({ told: ['end'] })
      expect(await decode(['gzip'], [zlib.gzipSync('a')], 0)).toMatchObject({ text: '', told: ['error'] })
    })

    test.each<[Coding[], Buffer]>([
      [['gzip'], bomb],
      [['gzip', 'gzip'], zlib.gzipSync(bomb)],
    ])('stops a decompression bomb at the limit: %j', async (codings, encoded) => {
      const spy = vi.spyOn(zlib, 'createGunzip')
      const before = process.memoryUsage().arrayBuffers
      const { sink, decoder } = open(codings, 100_000)
      decoder.write(encoded)
      decoder.end()
      await sink.untilTold('error')
      expect(sink.errors[0]).toBeInstanceOf(ResponseExceededMaxSizeError)
      expect(sink.size).toBeLessThanOrEqual(100_000)
      const engines = spy.mock.results.map(({ value }) => value)
      expect(engines.map(({ destroyed }) => destroyed)).toEqual(codings.map(() => true))
      await quiesce()
      expect(sink.events).toEqual(['error'])
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * 1024 * 1024)
      spy.mockRestore()
    })

    test('without a limit, stops decoding a bomb while the sink has no room', async () => {
      const before = process.memoryUsage().arrayBuffers
      const { sink, decoder } = open(['gzip', 'gzip'])
      sink.room = 1
      decoder.write(zlib.gzipSync(bomb))
      decoder.end()
      await sink.until(() => sink.chunks.length === 1)
      for (let i = 0; i < 10; i++) await quiesce()
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * 1024 * 1024)
      decoder.destroy()
    })
  })

  describe('when it is destroyed', () => {
    const stages: Record<string, (sink: Sink, decoder: Decoder, encoded: Buffer) => unknown> = {
      'before anything': () => {},
      'in the middle of a write': (_sink, decoder, encoded) => void decoder.write(encoded),
      'in the middle of the end': (_sink, decoder, encoded) => {
        decoder.write(encoded)
        decoder.end()
      },
      'between two writes': async (_sink, decoder, encoded) => {
        decoder.write(encoded.subarray(0, 20))
        await quiesce()
      },
      'with pieces held back': async (sink, decoder, encoded) => {
        sink.room = 1
        decoder.write(encoded)
        await sink.until(() => sink.chunks.length === 1)
      },
      'by the one who gets a piece': async (sink, decoder, encoded) => {
        sink.onChunk = () => decoder.destroy()
        decoder.write(encoded)
        await sink.until(() => sink.chunks.length === 1)
      },
      'when something has followed the coded data': async (_sink, decoder, encoded) => {
        decoder.write(Buffer.concat([encoded, Buffer.alloc(9)]))
        await quiesce()
      },
      'when bad data is on its way': (_sink, decoder) => void decoder.write(Buffer.alloc(99, 0xff)),
      'when it has failed': async (sink, decoder) => {
        decoder.write(Buffer.alloc(99, 0xff))
        await sink.untilTold('error')
      },
      'when it has ended': async (sink, decoder, encoded) => {
        decoder.write(encoded)
        decoder.end()
        await sink.untilTold('end')
      },
    }

    describe.each(Object.entries(stages))('%s', (_stage, prepare) => {
      test.each(formats)('emits nothing afterwards: %s', async (_name, coding, encode) => {
        const { sink, decoder } = open([coding, 'gzip'])
        await prepare(sink, decoder, encode(zlib.gzipSync(noise)))
        const told = [...sink.events]
        const { length } = sink.chunks
        decoder.destroy()
        decoder.destroy()
        expect(decoder.write(noise)).toBe(true)
        decoder.resume()
        decoder.end()
        await quiesce()
        expect(sink.events).toEqual(told)
        expect(sink.chunks).toHaveLength(length)
      })
    })
  })
})
