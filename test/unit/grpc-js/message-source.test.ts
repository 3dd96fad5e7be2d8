/** When the callbacks of messages are called: they are the back-pressure. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { MessageSource } from '../../../src/grpc-js/message-source.ts'

const FRAME = Buffer.alloc(5)
/** More than a source takes ahead. */
const LARGE = Buffer.alloc(100_000)

describe('a MessageSource', () => {
  it('calls back from within write() while there is room', () => {
    const source = new MessageSource()
    let called = 0
    source.write(FRAME, () => called++)
    source.write(FRAME, () => called++)
    expect(called).toBe(2)
  })

  it('calls back when the reader has made room', async () => {
    const source = new MessageSource()
    let isCalled = false
    source.write(LARGE, () => {
      isCalled = true
    })
    await nextTurn()
    expect(isCalled).toBe(false)
    source.read()
    await nextTurn()
    expect(isCalled).toBe(true)
  })

  it('takes any number of messages that are sent from within callbacks', async () => {
    const source = new MessageSource()
    source.resume()
    let left = 50_000
    await new Promise<void>((resolve) => {
      const send = (): void => {
        if (left-- === 0) resolve()
        else source.write(FRAME, send)
      }
      send()
    })
    source.destroy()
  })

  it('goes on after a callback that throws', () => {
    const source = new MessageSource()
    const thrown = new Error('mine')
    expect(() =>
      source.write(FRAME, () => {
        throw thrown
      }),
    ).toThrow(thrown)
    let isCalled = false
    source.write(FRAME, () => {
      isCalled = true
    })
    expect(isCalled).toBe(true)
  })

  it('calls back when it is destroyed, and of what is written afterwards', async () => {
    const source = new MessageSource()
    let called = 0
    source.write(LARGE, () => called++)
    source.destroy()
    source.write(FRAME, () => called++)
    await nextTurn()
    expect(called).toBe(2)
  })
})
