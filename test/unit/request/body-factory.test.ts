import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { InvalidArgumentError, InvalidReturnValueError } from '../../../src/errors/errors.ts'
import { toBodySource } from '../../../src/request/body.ts'
import type { FactoryBody } from '../../../src/request/body-source.ts'
import { NO_BODY } from '../../../src/request/body-source.ts'

function toFactory(make: () => unknown): FactoryBody {
  const source = toBodySource(make)
  if (source.kind !== 'factory') throw new Error(`Made a body of kind ${source.kind}`)
  return source
}

describe('toBodySource', () => {
  describe('when the body is a function', () => {
    it('can be sent again, and says nothing of what it will make', () => {
      expect(toFactory(() => 'abc')).toMatchObject({ length: null, replayable: true, contentType: null })
    })

    it('is not called before an attempt, and once by each', () => {
      let calls = 0
      const factory = toFactory(() => String(++calls))
      expect(calls).toBe(0)
      expect(factory.make()).toMatchObject({ kind: 'bytes', bytes: Buffer.from('1') })
      expect(factory.make()).toMatchObject({ kind: 'bytes', bytes: Buffer.from('2') })
      expect(calls).toBe(2)
    })

    it('is called as a function, not as a method', () => {
      const seen: unknown[] = []
      toFactory(function (this: unknown) {
        seen.push(this)
        return null
      }).make()
      expect(seen).toEqual([undefined])
    })

    it.each([null, undefined])('may make none: %s', (body) => {
      expect(toFactory(() => body).make()).toBe(NO_BODY)
    })

    it.each([
      ['a number', 1, '1'],
      ['an object', {}, 'an object (Object)'],
      ['a promise', Promise.resolve('abc'), 'an object (Promise)'],
      ['a function', () => 'abc', 'a function'],
    ])('fails where it makes no body: %s', (_kind, body, got) => {
      const factory = toFactory(() => body)
      expect(() => factory.make()).toThrow(InvalidReturnValueError)
      expect(() => factory.make()).toThrow(`The body function returned ${got}, expected a string, a Buffer, `)
    })

    it('fails where it makes the same stream twice', async () => {
      const readable = Readable.from(['abc'])
      const factory = toFactory(() => readable)
      const made = factory.make()
      if (made.kind !== 'stream') throw new Error(`Made a body of kind ${made.kind}`)
      expect((await buffer(made.open())).toString()).toBe('abc')
      expect(() => factory.make()).toThrow(InvalidArgumentError)
    })

    it('ends what was made last, once', () => {
      const made: Readable[] = []
      const factory = toFactory(() => {
        const readable = new Readable({ read() {} })
        made.push(readable)
        return readable
      })
      const error = new Error('enough')
      factory.destroy(new Error('There is nothing yet'))
      factory.make()
      factory.destroy(error)
      factory.destroy(new Error('again'))
      factory.make()
      expect(made.map(({ destroyed, errored }) => [destroyed, errored])).toEqual([
        [true, error],
        [false, null],
      ])
      factory.destroy(null)
      expect(made.map(({ destroyed }) => destroyed)).toEqual([true, true])
    })

    it('tells of the failure of what was made last, and of no other', async () => {
      const made: Readable[] = []
      const factory = toFactory(() => {
        const readable = new Readable({ read() {} })
        made.push(readable)
        return readable
      })
      const broken: Error[] = []
      factory.watch((error) => broken.push(error))
      factory.make()
      factory.destroy(new Error('The attempt failed'))
      factory.make()
      const error = new Error('The file is gone')
      made[1]?.destroy(error)
      await setImmediate()
      expect(broken).toEqual([error])
    })
  })
})
