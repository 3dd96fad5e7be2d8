import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import type { Frame } from '../../src/testing/frames.ts'
import { Type } from '../../src/testing/frames.ts'
import { ask, PATIENT, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const DEFAULT_WINDOW = 65_535

/**
 * Reads one body with each of its threads, and none of the others, as Undertow does: requests get a thread in their
 * order. Credit is returned once half of a window was read.
 */
class ThreadScript implements ConnectionScript {
  readonly grantsCredit = false
  readonly #threads: number
  readonly #requests: FaultStream[] = []
  /** Bytes that were read of each stream. */
  readonly #read = new Map<number, number>()
  readonly #owed = new Map<number, number>()

  constructor(threads: number) {
    this.#threads = threads
  }

  onRequest(stream: FaultStream, connection: FaultConnection): void {
    this.#requests.push(stream)
    this.#work(connection)
  }

  onFrame({ type }: Frame, connection: FaultConnection): void {
    if (type === Type.DATA) this.#work(connection)
  }

  onComplete(_stream: FaultStream, connection: FaultConnection): void {
    this.#work(connection)
  }

  #work(connection: FaultConnection): void {
    // Threads that get free take the next requests within the loop.
    for (let at = 0; at < Math.min(this.#threads, this.#requests.length); at++) {
      const stream = this.#requests[at]
      if (stream === undefined) break
      const size = stream.length - (this.#read.get(stream.id) ?? 0)
      this.#read.set(stream.id, stream.length)
      this.#owe(0, size, connection)
      if (!stream.isComplete) {
        this.#owe(stream.id, size, connection)
        continue
      }
      stream.respond(`${stream.length}`)
      this.#requests.splice(at--, 1)
    }
  }

  #owe(id: number, size: number, connection: FaultConnection): void {
    const owed = (this.#owed.get(id) ?? 0) + size
    const isDue = owed * 2 > DEFAULT_WINDOW
    if (isDue) connection.grant(id, owed)
    this.#owed.set(id, isDue ? 0 : owed)
  }
}

const BODIES = {
  bytes: (size: number) => Buffer.alloc(size),
  Readable: (size: number) =>
    Readable.from([Buffer.alloc(Math.floor(size / 2)), Buffer.alloc(Math.ceil(size / 2))]),
}

describe('a server with a thread for each of a few bodies, on engine wire', () => {
  describe.each(Object.keys(BODIES) as (keyof typeof BODIES)[])('with bodies of the kind %s', (kind) => {
    it.each([
      { threads: 17, count: 40, size: 50_000 },
      { threads: 17, count: 100, size: 10_000 },
      { threads: 1, count: 40, size: 50_000 },
      { threads: 1, count: 100, size: 10_000 },
      { threads: 2, count: 100, size: 65_535 },
    ])('$threads threads, $count bodies of $size bytes › serves them all', async ({
      threads,
      count,
      size,
    }) => {
      const peer = await startPeer(new ThreadScript(threads))
      const harness = startHarness(peer, { ...PATIENT, engine: 'wire', connections: 1 })
      const calls = Array.from({ length: count }, () => ask(harness, 'POST /', { body: BODIES[kind](size) }))
      expect(new Set(await toOutcomes(calls))).toEqual(new Set([`${size}`]))
    })
  })
})

// nghttp2 sends a frame of each stream in turn: the window is full of bodies that no thread reads.
describe('a server with a thread for each of a few bodies, on engine node', () => {
  // It depends on the nghttp2 of the line of Node in which order it sends.
  it('may stand still: then the calls end by uploadTimeout', async () => {
    const peer = await startPeer(new ThreadScript(17))
    const harness = startHarness(peer, { ...PATIENT, engine: 'node', connections: 1, uploadTimeout: 1_000 })
    const body = Buffer.alloc(50_000)
    const calls = Array.from({ length: 40 }, () => ask(harness, 'POST /', { body }))
    await Promise.all(calls.map(({ settled }) => settled))
    const outcomes = await toOutcomes(calls)
    expect(outcomes).toHaveLength(40)
    for (const outcome of outcomes) expect(outcome).toMatch(/^(\d+|UploadTimeoutError .*)$/)
  })
})
