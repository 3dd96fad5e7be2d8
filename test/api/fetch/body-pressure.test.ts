/** Slow readers: bytes that they don't read stay with the peer. */

import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Tap } from './body-support.ts'
import { tapped, toNoise } from './body-support.ts'
import { defer, startRig, toStream } from './body-support-rig.ts'

const WINDOW = 131_072
const MIB = 1_048_576
const NOISE = toNoise(12 * MIB)

/** A little noise in many zeroes: each encoded byte is decoded to some forty. */
const SPARSE = toSparse(40 * MIB)

/** Bytes that are taken beyond a window: the body's own 64 KiB, and those on the way between two layers. */
const AHEAD = 4 * 65_536

function toSparse(length: number): Buffer {
  const sparse = Buffer.alloc(length)
  const step = 1_024
  for (let at = 0; at < length / 40; at += step) NOISE.copy(sparse, at * 40, at, at + step)
  return sparse
}

interface Scene {
  readonly stream: ReadableStream<Uint8Array>
  readonly reader: ReadableStreamDefaultReader<Uint8Array>
  /** How many encoded bytes the peer has sent, once it can't send more. */
  sent(): Promise<number>
}

async function start(content: Buffer, coding = 'identity'): Promise<Scene> {
  const taps: Tap[] = []
  const rig = await startRig(
    tapped((stream, tap) => {
      taps.push(tap)
      tap.pour(stream, content, [['content-encoding', coding]])
    }),
    { initialWindowSize: WINDOW },
  )
  const stream = toStream(await rig.get('/'))
  const sent = async (): Promise<number> => (await taps[0]?.blockedAt(rig.peer.request('/'))) ?? 0
  return { stream, reader: stream.getReader(), sent }
}

/** Reads at least so many bytes. */
async function take(reader: Scene['reader'], size: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for (let left = size; left > 0; ) {
    const { done, value } = await reader.read()
    if (done) break
    pieces.push(value)
    left -= value.byteLength
  }
  return Buffer.concat(pieces)
}

describe('when a large body is read slowly', () => {
  it('the peer is never ahead by more than a bound, and all of it comes', async () => {
    const { reader, sent } = await start(NOISE)
    const pieces: Buffer[] = []
    let read = 0
    let most = 0
    while (read < NOISE.length) {
      most = Math.max(most, (await sent()) - read)
      const piece = await take(reader, MIB)
      pieces.push(piece)
      read += piece.length
    }
    expect(most).toBeLessThanOrEqual(WINDOW + AHEAD)
    expect(Buffer.concat(pieces).equals(NOISE)).toBe(true)
    expect((await reader.read()).done).toBe(true)
  })

  it('a pipe into a slow sink holds the peer back likewise', async () => {
    const { reader, sent, stream } = await start(NOISE)
    reader.releaseLock()
    const stopped = defer()
    const goes = defer()
    let written = 0
    const sink = new WritableStream<Uint8Array>({
      write(piece) {
        written += piece.byteLength
        if (written < MIB) return undefined
        stopped.resolve()
        return goes.promise
      },
    })
    const piped = stream.pipeTo(sink)
    await stopped.promise
    expect((await sent()) - written).toBeLessThanOrEqual(WINDOW + AHEAD)
    goes.resolve()
    await piped
    expect(written).toBe(NOISE.length)
  })
})

describe.each([
  ['gzip', gzipSync(SPARSE)],
  ['br', brotliCompressSync(SPARSE, { params: { 1: 4 } })],
])('when a body in %s is read slowly', (coding, encoded) => {
  it('no more bytes are taken than those decoded and those on the way', async () => {
    const { reader, sent } = await start(encoded, coding)
    let read = 0
    let most = 0
    for (let step = 0; step < 8; step++) {
      const taken = await sent()
      most = Math.max(most, taken - (read * encoded.length) / SPARSE.length)
      read += (await take(reader, MIB)).length
    }
    expect(most).toBeLessThanOrEqual(WINDOW + AHEAD)
    await reader.cancel()
  })

  it('all of it comes in the end', async () => {
    const { reader, sent } = await start(encoded, coding)
    await sent()
    const all = await take(reader, Number.POSITIVE_INFINITY)
    expect(all.equals(SPARSE)).toBe(true)
  })
})
