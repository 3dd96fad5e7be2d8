import { describe, expect, test } from 'vitest'
import { IdleLook } from '../../../../src/session/stream/idle-look.ts'

/** Counts how often it is looked at. */
class Stream {
  static looks = 0
  #isIdle: boolean

  constructor(isIdle: boolean) {
    this.#isIdle = isIdle
  }

  get isIdle(): boolean {
    Stream.looks++
    return this.#isIdle
  }

  pause(): void {
    this.#isIdle = true
  }

  resume(): void {
    this.#isIdle = false
  }
}

function make(count: number, isIdle: boolean): Stream[] {
  return Array.from({ length: count }, () => new Stream(isIdle))
}

describe('a look at the streams of a session', () => {
  test('when somebody waits for one of them › finds it, wherever it is', () => {
    const streams = make(5, true)
    const look = new IdleLook()
    for (const stream of streams) {
      expect(look.areIdle(streams)).toBe(true)
      stream.resume()
      expect(look.areIdle(streams)).toBe(false)
      stream.pause()
    }
    expect(look.areIdle(streams)).toBe(true)
  })

  test('when there is none, or fewer than before › goes by those that there are', () => {
    const streams = make(3, true)
    const look = new IdleLook()
    streams[2]?.resume()
    expect(look.areIdle(streams)).toBe(false)
    streams.pop()
    expect(look.areIdle(streams)).toBe(true)
    expect(look.areIdle([])).toBe(true)
    expect(look.areIdle(make(1, false))).toBe(false)
  })

  test('when one after the other of many is paused › looks at each a few times', () => {
    const streams = make(10_000, false)
    const look = new IdleLook()
    Stream.looks = 0
    for (const stream of streams) {
      stream.pause()
      look.areIdle(streams)
    }
    expect(look.areIdle(streams)).toBe(true)
    expect(Stream.looks).toBeLessThan(5 * streams.length)
  })
})
