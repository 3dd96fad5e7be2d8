/** Bodies that are cancelled in the middle. */

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { CANCEL } from '../../support/peers/error-codes.ts'
import { tapped, toNoise } from './body-support.ts'
import type { Rig } from './body-support-rig.ts'
import { startRig, toReason, toStream } from './body-support-rig.ts'

const NOISE = toNoise(2 * 1_048_576)
const ENCODED = gzipSync(NOISE)

/** `/gzip` is coded, `/small` is no more than a word; all others are NOISE. */
function start(): Promise<Rig> {
  return startRig(
    tapped((stream, tap) => {
      if (stream.path === '/gzip') tap.pour(stream, ENCODED, [['content-encoding', 'gzip']])
      else tap.pour(stream, stream.path === '/small' ? Buffer.from('small') : NOISE)
    }),
    { initialWindowSize: 131_072 },
  )
}

/** Each reads a part of the body, and cancels it. */
const ways: readonly (readonly [string, (stream: ReadableStream<Uint8Array>) => Promise<unknown>])[] = [
  ['cancel() of the stream, before anything was read', (stream) => stream.cancel(new Error('enough'))],
  ['cancel() without a reason', (stream) => stream.cancel()],
  ['cancel() with a string', (stream) => stream.cancel('enough')],
  [
    'cancel() of a reader',
    async (stream) => {
      const reader = stream.getReader()
      await reader.read()
      await reader.cancel(new Error('enough'))
    },
  ],
  [
    'cancel() of a reader whose read is pending',
    async (stream) => {
      const reader = stream.getReader()
      for (let left = 131_072; left > 0; ) left -= (await reader.read()).value?.byteLength ?? left
      const read = reader.read()
      await reader.cancel(null)
      await read
    },
  ],
  [
    'cancel() of a reader with buffers of its own',
    async (stream) => {
      const reader = stream.getReader({ mode: 'byob' })
      await reader.read(new Uint8Array(10))
      await reader.cancel()
    },
  ],
  [
    'break in a for await',
    async (stream) => {
      for await (const piece of stream) if (piece.byteLength > 0) break
    },
  ],
  [
    'throw in a for await',
    async (stream) => {
      const failed = (async () => {
        for await (const piece of stream) throw new Error(`${piece.byteLength}`)
      })()
      await toReason(failed)
    },
  ],
  [
    'a pipe into a sink that fails',
    async (stream) => {
      const error = new Error('the sink is full')
      const sink = new WritableStream<Uint8Array>({ write: () => Promise.reject(error) })
      expect(await toReason(stream.pipeTo(sink))).toBe(error)
    },
  ],
  [
    'a pipe whose signal fires',
    async (stream) => {
      const controller = new AbortController()
      const sink = new WritableStream<Uint8Array>({ write: () => controller.abort() })
      await toReason(stream.pipeTo(sink, { signal: controller.signal }))
    },
  ],
  [
    'cancel() of both branches of a tee',
    async (stream) => {
      const [one, other] = stream.tee()
      const reader = one.getReader()
      await reader.read()
      await Promise.all([reader.cancel(1), other.cancel(2)])
    },
  ],
  [
    'cancel() of what it was piped through',
    async (stream) => {
      const reader = stream.pipeThrough(new TransformStream<Uint8Array, Uint8Array>()).getReader()
      await reader.read()
      await reader.cancel()
    },
  ],
]

describe.each(['/plain', '/gzip'])('when the body of %s is cancelled', (path) => {
  it.each(ways)('%s resets the stream with CANCEL, and nothing else', async (_way, giveUp) => {
    const rig = await start()
    const response = await rig.get(path)
    const sibling = await rig.get('/sibling')
    await giveUp(toStream(response))
    expect(await rig.resetOf(path)).toBe(CANCEL)
    expect((await sibling.arrayBuffer()).byteLength).toBe(NOISE.length)
    expect(rig.calls).toEqual({ running: 0, pending: 0 })
    expect(rig.peer.connections.length).toBe(1)
    expect(response.bodyUsed).toBe(true)
  })
})

describe('when one branch of a body is cancelled', () => {
  it('the other one gets all of it', async () => {
    const rig = await start()
    const [one, other] = toStream(await rig.get('/plain')).tee()
    void one.cancel()
    expect((await new Response(other).arrayBuffer()).byteLength).toBe(NOISE.length)
  })

  it('cancelling the original leaves the clone', async () => {
    const rig = await start()
    const response = await rig.get('/gzip')
    const copy = response.clone()
    void response.body?.cancel()
    expect(Buffer.from(await copy.arrayBuffer()).equals(NOISE)).toBe(true)
  })
})
