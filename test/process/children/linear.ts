/**
 * Reads responses of n and of 4n pieces, and reports the CPU time that each took in this process, and its longest turn
 * of the event loop.
 */
import type { Duplex, Readable } from 'node:stream'
import { Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import type { Client } from '../../../src/index.ts'
import { fetch } from '../../../src/index.ts'
import type { PiecePlan } from './piece-plan.ts'
import { toClient, toRequest, toSent } from './piece-plan.ts'
import { report } from './report.ts'

/** Reads one response to its end, and says how many bytes it had. */
type Reader = (client: Client, plan: PiecePlan, origin: string) => Promise<number>

/** One look at a reader. Microseconds of CPU time. */
interface Look {
  readonly cost: number
  readonly longest: number
}

/** Pieces of one byte each. */
const PIECES = 16_384
const TIMES = 4
/** The best of as many rounds counts; fewer do where that is well within the bound, but not at first: code is compiled. */
const ROUNDS = 6
const FEWEST_ROUNDS = 2
const GOOD_COST = 5
const GOOD_TURN = 2.5
/** No further round after so many microseconds of CPU time. */
const ENOUGH = 4_000_000
/** What the peer sends before it waits, while turns are measured: the client reads as much at once for n as for 4n. */
const PORTION = 1_024

const [, , name = '', engine = '', origin = '', mode = 'both'] = process.argv

async function requestBody(client: Client, plan: PiecePlan) {
  const { body } = await client.request(toRequest(plan))
  // All pieces are there before the first is read.
  await toSent(client, plan.key)
  return body
}

async function fetchOne(client: Client, plan: PiecePlan): Promise<Response> {
  const { headers } = toRequest(plan)
  const response = (await fetch(origin, { dispatcher: client, headers: { ...headers } })) as Response
  await toSent(client, plan.key)
  return response
}

function toBody({ body }: Response): ReadableStream<Uint8Array<ArrayBuffer>> {
  if (body === null) throw new Error('The Response has no body')
  return body
}

/** A turn of the event loop for each piece, as a slow consumer takes it. */
async function readSlowly(readable: Readable): Promise<number> {
  let bytes = 0
  for await (const chunk of readable as AsyncIterable<Buffer>) {
    bytes += chunk.length
    await turn()
  }
  return bytes
}

async function readStream(stream: ReadableStream<Uint8Array>): Promise<number> {
  let bytes = 0
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return bytes
    bytes += value.length
  }
}

/** A handler that is paused from the start, until all has come. @param isSlow it is paused again at each piece */
function dispatchPaused(client: Client, plan: PiecePlan, isSlow: boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0
    client.dispatch(toRequest(plan), {
      onRequestStart() {},
      onResponseStart(controller) {
        controller.pause()
        toSent(client, plan.key).then(() => controller.resume(), reject)
      },
      onResponseData(controller, chunk) {
        bytes += chunk.length
        if (!isSlow) return
        controller.pause()
        setImmediate(() => controller.resume())
      },
      onResponseEnd: () => resolve(bytes),
      onResponseError: (_controller, error) => reject(error),
    })
  })
}

async function* toFour(): AsyncGenerator<Buffer> {
  yield Buffer.from('four')
}

const READERS: Readonly<Record<string, Reader>> = {
  'dispatch(), resumed once': (client, plan) => dispatchPaused(client, plan, false),
  'dispatch(), paused at each piece': (client, plan) => dispatchPaused(client, plan, true),
  'text()': async (client, plan) => (await (await requestBody(client, plan)).text()).length,
  'json()': async (client, plan) => {
    const value = await (await requestBody(client, plan)).json()
    return typeof value === 'number' ? plan.total : 0
  },
  'bytes()': async (client, plan) => (await (await requestBody(client, plan)).bytes()).length,
  'text(), called at once': async (client, plan) => {
    const { body } = await client.request(toRequest(plan))
    return (await body.text()).length
  },
  async iteration(client, plan) {
    return readSlowly(await requestBody(client, plan))
  },
  async "'data'"(client, plan) {
    let bytes = 0
    const body = await requestBody(client, plan)
    await new Promise((resolve, reject) => {
      body.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      body.on('end', resolve).on('error', reject)
    })
    return bytes
  },
  async "'readable' and read()"(client, plan) {
    let bytes = 0
    const body = await requestBody(client, plan)
    await new Promise((resolve, reject) => {
      body.on('readable', () => {
        for (let chunk = body.read(); chunk !== null; chunk = body.read()) bytes += chunk.length
      })
      body.on('end', resolve).on('error', reject)
    })
    return bytes
  },
  'the web stream of a body': async (client, plan) => {
    const { body } = await requestBody(client, plan)
    if (body === null) throw new Error('There is no stream')
    return readStream(body as ReadableStream<Uint8Array>)
  },
  'dump()': async (client, plan) => {
    await (await requestBody(client, plan)).dump({ limit: plan.total + 1 })
    return plan.total
  },
  async 'stream() into a slow Writable'(client, plan) {
    let bytes = 0
    const slow = new Writable({
      highWaterMark: 16,
      write(chunk: Buffer, _encoding, callback) {
        bytes += chunk.length
        setImmediate(callback)
      },
    })
    await client.stream(toRequest(plan), () => slow)
    return bytes
  },
  async 'a slow pipeline()'(client, plan) {
    const duplex = await new Promise<Duplex>((resolve, reject) => {
      const pipeline = client.pipeline(toRequest(plan), ({ body }) => {
        resolve(pipeline)
        return body
      })
      pipeline.on('error', reject).end()
    })
    await toSent(client, plan.key)
    return readSlowly(duplex)
  },
  'text() of fetch': async (client, plan) => (await (await fetchOne(client, plan)).text()).length,
  'a reader of fetch': async (client, plan) => readStream(toBody(await fetchOne(client, plan))),
  async 'a BYOB reader of fetch'(client, plan) {
    const reader = toBody(await fetchOne(client, plan)).getReader({ mode: 'byob' })
    let bytes = 0
    let view = new Uint8Array(16)
    for (;;) {
      const { done, value } = await reader.read(view)
      if (done) return bytes
      bytes += value.length
      view = new Uint8Array(value.buffer)
    }
  },
  'text() of fetch, in gzip': async (client, plan) =>
    (await (await fetchOne(client, { ...plan, encoding: 'gzip' })).text()).length,
  'a reader of fetch, in gzip': async (client, plan) =>
    readStream(toBody(await fetchOne(client, { ...plan, encoding: 'gzip' }))),
  async 'a tunnel'(client, plan) {
    const { headers } = toRequest(plan)
    const { socket } = await client.connect({ path: '127.0.0.1:443', headers })
    await toSent(client, plan.key)
    const bytes = await readSlowly(socket)
    socket.destroy()
    return bytes
  },
  /** What is kept of a 421 is 64 KiB at most; of undici's fetches only. */
  'a 421 for fetch': (client, plan) =>
    new Promise((resolve, reject) => {
      let bytes = 0
      const misdirected = toRequest({ ...plan, status: 421 })
      const headers = { ...misdirected.headers, 'content-length': '4' }
      client.dispatch(
        { ...misdirected, method: 'POST', headers, body: toFour() },
        {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData(_controller, chunk) {
            bytes += chunk.length
          },
          onResponseEnd: () => resolve(bytes),
          onResponseError: (_controller, error) => reject(error),
        },
      )
    }),
}

/** They make one value of all that has come, in one turn: the caller has asked for that. */
const CONVERSIONS = /text\(\)|json|bytes/

let looks = 0

function toMicroseconds({ user, system }: NodeJS.CpuUsage): number {
  return user + system
}

/** The CPU time of the longest turn of the event loop, from now until it is called. It keeps the loop turning. */
function watchTurns(): () => number {
  let longest = 0
  let isOver = false
  let last = process.cpuUsage()
  const look = (): void => {
    longest = Math.max(longest, toMicroseconds(process.cpuUsage(last)))
    last = process.cpuUsage()
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  return () => {
    isOver = true
    return longest
  }
}

async function look(read: Reader, total: number, isOfTurns: boolean): Promise<Look> {
  const client = toClient(origin, engine)
  const key = `${process.pid}-${++looks}`
  await toSent(client, key, true)
  globalThis.gc?.()
  const portion = isOfTurns ? { portion: PORTION } : {}
  const plan = { key, size: 1, total, junk: 0, ends: true, ...portion }
  const before = process.cpuUsage()
  const toLongest = isOfTurns ? watchTurns() : () => 0
  const bytes = await read(client, plan, origin)
  const longest = toLongest()
  const cost = toMicroseconds(process.cpuUsage(before))
  if (bytes !== total) throw new Error(`${name} has read ${bytes} bytes of ${total}`)
  await client.destroy()
  return { cost, longest }
}

/** The least of some rounds of n and of 4n. @param good a ratio with which it is over */
async function compare(read: Reader, isOfTurns: boolean, good: number): Promise<[number, number]> {
  const which = isOfTurns ? 'longest' : 'cost'
  let [few, many] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  let spent = 0
  for (let round = 0; round < ROUNDS && spent < ENOUGH; round++) {
    if (round >= FEWEST_ROUNDS && many / few < good) break
    const one = await look(read, PIECES, isOfTurns)
    const other = await look(read, PIECES * TIMES, isOfTurns)
    few = Math.min(few, one[which])
    many = Math.min(many, other[which])
    spent += one.cost + other.cost
  }
  return [few, many]
}

const read = READERS[name]
if (read === undefined) throw new Error(`There is no reader ${name}`)
await look(read, PIECES, false)
const cost = mode === 'turns' ? null : await compare(read, false, GOOD_COST)
const hasTurns = mode !== 'cost' && !CONVERSIONS.test(name)
const longest = hasTurns ? await compare(read, true, GOOD_TURN) : null
report({ cost, longest })
process.exit()
