/** Our own fetch, and the ways in which its Response is read. */

import { fetch } from '../../../src/index.ts'
import type { FetchInit } from '../../../types/index.ts'
import { toBody } from './bodies.ts'
import type { Setting } from './calls.ts'
import type { Reading } from './readers.ts'
import { SLOW_WRITES } from './readers.ts'

type Read = (response: Response, reading: Reading) => Promise<void>

async function readAll(stream: ReadableStream<Uint8Array> | null, most: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  if (stream === null) return Buffer.alloc(0)
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    chunks.push(value)
    if (chunks.length >= most) {
      await reader.cancel()
      break
    }
  }
  return Buffer.concat(chunks)
}

async function readByob(stream: ReadableStream<Uint8Array> | null): Promise<void> {
  if (stream === null) return
  const reader = stream.getReader({ mode: 'byob' })
  for (;;) {
    const { done } = await reader.read(new Uint8Array(100))
    if (done) return
  }
}

async function tee({ body }: Response): Promise<void> {
  if (body === null) return
  const [one, other] = body.tee()
  const cancelled = one.cancel()
  await readAll(other, Number.POSITIVE_INFINITY)
  await cancelled
}

async function cancel({ body }: Response, { time, pace }: Reading): Promise<void> {
  await time.sleep(pace)
  await body?.cancel(new Error('The reader has had enough'))
}

/** By the names of plan-calls.ts. */
const READ: Readonly<Record<string, Read>> = {
  text: async (response) => void (await response.text()),
  json: async (response) => void (await response.json()),
  arrayBuffer: async (response, { watch }) => {
    const bytes = await response.arrayBuffer()
    if (!response.headers.has('content-encoding')) watch.whole = Buffer.from(bytes)
  },
  blob: async (response) => void (await response.blob()),
  formData: async (response) => void (await response.formData()),
  reader: async (response, { watch }) => {
    const bytes = await readAll(response.body, Number.POSITIVE_INFINITY)
    if (!response.headers.has('content-encoding')) watch.whole = bytes
  },
  'reader and cancel': async ({ body }) => void (await readAll(body, 1)),
  cancel,
  clone: async (response) => {
    const clone = response.clone()
    await Promise.allSettled([response.text(), clone.text()])
  },
  'tee and cancel one': tee,
  iterate: async ({ body }) => {
    if (body !== null) for await (const _chunk of body as unknown as AsyncIterable<Uint8Array>);
  },
  pipeTo: async ({ body }, { time, pace }) => {
    let written = 0
    const write = async (): Promise<void> => {
      if (++written <= SLOW_WRITES) await time.sleep(pace)
    }
    await body?.pipeTo(new WritableStream({ write }))
  },
  never: async (_response, { watch }) => {
    watch.isPassive = true
  },
  'text later': async (response, { time, pace }) => {
    await time.sleep(pace)
    await response.text()
  },
  byob: ({ body }) => readByob(body),
}

function toInit({ watch, time, dispatcher }: Setting): FetchInit {
  const { method, body, abortAt, options } = watch.plan
  const init: FetchInit = { method, headers: { 'x-call': `${watch.index}` }, dispatcher, ...options }
  // A factory is nothing that the standard has.
  const made = body.kind === 'factory' ? null : toBody(body, { time, watch })
  if (made !== null) Object.assign(init, { body: made, duplex: 'half' })
  if (abortAt === null) return init
  const controller = new AbortController()
  if (abortAt === 0) controller.abort()
  else time.after(abortAt, () => controller.abort())
  return { ...init, signal: controller.signal }
}

/** Starts a call by fetch. */
export function startFetch(setting: Setting): void {
  const { watch, origin } = setting
  const run = async (): Promise<void> => {
    let response: Response
    try {
      response = await fetch(`${origin}/`, toInit(setting))
    } catch (thrown) {
      watch.settle(String(thrown))
      return
    }
    watch.status = response.status
    watch.settle(`status ${response.status}`)
    const read = READ[watch.plan.reader]
    if (read !== undefined) await read(response, setting)
  }
  watch.follow(`fetch(), by ${watch.plan.reader}`, run())
}
