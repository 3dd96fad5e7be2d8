import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { KeptPieces } from '../../../src/core/kept-pieces.ts'
import { ReadableFeed } from '../../../src/core/readable-feed.ts'

/** A Readable that is fed as a body of a response is. */
class Fed extends Readable {
  readonly kept = new KeptPieces()
  readonly feed: ReadableFeed
  /** How often it asked for more. */
  asked = 0

  constructor(highWaterMark = 1_000) {
    super({ highWaterMark })
    this.feed = new ReadableFeed(this, this.kept)
  }

  override _read(): void {
    this.feed.onRead()
    if (this.feed.hasRoom) this.asked++
  }

  override read(size?: number): ReturnType<Readable['read']> {
    const chunk: unknown = super.read(size)
    this.feed.afterRead(size)
    return chunk
  }

  receive(...texts: string[]): boolean[] {
    return texts.map((text) => this.feed.receive(Buffer.from(text)))
  }
}

describe('a Readable that is fed', () => {
  it('when it was never read › has nothing in its own buffer', () => {
    const readable = new Fed()
    readable.receive('a', 'b', 'c')
    expect(readable.readableLength).toBe(0)
    expect(readable.feed.size).toBe(3)
  })

  it('when it gets an empty piece while it is full › lets more come: node would not ask again', () => {
    const readable = new Fed(4)
    readable.on('data', () => {})
    readable.pause()
    expect(readable.receive('more than 4', '', 'more')).toEqual([false, true, false])
    expect(readable.feed.size + readable.readableLength).toBe(15)
  })

  it('when its reader waits for `readable` and never reads › gets what comes in one turn as one piece', async () => {
    const readable = new Fed()
    let pushes = 0
    const push = readable.push.bind(readable)
    readable.push = (chunk) => {
      pushes++
      return push(chunk)
    }
    readable.on('readable', () => {})
    await nextTurn()
    for (let count = 0; count < 100; count++) readable.receive('ab')
    await nextTurn()
    expect(readable.readableLength).toBe(200)
    expect(pushes).toBeLessThan(4)
  })

  it('when its reader looks at `readableLength` before it reads › hears of each piece', async () => {
    const readable = new Fed()
    const heard: string[] = []
    readable.on('readable', () => {
      while (readable.readableLength >= 8) heard.push(String(readable.read(8)))
    })
    await nextTurn()
    for (const text of ['abc', 'd', 'ef', 'gh', 'ijklm', 'nop']) {
      readable.receive(text)
      await nextTurn()
    }
    await nextTurn()
    expect(heard).toEqual(['abcdefgh', 'ijklmnop'])
  })

  it('when as much waits as its high-water mark › says so, and asks again once that was read', async () => {
    const readable = new Fed(10)
    readable.on('readable', () => {})
    await nextTurn()
    expect(readable.receive('12345', '6789')).toEqual([true, true])
    expect(readable.receive('0', '1')).toEqual([false, false])
    const { asked } = readable
    let read = ''
    for (let chunk: unknown = readable.read(); chunk !== null; chunk = readable.read()) read += String(chunk)
    expect(read).toBe('12345678901')
    expect(readable.asked).toBeGreaterThan(asked)
  })

  it('when it flows › emits each piece at once', async () => {
    const readable = new Fed()
    const heard: string[] = []
    readable.on('data', (chunk) => heard.push(String(chunk)))
    await nextTurn()
    readable.receive('a', 'b', 'c')
    expect(heard).toEqual(['a', 'b', 'c'])
  })

  it('when its reader pauses within a piece › keeps the others until it resumes', async () => {
    const readable = new Fed()
    const heard: string[] = []
    readable.on('data', (chunk) => {
      heard.push(String(chunk))
      readable.pause()
    })
    await nextTurn()
    readable.receive('a', 'b', 'c')
    expect(heard).toEqual(['a'])
    for (let turn = 0; turn < 6; turn++) {
      readable.resume()
      await nextTurn()
    }
    expect(heard.join('')).toBe('abc')
  })

  it.each([
    { name: 'of all there is', size: undefined },
    { name: 'of one byte', size: 1 },
    { name: 'of four bytes', size: 4 },
    { name: 'of more than the high-water mark', size: 1_500 },
  ])('when its reader reads once for each `readable` ($name) › gives all, and then ends', async ({
    size,
  }) => {
    const readable = new Fed(64)
    const heard: Buffer[] = []
    readable.on('readable', () => {
      const chunk: unknown = readable.read(size)
      if (chunk !== null) heard.push(chunk as Buffer)
    })
    let ended = false
    readable.on('end', () => {
      ended = true
    })
    await nextTurn()
    for (let turn = 0; turn < 50; turn++) {
      readable.receive('ab', 'c')
      await nextTurn()
    }
    // A reader that takes a byte for each event gets as many events as there were pushes: it has to go on by itself.
    for (let left = 0; left < 200 && size === 1; left++) {
      const chunk: unknown = readable.read(1)
      if (chunk !== null) heard.push(chunk as Buffer)
      await nextTurn()
    }
    readable.feed.end()
    for (let turn = 0; turn < 10 && !ended; turn++) await nextTurn()
    expect(Buffer.concat(heard).toString()).toBe('abc'.repeat(50))
    expect(ended).toBe(true)
  })

  it('when it is paused and read by hand › gives what there is', async () => {
    const readable = new Fed()
    const heard: string[] = []
    readable.on('data', (chunk) => heard.push(String(chunk)))
    await nextTurn()
    readable.receive('a')
    readable.pause()
    readable.receive('b', 'c')
    expect(readable.readableLength).toBe(0)
    const read: string[] = []
    for (let turn = 0; turn < 4; turn++) {
      const chunk: unknown = readable.read()
      if (chunk !== null) read.push(String(chunk))
    }
    expect(read.join('')).toBe('bc')
    expect(heard.join('')).toBe('abc')
  })

  it('when a piece stays in its buffer › has a copy of it that pins nothing else', async () => {
    const readable = new Fed()
    readable.on('readable', () => {})
    await nextTurn()
    readable.feed.receive(Buffer.alloc(65_536).subarray(0, 10))
    const chunk: unknown = readable.read()
    expect((chunk as Buffer).buffer.byteLength).toBe(10)
  })

  it('when it ends with pieces that wait › gives them, and then ends', async () => {
    const readable = new Fed()
    readable.receive('a', 'b')
    readable.feed.end()
    const heard: string[] = []
    for await (const chunk of readable) heard.push(String(chunk))
    expect(heard.join('')).toBe('ab')
  })

  it('when it ends with none › ends', async () => {
    const readable = new Fed()
    readable.feed.end()
    readable.resume()
    await once(readable, 'end')
    expect(readable.readableEnded).toBe(true)
  })

  it('when its end waits behind kept pieces › emits no `readable` from inside read()', async () => {
    const readable = new Fed(100)
    let heard = ''
    let isReading = false
    let nested = 0
    for (const byte of 'abcd') readable.feed.receive(Buffer.alloc(80, byte))
    readable.feed.receive(Buffer.alloc(5_000, 'e'))
    readable.feed.end()
    readable.on('readable', () => {
      if (isReading) nested++
      for (;;) {
        isReading = true
        const chunk: unknown = readable.read()
        isReading = false
        if (chunk === null) break
        heard += String(chunk)
      }
    })
    for (let turn = 0; turn < 30; turn++) await nextTurn()
    expect(nested).toBe(0)
    expect(heard).toBe([...heard].sort().join(''))
    expect(heard).toHaveLength(5_320)
    expect(readable.readableEnded).toBe(true)
  })

  it('with a high-water mark of 0 › has room when it has given all', () => {
    const readable = new Fed(0)
    expect(readable.feed.hasRoom).toBe(true)
  })
})
