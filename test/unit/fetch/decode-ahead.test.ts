/** How far is decoded ahead of the reader, in bytes. */

import { randomBytes } from 'node:crypto'
import type { Transform } from 'node:stream'
import zlib from 'node:zlib'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Coding } from '../../../src/fetch/decode.ts'
import { ResponseBody } from '../../../src/fetch/response-body.ts'
import type { DispatchController } from '../../../types/handler.ts'
import { encodeAll, hasZstd, quiesce } from './decode-support.ts'

const MAX_AHEAD = 262_144
const LARGE = Buffer.alloc(64 * 1_048_576)
/** Hardly gets smaller: what each layer decodes is as large as what it gives. */
const NOISE = randomBytes(2 * 1_048_576)

interface Engine extends Transform {
  readonly bytesWritten: number
}

/** Counts what the engines of node:zlib decode. */
function watchEngines() {
  const engines: Engine[] = []
  let decoded = 0
  const names = [
    'createGunzip',
    'createInflate',
    'createInflateRaw',
    'createBrotliDecompress',
    'createZstdDecompress',
  ] as const
  for (const name of names) {
    const make = zlib[name] as ((options: object) => Engine) | undefined
    if (make === undefined) continue
    const spy = vi.spyOn(zlib as Record<string, unknown> & typeof zlib, name) as unknown as {
      mockImplementation(made: (options: object) => Engine): void
      mockRestore(): void
    }
    spy.mockImplementation((options) => {
      const engine = make(options)
      engines.push(engine)
      const push = engine.push.bind(engine)
      engine.push = (chunk: Buffer | null) => {
        decoded += chunk?.length ?? 0
        return push(chunk)
      }
      return engine
    })
    onTestFinished(() => spy.mockRestore())
  }
  return {
    engines,
    /** Decoded bytes that no next layer, and no reader, has taken. @param read how many bytes the reader has got */
    ahead: (read: number): number =>
      engines.slice(1).reduce((rest, { bytesWritten }) => rest - bytesWritten, decoded - read),
  }
}

function open(codings: readonly Coding[], encoded: Buffer) {
  const controller = { paused: false, pause() {}, resume() {}, abort() {} } as unknown as DispatchController
  const body = new ResponseBody(controller, null, -1)
  body.decode(codings)
  body.receive(encoded)
  body.finish()
  onTestFinished(() => body.cancel(undefined))
  return body
}

const lists: Coding[][] = [
  ['gzip'],
  ['br'],
  ['gzip', 'gzip'],
  ['br', 'gzip', 'br', 'gzip', 'deflate'],
  ['gzip', 'gzip', 'gzip', 'gzip', 'gzip'],
  ...(hasZstd ? ([['zstd'], ['zstd', 'gzip', 'zstd']] as Coding[][]) : []),
]

describe.each(
  lists.map((codings) => [codings.join(', '), codings] as const),
)('a body in %s', (_name, codings) => {
  it('makes no decoder before its reader asks', async () => {
    const { engines } = watchEngines()
    open(codings, encodeAll(codings, LARGE, true))
    await quiesce()
    expect(engines).toEqual([])
  })

  it.each([
    ['zeros', LARGE],
    ['noise', NOISE],
  ])('of %s is decoded at most 256 KiB ahead of its reader', async (_content, content) => {
    const { engines, ahead } = watchEngines()
    const body = open(codings, encodeAll(codings, content, true))
    const reader = body.toStream().getReader()
    let read = 0
    let most = 0
    for (let i = 0; i < 30; i++) {
      const { value } = await reader.read()
      read += value?.length ?? 0
      for (let turn = 0; turn < 3; turn++) await quiesce()
      most = Math.max(most, ahead(read))
    }
    // The threads of node:zlib may be slower than all these turns.
    while (most === 0) {
      await quiesce()
      most = ahead(read)
    }
    expect(engines).toHaveLength(codings.length)
    expect(read).toBeGreaterThan(0)
    expect(most).toBeLessThanOrEqual(MAX_AHEAD)
  })
})
