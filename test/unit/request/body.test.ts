import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { InvalidArgumentError } from '../../../src/errors/errors.ts'
import { toBodySource } from '../../../src/request/body.ts'
import type { BytesBody, StreamBody } from '../../../src/request/body-source.ts'
import { NO_BODY } from '../../../src/request/body-source.ts'

function toBytes(body: unknown): BytesBody {
  const source = toBodySource(body)
  if (source.kind !== 'bytes') throw new Error(`Made a body of kind ${source.kind}`)
  return source
}

function toStream(body: unknown): StreamBody {
  const source = toBodySource(body)
  if (source.kind !== 'stream') throw new Error(`Made a body of kind ${source.kind}`)
  return source
}

describe('toBodySource', () => {
  describe('when there is no body', () => {
    it.each([null, undefined])('gives the one of all requests without: %s', (body) => {
      expect(toBodySource(body)).toBe(NO_BODY)
      expect(NO_BODY).toEqual({
        kind: 'none',
        length: 0,
        replayable: true,
        isSpent: false,
        contentType: null,
      })
      expect(Object.isFrozen(NO_BODY)).toBe(true)
    })
  })

  describe('when the body is empty', () => {
    it.each([
      ['a string', ''],
      ['a Buffer', Buffer.alloc(0)],
      ['an ArrayBuffer', new ArrayBuffer(0)],
      ['a view', new Uint16Array(new ArrayBuffer(8), 8, 0)],
      ['a Blob without a type', new Blob([])],
    ])('is none: %s', (_kind, body) => {
      expect(toBodySource(body)).toBe(NO_BODY)
    })

    it.each([
      ['a Blob', new Blob([], { type: 'text/csv' }), 'text/csv'],
      ['a URLSearchParams', new URLSearchParams(), 'application/x-www-form-urlencoded;charset=UTF-8'],
    ])('is none, with the type that it has: %s', (_kind, body, contentType) => {
      expect(toBodySource(body)).toEqual({ ...NO_BODY, contentType })
    })

    // Only its end will tell; and a form without entries has its last boundary.
    it.each([
      ['an array', []],
      ['a Readable', Readable.from([])],
      ['a FormData', new FormData()],
    ])('is one where that is not known, or not so: %s', (_kind, body) => {
      expect(toBodySource(body)).toMatchObject({ kind: 'stream' })
    })
  })

  describe('when the body is a string', () => {
    it.each([
      ['abc', [0x61, 0x62, 0x63]],
      ['é', [0xc3, 0xa9]],
      ['€', [0xe2, 0x82, 0xac]],
      ['\u{1f600}', [0xf0, 0x9f, 0x98, 0x80]],
    ])('gives it as UTF-8: %j', (text, bytes) => {
      const source = toBytes(text)
      expect([...source.bytes]).toEqual(bytes)
      expect(source.length).toBe(bytes.length)
      expect(source.replayable).toBe(true)
    })
  })

  describe('when the body is bytes', () => {
    // The bytes 0 to 15: what a view doesn't cover must not be sent.
    const { buffer: memory } = Uint8Array.from({ length: 16 }, (_, index) => index)
    const views: [string, ArrayBufferView | ArrayBuffer | SharedArrayBuffer, number[]][] = [
      ['a Buffer', Buffer.from(memory, 2, 3), [2, 3, 4]],
      ['a Uint8Array', new Uint8Array(memory, 5, 2), [5, 6]],
      ['an Int8Array', new Int8Array(memory, 1, 2), [1, 2]],
      ['a Uint8ClampedArray', new Uint8ClampedArray(memory, 7, 1), [7]],
      ['a Uint16Array', new Uint16Array(memory, 4, 2), [4, 5, 6, 7]],
      ['an Int32Array', new Int32Array(memory, 8, 1), [8, 9, 10, 11]],
      ['a Float64Array', new Float64Array(memory, 8, 1), [8, 9, 10, 11, 12, 13, 14, 15]],
      ['a BigInt64Array', new BigInt64Array(memory, 0, 1), [0, 1, 2, 3, 4, 5, 6, 7]],
      ['a DataView', new DataView(memory, 3, 4), [3, 4, 5, 6]],
      ['an ArrayBuffer', memory, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]],
      ['a SharedArrayBuffer', new SharedArrayBuffer(2), [0, 0]],
    ]

    it.each(views)('gives just those: %s', (_kind, body, bytes) => {
      const source = toBytes(body)
      expect([...source.bytes]).toEqual(bytes)
      expect(source.length).toBe(bytes.length)
      expect(source.replayable).toBe(true)
    })

    it('does not copy them', () => {
      const body = new Uint16Array(memory, 4, 2)
      expect(toBytes(body).bytes.buffer).toBe(memory)
      expect(toBytes(memory).bytes.buffer).toBe(memory)
    })
  })

  describe('when the body is a Readable', () => {
    it('gives the very stream, once, of unknown length', async () => {
      const readable = Readable.from([Buffer.from('ab'), Buffer.from('c')])
      const source = toStream(readable)
      expect(source).toMatchObject({ length: null, replayable: false })
      expect(source.open()).toBe(readable)
      expect((await buffer(source.open())).toString()).toBe('abc')
    })

    it('reads nothing by itself', async () => {
      let reads = 0
      const readable = new Readable({ read: () => void reads++ })
      toBodySource(readable)
      await setImmediate()
      expect(reads).toBe(0)
      expect(Readable.isDisturbed(readable)).toBe(false)
      readable.destroy()
    })

    it('ends it without an error', () => {
      const readable = new Readable({ read() {} })
      toStream(readable).destroy(null)
      expect(readable.destroyed).toBe(true)
      expect(readable.errored).toBeNull()
    })

    it('ends it once: the first error counts', () => {
      const readable = new Readable({ read() {} })
      const source = toStream(readable)
      const error = new Error('first')
      source.destroy(error)
      source.destroy(new Error('second'))
      source.destroy(null)
      expect(readable.errored).toBe(error)
    })
  })

  describe('when a Readable was touched already', () => {
    const accepted =
      /^Invalid body: got an object \(Readable\), expected a Readable that hasn't been read from/

    it('refuses one that was read to its end', async () => {
      const readable = Readable.from(['abc'])
      await buffer(readable)
      expect(() => toBodySource(readable)).toThrow(accepted)
    })

    it('refuses one that was read from', () => {
      const readable = new Readable({ read() {} })
      readable.push('abc')
      readable.read()
      expect(() => toBodySource(readable)).toThrow(accepted)
      readable.destroy()
    })

    it('refuses one that was destroyed', () => {
      const readable = new Readable({ read() {} }).destroy()
      expect(() => toBodySource(readable)).toThrow(accepted)
    })

    it('takes one that holds unread data', async () => {
      const readable = new Readable({ read() {} })
      readable.push('abc')
      readable.push(null)
      expect((await buffer(toStream(readable).open())).toString()).toBe('abc')
    })
  })

  describe('when a Readable breaks before it is read', () => {
    const uncaught: unknown[] = []

    // The runner's own listener would end the run, and not this test.
    beforeEach(() => {
      uncaught.length = 0
      process.setUncaughtExceptionCaptureCallback((error) => uncaught.push(error))
    })
    afterEach(() => {
      process.setUncaughtExceptionCaptureCallback(null)
    })

    it('keeps the error for who opens it', async () => {
      const readable = new Readable({ read() {} })
      const error = new Error('The file is gone')
      const source = toStream(readable)
      readable.destroy(error)
      await setImmediate()
      expect(uncaught).toEqual([])
      expect(source.open().errored).toBe(error)
    })

    it('would be uncaught otherwise', async () => {
      const error = new Error('The file is gone')
      new Readable({ read() {} }).destroy(error)
      await setImmediate()
      expect(uncaught).toEqual([error])
    })
  })

  describe('when the body is anything else', () => {
    it.each([
      ['a number', 1, 'got 1'],
      ['true', true, 'got true'],
      ['a symbol', Symbol('s'), 'got Symbol(s)'],
      ['an object', { a: 1 }, 'got an object (Object)'],
      ['an object without a prototype', Object.create(null), 'got an object'],
      ['a promise', Promise.resolve('abc'), 'got an object (Promise)'],
    ])('refuses it: %s', (_kind, body, got) => {
      expect(() => toBodySource(body)).toThrow(InvalidArgumentError)
      expect(() => toBodySource(body)).toThrow(`Invalid body: ${got}`)
      expect(() => toBodySource(body)).toThrow(
        /expected a string, .*a Blob, .*an iterable or async iterable, a function that returns one of these, or null$/,
      )
    })
  })
})
