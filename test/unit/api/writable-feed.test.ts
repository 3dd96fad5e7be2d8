import { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { WritableFeed } from '../../../src/api/writable-feed.ts'
import { toCopy } from '../../../src/core/piece-list.ts'

/** A Writable that writes when the test says so. */
class Slow extends Writable {
  readonly written: string[] = []
  #callback: (() => void) | null = null

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.written.push(String(chunk))
    this.#callback = callback
  }

  /** The write that is under way is done, and what follows in this turn has run. */
  async finishWrite(): Promise<void> {
    const callback = this.#callback
    this.#callback = null
    callback?.()
    await nextTurn()
  }
}

describe('a Writable that is fed', () => {
  it('when it writes › has one piece that waits, and gets the others joined', async () => {
    const writable = new Slow({ highWaterMark: 1_000 })
    const feed = new WritableFeed(writable, { onRoom() {} })
    // Copies: what Buffer.from() gives pins node's pool, of up to 64 KiB, and would be joined with others earlier.
    for (const text of 'abcdef') expect(feed.write(toCopy(Buffer.from(text)))).toBe(true)
    expect(writable.writableLength).toBe(2)
    for (let turn = 0; turn < 5; turn++) await writable.finishWrite()
    expect(writable.written).toEqual(['a', 'b', 'c', 'def'])
  })

  it('when more waits than its high-water mark › says so, and tells when there is room', async () => {
    const writable = new Slow({ highWaterMark: 4 })
    const told: string[] = []
    const feed = new WritableFeed(writable, { onRoom: () => void told.push(writable.written.join('|')) })
    writable.on('drain', () => told.push('drain'))
    expect(['ab', 'c', 'd', 'e'].map((text) => feed.write(Buffer.from(text)))).toEqual([
      true,
      true,
      false,
      false,
    ])
    for (let turn = 0; turn < 5; turn++) await writable.finishWrite()
    expect(writable.written.join('')).toBe('abcde')
    expect(told.length).toBeGreaterThan(0)
  })

  it('when no more comes › gives everything at once', async () => {
    const writable = new Slow()
    const feed = new WritableFeed(writable, { onRoom() {} })
    for (const text of 'abcdef') feed.write(Buffer.from(text))
    feed.end()
    writable.end()
    for (let turn = 0; turn < 8; turn++) await writable.finishWrite()
    expect(writable.written.join('')).toBe('abcdef')
    expect(writable.writableFinished).toBe(true)
  })

  it('when it was destroyed › gives nothing more', async () => {
    const writable = new Slow()
    const feed = new WritableFeed(writable, { onRoom() {} })
    for (const text of 'abc') feed.write(Buffer.from(text))
    writable.destroy()
    await writable.finishWrite()
    expect(feed.write(Buffer.from('d'))).toBe(true)
    expect(writable.written).toEqual(['a'])
  })

  it('when its owner ends it while pieces wait › fails, and loses none quietly', async () => {
    let taken = 0
    const writable = new Writable({
      write: (chunk, _encoding, callback) => {
        taken += chunk.length
        setImmediate(callback)
      },
      final: () => {},
    })
    let failure: NodeJS.ErrnoException | null = null
    writable.on('error', (error) => {
      failure = error
    })
    writable.write('0')
    const feed = new WritableFeed(writable, { onRoom() {} })
    for (const piece of ['1', '2', '3']) feed.write(Buffer.from(piece))
    writable.end()
    for (let turn = 0; turn < 10; turn++) await nextTurn()
    feed.end()
    await nextTurn()
    expect(taken).toBe(2)
    expect(failure).toMatchObject({ code: 'ERR_STREAM_WRITE_AFTER_END' })
  })
})
