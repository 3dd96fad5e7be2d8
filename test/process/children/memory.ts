/** Moves a gigabyte one way, and reports the memory of the process before, meanwhile and after. */
import { Writable } from 'node:stream'
import { Client } from '../../../src/index.ts'
import { report } from './report.ts'

const TOTAL = 2 ** 30
/** Bytes between two looks at the memory. */
const STEP = 2 ** 24
/** Turns of the event loop between two pieces of a response. */
const TURNS = 8

const [, , origin = '', way = ''] = process.argv
const client = new Client(origin)

/** Bytes of the heap, and of memory outside that it refers to: `external` includes the array buffers. */
function toMemory(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function collect(): Promise<number> {
  // What the last turn still holds is let go of first.
  await new Promise((resolve) => setImmediate(resolve))
  if (globalThis.gc === undefined) throw new Error('Run it with --expose-gc')
  globalThis.gc()
  globalThis.gc()
  return toMemory()
}

/** Bytes that have passed through here. */
let moved = 0
let samples = 0
let highest = 0

function count(bytes: number): void {
  const steps = Math.floor(moved / STEP)
  moved += bytes
  if (Math.floor(moved / STEP) === steps) return
  samples++
  highest = Math.max(highest, toMemory())
}

/** New memory for each piece, as a file or a socket gives it: repeating one piece would show nothing. */
function* make(): Generator<Buffer> {
  while (moved < TOTAL) {
    const piece = Buffer.alloc(65_536, moved % 251)
    count(piece.length)
    yield piece
  }
}

async function* makeAsync(): AsyncGenerator<Buffer> {
  for (const piece of make()) {
    await new Promise((resolve) => setImmediate(resolve))
    yield piece
  }
}

async function upload(body: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<number> {
  const { body: response } = await client.request({ path: '/', method: 'POST', body })
  return Number(await response.text())
}

const GET = { path: '/', method: 'GET', headers: { 'x-bytes': String(TOTAL) } } as const

async function downloadByIteration(): Promise<number> {
  const { body } = await client.request(GET)
  for await (const chunk of body as AsyncIterable<Buffer>) {
    count(chunk.length)
    for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  return moved
}

function later(turns: number, callback: () => void): void {
  if (turns === 0) callback()
  else setImmediate(later, turns - 1, callback)
}

async function downloadToStream(): Promise<number> {
  const slow = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      count(chunk.length)
      later(TURNS, callback)
    },
  })
  await client.stream(GET, () => slow)
  return moved
}

const WAYS: Record<string, () => Promise<number>> = {
  'up from an async generator': () => upload(makeAsync()),
  'up from a generator': () => upload(make()),
  'down by iteration': downloadByIteration,
  'down into a slow Writable': downloadToStream,
}

const start = WAYS[way]
if (start === undefined) throw new Error(`There is no way ${way}`)
// The first request makes what stays: the session, and the code that serves it.
await upload(Array.from({ length: 64 }, () => Buffer.alloc(65_536)))
moved = 0
samples = 0
const before = await collect()
highest = before
const begun = performance.now()
const arrived = await start()
const seconds = (performance.now() - begun) / 1_000
const after = await collect()
await client.close()
report({ arrived, samples, before, highest, after, seconds })
