/** A signal that fires, at each stage of a fetch. */

import { getEventListeners } from 'node:events'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { errors, fetch } from '../../../src/index.ts'
import { Setting } from '../../../src/testing/frames.ts'
import { toAgent } from '../../support/clients/agents.ts'
import { CANCEL } from '../../support/peers/error-codes.ts'
import type { Rig } from './body-support-rig.ts'
import { defer, startRig, toReason, toStream } from './body-support-rig.ts'

/** Undefined stands for an AbortError. standard-aborts.ts has other values. */
const REASONS: readonly (readonly [string, unknown])[] = [
  ['an Error', new Error('enough')],
  ['null', null],
  ['undefined', undefined],
]

function expectReason(actual: unknown, given: unknown, signal: AbortSignal): void {
  expect(actual).toBe(signal.reason)
  if (given !== undefined) expect(actual).toBe(given)
  else expect(actual).toMatchObject({ name: 'AbortError', code: 20 })
}

/** `/headless` gets no response, `/open` has a body without an end; all other paths get a response. */
function start(options = {}): Promise<Rig> {
  return startRig({
    ...options,
    onRequest(stream) {
      if (stream.path === '/open') {
        stream.head(200)
        stream.data('begun')
      } else if (stream.path === '/gzip') {
        stream.head(200, [['content-encoding', 'gzip']])
      } else if (stream.path === '/whole') {
        stream.respond()
      } else if (stream.path === '/bodiless') {
        stream.head(204)
      }
    },
    onComplete(stream) {
      if (stream.path === '/sibling') stream.respond()
    },
  })
}

async function expectSibling(rig: Rig): Promise<void> {
  expect(await (await rig.get('/sibling')).text()).toBe('GET /sibling')
  expect(rig.peer.connections.length).toBe(1)
  expect(rig.calls).toEqual({ running: 0, pending: 0 })
}

function listeners(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length
}

/** What waits for the response or the body when the signal fires, and what asks for it afterwards: all of it fails. */
interface Stage {
  readonly before?: readonly Promise<unknown>[]
  readonly after?: readonly (() => Promise<unknown>)[]
}

const STAGES: readonly (readonly [
  what: string,
  path: string,
  toStage: (rig: Rig, toResponse: () => Promise<Response>) => Promise<Stage>,
])[] = [
  [
    'the response is waited for: the stream is reset',
    '/headless',
    async (rig, toResponse) => {
      const fetched = toResponse()
      await rig.arrived('/headless')
      return { before: [fetched] }
    },
  ],
  [
    'the body is not read: the next read fails',
    '/open',
    async (_rig, toResponse) => {
      const response = await toResponse()
      return { after: [() => response.text()] }
    },
  ],
  [
    'text() reads the body: it fails',
    '/open',
    async (_rig, toResponse) => ({ before: [(await toResponse()).text()] }),
  ],
  [
    'text() reads a coded body: it fails',
    '/gzip',
    async (rig, toResponse) => {
      const text = (await toResponse()).text()
      rig.peer.request('/gzip').data(gzipSync('begun').toString('latin1').slice(0, 1))
      return { before: [text] }
    },
  ],
  [
    'a reader reads the body: its read fails, and so does the next',
    '/open',
    async (_rig, toResponse) => {
      const reader = toStream(await toResponse()).getReader()
      await reader.read()
      return { before: [reader.read()], after: [() => reader.read(), () => reader.closed] }
    },
  ],
  [
    'a stream of the body waits for a reader: it fails',
    '/open',
    async (_rig, toResponse) => {
      const stream = toStream(await toResponse())
      return { after: [() => stream.getReader().read()] }
    },
  ],
  [
    'a clone is read: both fail',
    '/open',
    async (_rig, toResponse) => {
      const response = await toResponse()
      return { before: [response.clone(), response].map((one) => one.text()) }
    },
  ],
]

describe.each(REASONS)('when a signal fires with %s', (_what, reason) => {
  it('before the fetch: nothing is sent', async () => {
    const rig = await start()
    const signal = AbortSignal.abort(reason)
    expectReason(await toReason(rig.get('/headless', { signal })), reason, signal)
    expect(listeners(signal)).toBe(0)
    await expectSibling(rig)
    expect(rig.peer.ledger).toEqual(['0/1 GET /sibling'])
  })

  it('while the peer allows no stream: the call leaves the queue', async () => {
    const rig = await start({ settings: [[Setting.MAX_CONCURRENT_STREAMS, 1]] })
    const first = await rig.get('/open')
    const controller = new AbortController()
    const fetched = toReason(rig.get('/headless', { signal: controller.signal }))
    expect(rig.calls).toEqual({ running: 1, pending: 1 })
    controller.abort(reason)
    expect(rig.calls).toEqual({ running: 1, pending: 0 })
    expectReason(await fetched, reason, controller.signal)
    expect(listeners(controller.signal)).toBe(0)
    rig.peer.request('/open').end('.')
    expect(await first.text()).toBe('begun.')
    await expectSibling(rig)
    expect(rig.peer.counts).toEqual({ 'GET /open': 1, 'GET /sibling': 1 })
  })

  it.each(STAGES)('while %s', async (_what, path, toStage) => {
    const rig = await start()
    const controller = new AbortController()
    const { before = [], after = [] } = await toStage(rig, () => rig.get(path, { signal: controller.signal }))
    const failing = before.map(toReason)
    await rig.roundTrip()
    controller.abort(reason)
    for (const failed of [...failing, ...after.map((read) => toReason(read()))])
      expectReason(await failed, reason, controller.signal)
    expect(await rig.resetOf(path)).toBe(CANCEL)
    expect(listeners(controller.signal)).toBe(0)
    await expectSibling(rig)
  })

  it('while the request body is sent: it is cancelled with the reason', async () => {
    const rig = await start()
    const controller = new AbortController()
    const cancelled = defer()
    let given: unknown = 'nothing'
    const body = new ReadableStream<Uint8Array>({
      pull: (stream) => stream.enqueue(new Uint8Array(100_000)),
      cancel(value) {
        given = value
        cancelled.resolve()
      },
    })
    const { signal } = controller
    const fetched = toReason(rig.get('/headless', { method: 'POST', body, duplex: 'half', signal }))
    const stream = await rig.arrived('/headless')
    await rig.peer.waitFor(() => stream.length > 0)
    controller.abort(reason)
    expectReason(await fetched, reason, signal)
    await cancelled.promise
    expectReason(given, reason, signal)
    expect(await rig.resetOf('/headless')).toBe(CANCEL)
    expect(listeners(signal)).toBe(0)
    await expectSibling(rig)
  })

  it('by cancelling the response body while the request body is sent: its source gets the reason', async () => {
    const rig = await start()
    const cancelled = defer()
    let given: unknown = 'nothing'
    const body = new ReadableStream<Uint8Array>({
      pull: (stream) => stream.enqueue(new Uint8Array(100_000)),
      cancel(value) {
        given = value
        cancelled.resolve()
      },
    })
    const response = await rig.get('/open', { method: 'POST', body, duplex: 'half' })
    await response.body?.cancel('enough')
    await cancelled.promise
    expect(given).toBeInstanceOf(errors.RequestAbortedError)
    expect(given).toMatchObject({ message: 'The body was cancelled', cause: 'enough' })
    expect(await rig.resetOf('/open')).toBe(CANCEL)
    await expectSibling(rig)
  })

  it('after all bytes came, unread: the next read fails', async () => {
    const rig = await start()
    const controller = new AbortController()
    const response = await rig.get('/whole', { signal: controller.signal })
    await rig.roundTrip()
    controller.abort(reason)
    expectReason(await toReason(response.text()), reason, controller.signal)
    expect(listeners(controller.signal)).toBe(0)
    await expectSibling(rig)
    expect(rig.peer.request('/whole').resetCode).toBe(null)
  })

  it('after a response without a body, whose stream stays open: the stream is reset', async () => {
    const rig = await start()
    const controller = new AbortController()
    const response = await rig.get('/bodiless', { signal: controller.signal })
    expect([response.status, response.body]).toEqual([204, null])
    controller.abort(reason)
    expect(await rig.resetOf('/bodiless')).toBe(CANCEL)
    expect(listeners(controller.signal)).toBe(0)
    await expectSibling(rig)
  })

  it('after all was read: nothing happens', async () => {
    const rig = await start()
    const controller = new AbortController()
    const response = await rig.get('/whole', { signal: controller.signal })
    expect(await response.text()).toBe('GET /whole')
    expect(listeners(controller.signal)).toBe(0)
    controller.abort(reason)
    expect(response.ok).toBe(true)
    await expectSibling(rig)
  })

  it('while there is no connection yet: the call leaves the queue', async () => {
    const origin = 'http://127.0.0.1:8080'
    const agent = toAgent({ connect: () => {} })
    const controller = new AbortController()
    const fetched = toReason(fetch(origin, { dispatcher: agent, signal: controller.signal }))
    controller.abort(reason)
    expectReason(await fetched, reason, controller.signal)
    expect(agent.stats[origin]).toMatchObject({ running: 0, pending: 0 })
    expect(listeners(controller.signal)).toBe(0)
  })
})
