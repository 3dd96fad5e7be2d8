/** Encoders, and a sink for the decoded bytes. */

import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import zlib from 'node:zlib'
import { afterEach, beforeEach, expect } from 'vitest'
import type { Coding, DecodedSink } from '../../../src/fetch/decode.ts'
import { Decoder } from '../../../src/fetch/decode.ts'

export type Encode = (bytes: Uint8Array) => Buffer

// Node 20 does not support Zstandard.
export const hasZstd = 'zstdCompressSync' in zlib
export const zstd: [string, Coding, Encode][] = hasZstd ? [['zstd', 'zstd', zlib.zstdCompressSync]] : []

/** @param quality noise takes seconds with the usual one, 11, and gets no smaller */
function brotli(bytes: Uint8Array, quality: number): Buffer {
  return zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: quality } })
}

export const formats: [string, Coding, Encode][] = [
  ['gzip', 'gzip', zlib.gzipSync],
  ['deflate', 'deflate', zlib.deflateSync],
  ['deflate without a header', 'deflate', zlib.deflateRawSync],
  ['br', 'br', (bytes) => brotli(bytes, 5)],
  ...zstd,
]

/** Accepts pieces until it has `room` of them, and then as many as resume() allows. */
export class Sink implements DecodedSink {
  room = Number.POSITIVE_INFINITY
  readonly chunks: Buffer[] = []
  readonly events: string[] = []
  readonly errors: Error[] = []
  size = 0
  onChunk: () => void = () => {}
  onDrain: () => void = () => {}
  #waiting: (() => void)[] = []

  get text(): string {
    return Buffer.concat(this.chunks).toString()
  }

  onDecoded(chunk: Buffer): boolean {
    expect(this.room).toBeGreaterThan(0)
    this.room--
    this.size += chunk.length
    this.chunks.push(chunk)
    this.onChunk()
    this.#wake()
    return this.room > 0
  }

  onDecodedEnd(): void {
    this.#tell('end')
  }

  onDecodeError(error: Error): void {
    this.errors.push(error)
    this.#tell('error')
  }

  onDecoderDrain(): void {
    this.#tell('drain')
    this.onDrain()
  }

  /** Waits until something has happened. */
  async until(isThere: () => boolean): Promise<void> {
    while (!isThere()) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  untilTold(event: string): Promise<void> {
    return this.until(() => this.events.includes(event))
  }

  #tell(event: string): void {
    this.events.push(event)
    this.#wake()
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }
}

export function open(codings: readonly Coding[]) {
  const sink = new Sink()
  const decoder = new Decoder(codings, sink)
  return { sink, decoder }
}

/** The result of decoding a body: the text, and the events. */
export async function decode(codings: readonly Coding[], chunks: readonly Buffer[]) {
  const { sink, decoder } = open(codings)
  for (const chunk of chunks) decoder.write(chunk)
  decoder.end()
  await sink.until(() => sink.events.includes('end') || sink.errors.length > 0)
  await quiesce()
  const told = sink.events.filter((event) => event !== 'drain')
  return { text: sink.text, told, error: sink.errors[0] }
}

/** Waits for the results of node:zlib's threads: they come within a turn or two. */
export async function quiesce(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate()
}

export function toBytes(buffer: Buffer): Buffer[] {
  return Array.from(buffer, (byte) => Buffer.of(byte))
}

export function cut(buffer: Buffer, length: number): Buffer[] {
  const count = Math.ceil(buffer.length / length)
  return Array.from({ length: count }, (_, i) => buffer.subarray(i * length, (i + 1) * length))
}

/** @param isFast whether it matters how long it takes, and not how it looks */
export function encodeAll(codings: readonly Coding[], bytes: Buffer, isFast = false): Buffer {
  const encoders = new Map<string, Encode>(formats.map(([, coding, encode]) => [coding, encode]))
  if (isFast) encoders.set('br', (bytes) => brotli(bytes, 1))
  return codings.toReversed().reduce((inner, coding) => encoders.get(coding)?.(inner) ?? inner, bytes)
}

// Of more than two blocks of Zstandard, which are decoded as a whole.
export const noise = randomBytes(300 * 1024)
export const text = `{"items":[${Array.from({ length: 40 }, (_, i) => `{"id":${i},"name":"ä${i}"}`).join(',')}]}`

export const unhandled: unknown[] = []
export function onUnhandled(error: unknown): void {
  unhandled.push(error)
}

beforeEach(() => {
  unhandled.length = 0
  process.on('uncaughtExceptionMonitor', onUnhandled)
})

afterEach(async () => {
  await quiesce()
  process.off('uncaughtExceptionMonitor', onUnhandled)
  expect(unhandled).toEqual([])
})
