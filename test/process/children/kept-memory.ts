/** Has a response kept, in pieces of several sizes, and reports how much memory that took. */
import type { Duplex } from 'node:stream'
import { Writable } from 'node:stream'
import type { Client } from '../../../src/index.ts'
import { fetch } from '../../../src/index.ts'
import type { PiecePlan } from './piece-plan.ts'
import { MOST_TIMES, STREAM_SHARE, toClient, toRequest, toSent } from './piece-plan.ts'
import { report } from './report.ts'

/** What keeps a response, and how many bytes it was given to consume. */
interface Held {
  /** All that the caller of a real program would have. */
  readonly held: unknown
  readonly consumed: number
}

type Holder = (client: Client, plan: PiecePlan, origin: string) => Promise<Held>

/** How often a cell is measured that seems to take more than it may. */
const MOST_MEASUREMENTS = 15

/** Bytes of the frame of an unknown type behind each DATA frame. */
const JUNK = 3_000

/**
 * The DATA frames of one response: their size, their number, and the junk between them. What they are together stays
 * below each window, and below the client's budget, since junk is charged by its size.
 */
const CELLS = [
  { size: 1, count: 30_000, junk: 0 },
  { size: 100, count: 3_000, junk: 0 },
  { size: 1_000, count: 1_000, junk: 0 },
  { size: 16_384, count: 60, junk: 0 },
  { size: 1, count: 1_000, junk: JUNK },
  { size: 100, count: 1_000, junk: JUNK },
  { size: 1_000, count: 600, junk: JUNK },
  { size: 16_384, count: 60, junk: JUNK },
] as const

/** `half`: 0 or 1, for half of the cells that has each size, with junk or without it. */
const [, , name = '', engine = '', origin = '', half = ''] = process.argv
const request = { bodyTimeout: 0 } as const

function ignore(): void {}

async function requestBody(client: Client, plan: PiecePlan) {
  const { body } = await client.request({ ...toRequest(plan), ...request })
  body.on('error', ignore)
  return body
}

function fetchOne(client: Client, { headers }: ReturnType<typeof toRequest>) {
  return fetch(origin, { dispatcher: client, headers: { ...headers } })
}

const HOLDERS: Readonly<Record<string, Holder>> = {
  async 'a paused dispatch() handler'(client, plan) {
    const held = await new Promise((resolve, reject) => {
      client.dispatch(
        { ...toRequest(plan), ...request },
        {
          onRequestStart: ignore,
          onResponseStart(controller) {
            controller.pause()
            resolve(controller)
          },
          onResponseData: ignore,
          onResponseEnd: ignore,
          onResponseError: (_controller, error) => reject(error),
        },
      )
    })
    return { held, consumed: 0 }
  },
  async 'an unread body'(client, plan) {
    return { held: await requestBody(client, plan), consumed: 0 }
  },
  async 'ten unread bodies'(client, plan) {
    const one = { ...plan, total: Math.ceil(plan.total / 10) }
    const held = await Promise.all(Array.from({ length: 10 }, () => requestBody(client, one)))
    return { held, consumed: 0 }
  },
  async 'an unfinished text()'(client, plan) {
    const body = await requestBody(client, plan)
    return { held: [body, body.text().catch(ignore)], consumed: 0 }
  },
  async "a body whose 'readable' listener reads nothing"(client, plan) {
    const body = await requestBody(client, plan)
    return { held: body.on('readable', ignore), consumed: 0 }
  },
  async 'stream() into a Writable that never calls back'(client, plan) {
    const writable = new Writable({ highWaterMark: 1, write: ignore })
    const begun = new Promise((resolve, reject) => {
      client
        .stream({ ...toRequest(plan), ...request }, () => {
          resolve(null)
          return writable.on('error', ignore)
        })
        .catch(reject)
    })
    await begun
    return { held: writable, consumed: 0 }
  },
  async 'an unread pipeline()'(client, plan) {
    const duplex = await new Promise<Duplex>((resolve) => {
      const pipeline = client.pipeline({ ...toRequest(plan), ...request }, ({ body }) => {
        resolve(pipeline)
        return body
      })
      pipeline.on('error', ignore).end()
    })
    return { held: duplex, consumed: 0 }
  },
  async 'an unread fetch Response'(client, plan) {
    return { held: await fetchOne(client, toRequest(plan)), consumed: 0 }
  },
  async 'an unfinished text() of fetch'(client, plan) {
    const response = await fetchOne(client, toRequest(plan))
    return { held: [response, response.text().catch(ignore)], consumed: 0 }
  },
  async 'an unread fetch Response in gzip'(client, plan) {
    return { held: await fetchOne(client, toRequest({ ...plan, encoding: 'gzip' })), consumed: 0 }
  },
  async 'a reader of fetch that has read once'(client, plan) {
    const response = await fetchOne(client, toRequest(plan))
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const { value } = await reader.read()
    return { held: [response, reader], consumed: value?.length ?? 0 }
  },
  async 'an unread tunnel'(client, plan) {
    const { headers } = toRequest(plan)
    const { socket } = await client.connect({ path: '127.0.0.1:443', headers, ...request })
    return { held: socket.on('error', ignore), consumed: 0 }
  },
  /** A 421 is held for fetches of undici's, up to 64 KiB; their bodies are async iterables of a known length. */
  async 'a 421 for fetch'(client, plan) {
    const total = Math.min(plan.total, 60_000)
    const misdirected = toRequest({ ...plan, size: Math.min(plan.size, total), total, status: 421 })
    const headers = { ...misdirected.headers, 'content-length': '4' }
    client.dispatch(
      { ...misdirected, method: 'POST', headers, body: toFour(), ...request },
      {
        onRequestStart: ignore,
        onResponseStart: ignore,
        onResponseData: ignore,
        onResponseEnd: ignore,
        onResponseError: ignore,
      },
    )
    return { held: null, consumed: 0 }
  },
}

async function* toFour(): AsyncGenerator<Buffer> {
  yield Buffer.from('four')
}

/** The heap, and what it refers to outside: `external` includes the array buffers. The least of some looks. */
async function toMemory(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('Run it with --expose-gc')
  let least = Number.POSITIVE_INFINITY
  for (let look = 0; look < 4; look++) {
    await new Promise((resolve) => setImmediate(resolve))
    globalThis.gc()
    const { heapUsed, external } = process.memoryUsage()
    least = Math.min(least, heapUsed + external)
  }
  return least
}

type Cell = (typeof CELLS)[number]

let measurements = 0

async function measure(hold: Holder, { size, count, junk }: Cell) {
  const client = toClient(origin, engine)
  const key = `${process.pid}-${++measurements}`
  // The connection, and what it takes to ask, are there before.
  await toSent(client, key, true)
  const before = await toMemory()
  const { held, consumed } = await hold(client, { key, size, total: size * count, junk }, origin)
  const bytes = (await toSent(client, key)) - consumed
  const kept = (await toMemory()) - before
  await client.destroy()
  return { size, junk, bytes, kept, isHeld: held !== undefined }
}

/**
 * What runs first compiles code, which stays: the least of some measurements is what the response takes. It takes its
 * bytes at least: with less, garbage of before was collected meanwhile.
 */
async function measureLeast(hold: Holder, cell: Cell) {
  let least = await measure(hold, cell)
  for (let more = 1; more < MOST_MEASUREMENTS; more++) {
    if (least.kept >= least.bytes && least.kept <= least.bytes * MOST_TIMES + STREAM_SHARE) break
    const next = await measure(hold, cell)
    if (next.kept >= next.bytes && (least.kept < least.bytes || next.kept < least.kept)) least = next
  }
  return least
}

const hold = HOLDERS[name]
if (hold === undefined) throw new Error(`There is no holder ${name}`)
process.on('unhandledRejection', ignore)
const cells = []
for (const [at, cell] of CELLS.entries()) {
  const isOfHalf = (at + (cell.junk > 0 ? 1 : 0)) % 2 === Number(half)
  if (isOfHalf) cells.push(await measureLeast(hold, cell))
}
// A pipeline is two: its Duplex, and the body below it. So is a 421 that waits while its request's body is sent.
const streams = name.startsWith('ten') ? 10 : /pipeline|421/.test(name) ? 2 : 1
report({ node: process.version, streams, cells })
process.exit()
