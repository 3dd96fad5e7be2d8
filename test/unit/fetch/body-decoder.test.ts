import { setImmediate } from 'node:timers/promises'
import zlib from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { ResponseExceededMaxSizeError } from '../../../src/errors/errors.ts'
import { BodyDecoder } from '../../../src/fetch/body-decoder.ts'
import type { Coding } from '../../../src/fetch/coding-layer.ts'
import { decode, encodeAll, formats, noise, quiesce, Sink, text, toBytes } from './decode-support.ts'

function open(codings: readonly Coding[], maxSize = -1) {
  const sink = new Sink()
  const decoder = new BodyDecoder(codings, maxSize, sink)
  // A reader waits.
  decoder.resume()
  return { sink, decoder }
}

/** The events by the time that the end has come, in the same turn. */
function decodeNow(codings: readonly Coding[], chunks: readonly Buffer[], maxSize = -1) {
  const { sink, decoder } = open(codings, maxSize)
  for (const chunk of chunks) expect(decoder.write(chunk)).toBe(true)
  decoder.end()
  const { chunks: given, events } = sink
  return { chunks: given, events: [...events], text: sink.text, sink }
}

const WITHOUT_ZSTD = formats.filter(([, coding]) => coding !== 'zstd')

describe('BodyDecoder', () => {
  describe.each(
    WITHOUT_ZSTD,
  )('when a small body in %s comes in the same turn as its end', (_name, coding, encode) => {
    const encoded = encode(Buffer.from(text))

    test('decodes it at once', () => {
      const { text: given, events } = decodeNow([coding], [encoded])
      expect(given).toBe(text)
      expect(events).toEqual(['end'])
    })

    test('gives it as one piece, however it was split', () => {
      const { text: given, events, chunks } = decodeNow([coding], toBytes(encoded))
      expect(given).toBe(text)
      expect(events).toEqual(['end'])
      expect(chunks).toHaveLength(1)
    })

    test('treats a truncated body as a Decoder does', async () => {
      const cut = encoded.subarray(0, encoded.length - 9)
      const { sink } = decodeNow([coding], [cut])
      const expected = await decode([coding], [cut])
      await sink.until(() => sink.events.length + sink.errors.length > 0)
      expect({ text: sink.text, told: sink.events }).toEqual({ text: expected.text, told: expected.told })
    })
  })

  describe('when there are several codings', () => {
    test('decodes all of them at once', () => {
      const codings: Coding[] = ['br', 'gzip', 'deflate']
      expect(decodeNow(codings, [encodeAll(codings, Buffer.from(text))]).text).toBe(text)
    })
  })

  describe('when the end comes in a later turn', () => {
    test('decodes the data that has come', async () => {
      const { sink, decoder } = open(['gzip'])
      // All of the body; the coded data continues.
      decoder.write(zlib.gzipSync(text, { finishFlush: zlib.constants.Z_SYNC_FLUSH }))
      await sink.until(() => sink.size > 0)
      expect(sink.text).toBe(text)
      expect(sink.events).toEqual([])
      decoder.destroy()
    })

    test('continues with the data that comes later', async () => {
      const { sink, decoder } = open(['gzip'])
      const encoded = zlib.gzipSync(text)
      decoder.write(encoded.subarray(0, 20))
      await setImmediate()
      decoder.write(encoded.subarray(20))
      decoder.end()
      await sink.untilTold('end')
      expect(sink.text).toBe(text)
    })
  })

  describe('when the body exceeds the buffer', () => {
    test('decodes it as it comes', async () => {
      const { sink, decoder } = open(['gzip'])
      const encoded = zlib.gzipSync(noise)
      decoder.write(encoded.subarray(0, 4000))
      expect(decoder.write(encoded.subarray(4000))).toBe(false)
      decoder.end()
      await sink.untilTold('end')
      expect(Buffer.concat(sink.chunks).equals(noise)).toBe(true)
      expect(sink.events.at(-1)).toBe('end')
    })

    test('decodes a small body with a large result later, in pieces', async () => {
      const zeros = Buffer.alloc(200_000)
      const { sink, events } = decodeNow(['gzip'], [zlib.gzipSync(zeros)])
      expect(events).toEqual([])
      await sink.untilTold('end')
      expect(sink.size).toBe(zeros.length)
      expect(Math.max(...sink.chunks.map((chunk) => chunk.length))).toBeLessThan(zeros.length)
    })
  })

  describe('when the body is invalid or too large', () => {
    test('reports the error that a Decoder reports for invalid data', async () => {
      const bad = Buffer.from('this is no gzip')
      const { sink } = decodeNow(['gzip'], [bad])
      await sink.untilTold('error')
      const { error } = await decode(['gzip'], [bad])
      expect(sink.errors).toEqual([error])
    })

    test.each([0, 1, text.length - 1])('enforces its limit of %i bytes', async (maxSize) => {
      const { sink } = decodeNow(['gzip'], [zlib.gzipSync(text)], maxSize)
      await sink.untilTold('error')
      expect(sink.errors[0]).toBeInstanceOf(ResponseExceededMaxSizeError)
      expect(sink.size).toBe(0)
    })

    test('accepts a body of exactly as many bytes', () => {
      expect(decodeNow(['gzip'], [zlib.gzipSync(text)], Buffer.byteLength(text)).text).toBe(text)
    })
  })

  describe('when the body has no bytes', () => {
    test.each(formats)('ends as an empty body in %s', async (_name, coding) => {
      const { sink } = decodeNow([coding], [])
      await sink.untilTold('end')
      expect(sink.size).toBe(0)
    })
  })

  describe('when it is destroyed', () => {
    test('emits nothing of the data that it holds', async () => {
      const gunzip = vi.spyOn(zlib, 'createGunzip')
      const { sink, decoder } = open(['gzip'])
      decoder.write(zlib.gzipSync(text))
      decoder.destroy()
      decoder.end()
      await quiesce()
      expect(sink.events).toEqual([])
      expect(sink.size).toBe(0)
      expect(gunzip).not.toHaveBeenCalled()
      gunzip.mockRestore()
    })
  })
})
