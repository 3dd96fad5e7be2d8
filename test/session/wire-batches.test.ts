import type { Socket } from 'node:net'
import { Duplex, Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Setting } from '../../src/testing/frames.ts'
import { ask, PATIENT, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const MEBIBYTE = 1_048_576
const BODY = Buffer.alloc(8 * MEBIBYTE, 'abcdefghijk')
/** Frame headers and frames of the connection itself come with the data of a batch. */
const SLACK = 4_096

/** Stands in for a socket in front of another one, and notes how much each write brings. */
class NotedSocket extends Duplex {
  readonly sizes: number[] = []
  readonly #behind: Duplex
  /** What is written is taken from within the write, as the system takes it from a fast connection. */
  readonly #takesAtOnce: (size: number) => boolean

  constructor(behind: Duplex, takesAtOnce: (size: number) => boolean, writableHighWaterMark?: number) {
    super({ writableHighWaterMark })
    this.#behind = behind
    this.#takesAtOnce = takesAtOnce
    behind.on('data', (chunk) => this.push(chunk))
    behind.on('end', () => this.push(null))
    behind.on('error', (error) => this.destroy(error))
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#take([bytes], callback)
  }

  override _writev(chunks: { chunk: Buffer }[], callback: () => void): void {
    this.#take(
      chunks.map(({ chunk }) => chunk),
      callback,
    )
  }

  override _final(callback: () => void): void {
    this.#behind.end(callback)
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#behind.destroy()
    callback(error)
  }

  #take(pieces: readonly Buffer[], callback: () => void): void {
    const bytes = Buffer.concat(pieces)
    this.sizes.push(bytes.length)
    this.#behind.write(bytes)
    if (this.#takesAtOnce(bytes.length)) callback()
    else setImmediate(callback)
  }
}

/** Sends {@link BODY} by way of such a socket. @returns the sizes of the writes that brought more than a frame */
async function send(takesAtOnce: (size: number) => boolean): Promise<number[]> {
  const peer = await startPeer({
    settings: [[Setting.INITIAL_WINDOW_SIZE, 2 * BODY.length]],
    onComplete: (stream) => stream.respond(),
    onConnection: (connection) => connection.grant(0, 2 * BODY.length),
  })
  let socket: NotedSocket | undefined
  const harness = startHarness(peer, {
    engine: 'wire',
    connect: (_options, callback) => {
      socket = new NotedSocket(peer.connect(), takesAtOnce)
      callback(null, socket as Duplex as Socket)
    },
  })
  await ask(harness, 'GET /first').settled
  const call = ask(harness, 'POST /upload', { body: BODY })
  await call.settled
  expect(call.errors).toEqual([])
  expect(peer.request('/upload').text === BODY.toString()).toBe(true)
  return (socket?.sizes ?? []).filter((size) => size > 16_384 + SLACK)
}

describe('the batches of an upload on engine wire', () => {
  it('double from 64 KiB to 1 MiB while the socket takes all of each at once', async () => {
    const sizes = await send(() => true)
    const rounded = sizes.map((size) => Math.floor(size / 65_536))
    expect(rounded.slice(0, 6)).toEqual([1, 2, 4, 8, 16, 16])
    expect(Math.max(...sizes)).toBeLessThan(MEBIBYTE + SLACK)
  })

  it('stay at 64 KiB with a socket that takes its time', async () => {
    const sizes = await send(() => false)
    expect(sizes.length).toBeGreaterThan(100)
    expect(Math.max(...sizes)).toBeLessThan(65_536 + SLACK)
  })

  it('begin at 64 KiB again once the socket has asked to wait', async () => {
    const sizes = await send((size) => size < MEBIBYTE)
    const rounded = sizes.map((size) => Math.floor(size / 65_536))
    expect(rounded.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 1, 2, 4])
  })
})

describe('a body whose pieces use up a batch and the connection window at once, on engine wire', () => {
  const BATCH = 65_536
  const DEFAULT_WINDOW = 65_535

  // END_STREAM is a frame of its own then, and becomes due within the flush. No `drain` follows on a socket that holds much.
  it.each([
    [45_536, 20_000],
    [BATCH - 1, 1],
    [20_000, 20_000, 20_000, 5_536],
  ])('ends, though the socket never asks to wait: %i, %i bytes', async (...sizes) => {
    const peer = await startPeer({
      settings: [[Setting.INITIAL_WINDOW_SIZE, MEBIBYTE]],
      grantsCredit: false,
      // The window of an open stream may come back, so the other upload is opened, too.
      onComplete: (stream) => stream.path === '/whole' && stream.respond(),
    })
    // No PING flushes what waits.
    const harness = startHarness(peer, {
      ...PATIENT,
      engine: 'wire',
      connect: (_options, callback) =>
        callback(null, new NotedSocket(peer.connect(), () => true, MEBIBYTE) as Duplex as Socket),
    })
    const first = ask(harness, 'POST /all', { body: Buffer.alloc(DEFAULT_WINDOW) })
    await peer.waitFor(() => peer.requests[0]?.isComplete === true)
    const body = Readable.from(sizes.map((size) => Buffer.alloc(size)))
    const call = ask(harness, 'POST /whole', { body })
    await peer.waitFor(() => peer.requests.length === 2 && body.readableEnded)
    peer.request('/all').respond()
    await first.settled
    peer.connection(0).grant(0, BATCH)
    await call.settled
    expect([call.errors, call.text]).toEqual([[], 'POST /whole'])
  })
})
