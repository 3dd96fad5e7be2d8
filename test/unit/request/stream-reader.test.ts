import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { StreamReader } from '../../../src/request/stream-reader.ts'

/** A web stream that counts when it is cancelled. */
function setUp() {
  const cancelled: unknown[] = []
  const stream = new ReadableStream({
    pull: (controller) => controller.enqueue(Buffer.of(1)),
    cancel: (reason) => void cancelled.push(reason),
  })
  return { cancelled, reader: new StreamReader(stream) }
}

describe('StreamReader', () => {
  it('when nothing was read › cancels at once', async () => {
    const { cancelled, reader } = setUp()
    const done = reader.cancel('enough')
    expect(cancelled).toEqual(['enough'])
    await done
  })

  it('when something was read › cancels in the next turn of the event loop', async () => {
    const { cancelled, reader } = setUp()
    await reader.read()
    const done = reader.cancel('enough')
    await Promise.resolve()
    expect(cancelled).toEqual([])
    await done
    expect(cancelled).toEqual(['enough'])
  })

  it.each(['rejects', 'throws'])('when the source %s › settles without an error', async (how) => {
    const error = new Error('It does not want to end')
    const reader = new StreamReader({
      getReader: () => ({
        read: () => Promise.resolve({ done: false, value: Buffer.of(1) }),
        cancel() {
          if (how === 'throws') throw error
          return Promise.reject(error)
        },
      }),
    } as unknown as ReadableStream)
    await reader.read()
    await expect(reader.cancel(null)).resolves.toBeUndefined()
  })

  // An uncaught exception of node's would end the run.
  it.each([
    'sync',
    'async',
  ])("when the stream is node's, of an %s generator › leaves nothing uncaught", async (kind) => {
    for (let round = 0; round < 20; round++) {
      const pieces = kind === 'sync' ? toPieces() : toPiecesLater()
      const reader = new StreamReader(Readable.toWeb(Readable.from(pieces, { objectMode: false })))
      for (let reads = 0; reads < round % 5; reads++) await reader.read()
      // One that nobody waits for, in half of the rounds.
      const pending = round % 2 === 0 ? reader.read() : null
      await reader.cancel(null)
      await pending
      await setImmediate()
    }
  })
})

function* toPieces(): Generator<Buffer> {
  for (let count = 0; count < 100; count++) yield Buffer.alloc(65_536)
}

async function* toPiecesLater(): AsyncGenerator<Buffer> {
  yield* toPieces()
}
