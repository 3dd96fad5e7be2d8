/** The ways in which the body of a response is read. */

import type { Readable } from 'node:stream'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { BodyReadable } from '../../../types/index.ts'
import type { VirtualTime } from './virtual-time.ts'
import type { CallWatch } from './watch.ts'

/** The parameters of a reader. */
export interface Reading {
  readonly watch: CallWatch
  readonly time: VirtualTime
  readonly pace: number
}

/** As many pieces are taken slowly: a body may come in pieces of a byte. */
export const SLOW_WRITES = 20

/** Takes each piece after a while. */
export class SlowWritable extends Writable {
  readonly chunks: Buffer[] = []
  readonly #time: VirtualTime
  readonly #pace: number

  constructor(time: VirtualTime, pace: number) {
    super({ highWaterMark: 1_000 })
    this.#time = time
    this.#pace = pace
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.chunks.push(chunk)
    if (this.#pace === 0 || this.chunks.length > SLOW_WRITES) callback()
    else this.#time.after(this.#pace, callback)
  }
}

type Read = (body: BodyReadable, reading: Reading) => Promise<void>

async function iterate(body: Readable, { watch }: Reading, most: number): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of body) {
    chunks.push(Buffer.from(chunk as Buffer))
    if (chunks.length >= most) return
  }
  watch.whole = Buffer.concat(chunks)
}

/** By events; settles with the first that ends it. */
export function readByEvents(body: Readable, { watch }: Reading): Promise<void> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    body.on('data', (chunk: Buffer) => chunks.push(chunk))
    body.on('error', () => resolve())
    body.on('close', () => resolve())
    body.on('end', () => {
      watch.whole = Buffer.concat(chunks)
      resolve()
    })
  })
}

function readByPulling(body: Readable, { watch }: Reading): Promise<void> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    body.on('readable', () => {
      for (let chunk: unknown = body.read(); chunk !== null; chunk = body.read()) chunks.push(chunk as Buffer)
    })
    body.on('error', () => resolve())
    body.on('close', () => resolve())
    body.on('end', () => {
      watch.whole = Buffer.concat(chunks)
      resolve()
    })
  })
}

async function pipeTo(body: Readable, { watch, time }: Reading, pace: number): Promise<void> {
  const writable = new SlowWritable(time, pace)
  await pipeline(body, writable)
  watch.whole = Buffer.concat(writable.chunks)
}

async function pause(body: Readable, reading: Reading): Promise<void> {
  const read = readByEvents(body, reading)
  for (let count = 0; count < 5 && !body.destroyed; count++) {
    body.pause()
    await reading.time.sleep(reading.pace)
    body.resume()
    await reading.time.sleep(1)
  }
  await read
}

/** Not by its listeners: a reader that has none hears of the failure nevertheless. */
async function readWeb(body: BodyReadable, reading: Reading, most: number): Promise<void> {
  const reader = body.body.getReader()
  const chunks: Uint8Array[] = []
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    chunks.push(value)
    if (chunks.length < most) continue
    await reader.cancel()
    return
  }
  reading.watch.whole = Buffer.concat(chunks)
}

async function dumpUntilAborted(body: BodyReadable, { time, pace }: Reading): Promise<void> {
  const controller = new AbortController()
  time.after(pace, () => controller.abort())
  await body.dump({ signal: controller.signal })
}

async function destroyLater(body: Readable, { watch, time, pace }: Reading, error?: Error): Promise<void> {
  for (const endings of watch.endings) if (endings.stream === body) endings.isGivenUp = true
  if (error !== undefined) body.on('error', () => {})
  if (pace > 1) await time.sleep(pace)
  body.destroy(error)
}

async function keep(
  watch: CallWatch,
  convert: Promise<{ length: number } | ArrayBuffer | string>,
): Promise<void> {
  const value = await convert
  watch.whole = typeof value === 'string' ? null : Buffer.from(value as Uint8Array)
}

/** The reader waits, and no other code ends the body: the harness does. */
function neglect(_body: Readable, { watch }: Reading): Promise<void> {
  watch.isPassive = true
  return Promise.resolve()
}

/** By the names of plan-calls.ts. */
const READ: Readonly<Record<string, Read>> = {
  text: async (body) => void (await body.text()),
  json: async (body) => void (await body.json()),
  bytes: (body, { watch }) => keep(watch, body.bytes()),
  arrayBuffer: (body, { watch }) => keep(watch, body.arrayBuffer()),
  blob: async (body, { watch }) => keep(watch, (await body.blob()).arrayBuffer()),
  formData: async (body) => void (await body.formData()),
  iterate: (body, reading) => iterate(body, reading, Number.POSITIVE_INFINITY),
  'iterate and stop': (body, reading) => iterate(body, reading, 1),
  events: readByEvents,
  readable: readByPulling,
  'pipe slowly': (body, reading) => pipeTo(body, reading, reading.pace),
  pipe: (body, reading) => pipeTo(body, reading, 0),
  pause,
  destroy: (body, reading) => destroyLater(body, reading),
  'destroy with an error': (body, reading) => destroyLater(body, reading, new Error('The reader has failed')),
  dump: (body) => body.dump(),
  'dump little': (body, { watch }) => {
    // It destroys a longer body, which is no failure if all of it has come.
    for (const endings of watch.endings) if (endings.stream === body) endings.isGivenUp = true
    return body.dump({ limit: 5 })
  },
  'dump until aborted': dumpUntilAborted,
  web: (body, reading) => readWeb(body, reading, Number.POSITIVE_INFINITY),
  'web and cancel': (body, reading) => readWeb(body, reading, 1),
  never: neglect,
  'only listen': neglect,
  'text later': async (body, { time, pace }) => {
    await time.sleep(pace)
    await body.text()
  },
  'events later': async (body, reading) => {
    await reading.time.sleep(reading.pace)
    // Who comes late may come too late.
    if (!body.closed) await readByEvents(body, reading)
  },
  encoding: async (body) => {
    body.setEncoding('utf8')
    for await (const _text of body);
  },
  'read twice': async (body, reading) => {
    await Promise.allSettled([body.text(), readByPulling(body, reading), body.json()])
    reading.watch.whole = null
  },
}

/** Reads a body in the way of its call's plan. */
export function readBody(body: BodyReadable, reading: Reading): void {
  const { watch } = reading
  if (body.closed) watch.miss('the body')
  const read = READ[watch.plan.reader] ?? READ.text
  if (watch.plan.listens || watch.plan.reader === 'only listen') watch.listen('the body', body)
  else if (watch.plan.reader === 'never') watch.neglected = body
  if (read !== undefined) watch.follow(`reading by ${watch.plan.reader}`, read(body, reading))
}
