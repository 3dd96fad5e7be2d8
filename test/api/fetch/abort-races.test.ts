/** A signal that fires at the very moment at which something else happens. */

import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { fetch } from '../../../src/index.ts'
import type { DispatchHandler, DispatchOptions } from '../../../types/index.ts'
import { CANCEL } from '../../support/peers/error-codes.ts'
import { toNoise } from './body-support.ts'
import type { Rig } from './body-support-rig.ts'
import { sendBytes, startRig, toReason, toStream } from './body-support-rig.ts'

const reason = new Error('enough')

/** `/moved` leads to `/open`, whose body has no end; `/headless` gets no response. */
function start(): Promise<Rig> {
  return startRig({
    onRequest(stream) {
      if (stream.path === '/headless' || stream.path === '/moving-later') return
      if (stream.path === '/moved') {
        stream.head(302, [['location', '/open']])
        stream.end()
      } else if (stream.path === '/moving') {
        stream.head(302, [['location', '/headless']])
        stream.data('and no end')
      } else if (stream.path === '/open') {
        stream.head(200)
        stream.data('begun')
      } else if (stream.path === '/gzip') {
        stream.head(200, [['content-encoding', 'gzip']])
      } else {
        stream.respond()
      }
    },
  })
}

/** Runs a function inside a handler's method, before or after fetch's own method. */
function around(
  rig: Rig,
  method: 'onRequestStart' | 'onResponseStart' | 'onResponseData' | 'onResponseEnd',
  when: 'before' | 'after',
  act: () => void,
): { dispatch(options: DispatchOptions, handler: DispatchHandler): boolean } {
  return {
    dispatch(options, handler) {
      const wrapped: DispatchHandler = {
        onRequestStart: (...args) => handler.onRequestStart?.(...args),
        onResponseStart: (...args) => handler.onResponseStart?.(...args),
        onResponseData: (...args) => handler.onResponseData?.(...args),
        onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
        onResponseError: (...args) => handler.onResponseError?.(...args),
      }
      const own = wrapped[method] as (...args: unknown[]) => void
      const both = (...args: unknown[]): void => {
        if (when === 'before') act()
        own(...args)
        if (when === 'after') act()
      }
      return rig.agent.dispatch(options, { ...wrapped, [method]: both })
    },
  }
}

async function expectAlive(rig: Rig): Promise<void> {
  await rig.roundTrip()
  expect(rig.calls).toEqual({ running: 0, pending: 0 })
  expect(await (await rig.get('/alive')).text()).toBe('GET /alive')
  expect(rig.peer.connections.length).toBe(1)
}

async function toOutcome(rig: Rig, dispatcher: object, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(`${rig.peer.origin}/whole`, { dispatcher: dispatcher as Rig['agent'], signal })
  return response.text()
}

describe.each([
  'before',
  'after',
] as const)('when the signal fires inside the dispatcher, %s fetch gets the call', (when) => {
  it.each([
    'onRequestStart',
    'onResponseStart',
    'onResponseData',
  ] as const)('of %s: it fails', async (method) => {
    const rig = await start()
    await (await rig.get('/first')).text()
    const controller = new AbortController()
    const dispatcher = around(rig, method, when, () => controller.abort(reason))
    expect(await toReason(toOutcome(rig, dispatcher, controller.signal))).toBe(reason)
    await expectAlive(rig)
  })

  it('of onResponseEnd: it fails, unless it was read by then', async () => {
    const rig = await start()
    await (await rig.get('/first')).text()
    const controller = new AbortController()
    const dispatcher = around(rig, 'onResponseEnd', when, () => controller.abort(reason))
    const outcome = await toOutcome(rig, dispatcher, controller.signal).catch((error) => error)
    expect([reason, 'GET /whole']).toContain(outcome)
    await expectAlive(rig)
  })
})

describe('when the signal fires in a microtask after the header', () => {
  it('the promise is fulfilled, and the body fails', async () => {
    const rig = await start()
    const controller = new AbortController()
    const text = rig.get('/open', { signal: controller.signal }).then((response) => {
      controller.abort(reason)
      return response.text()
    })
    expect(await toReason(text)).toBe(reason)
    expect(await rig.resetOf('/open')).toBe(CANCEL)
    await expectAlive(rig)
  })

  it('text() that has been called fails', async () => {
    const rig = await start()
    const controller = new AbortController()
    const response = await rig.get('/open', { signal: controller.signal })
    const text = toReason(response.text())
    queueMicrotask(() => controller.abort(reason))
    expect(await text).toBe(reason)
    await expectAlive(rig)
  })
})

describe('when the signal fires in the same tick as the fetch', () => {
  it('after the fetch: it fails, and leaves nothing behind', async () => {
    const rig = await start()
    await (await rig.get('/first')).text()
    const controller = new AbortController()
    const fetched = toReason(rig.get('/whole', { signal: controller.signal }))
    controller.abort(reason)
    expect(await fetched).toBe(reason)
    await expectAlive(rig)
  })

  it('and the caller fetches again from inside the listener', async () => {
    const rig = await start()
    const controller = new AbortController()
    let again: Promise<Response> | null = null
    controller.signal.addEventListener('abort', () => {
      again = rig.get('/again')
    })
    const fetched = toReason(rig.get('/headless', { signal: controller.signal }))
    await rig.arrived('/headless')
    controller.abort(reason)
    expect(await fetched).toBe(reason)
    expect(await (await (again as unknown as Promise<Response>)).text()).toBe('GET /again')
    await expectAlive(rig)
  })
})

describe('when the signal fires during a redirect', () => {
  it('between two hops: nothing more is sent', async () => {
    const rig = await start()
    const controller = new AbortController()
    const dispatcher = around(rig, 'onResponseStart', 'before', () => controller.abort(reason))
    const fetched = fetch(`${rig.peer.origin}/moved`, {
      dispatcher: dispatcher as unknown as Rig['agent'],
      signal: controller.signal,
    })
    expect(await toReason(fetched)).toBe(reason)
    await expectAlive(rig)
    expect(rig.peer.counts).toEqual({ 'GET /moved': 1, 'GET /alive': 1 })
  })

  it('after the last hop: its body fails', async () => {
    const rig = await start()
    const controller = new AbortController()
    const response = await rig.get('/moved', { signal: controller.signal })
    controller.abort(reason)
    expect(await toReason(response.text())).toBe(reason)
    expect(await rig.resetOf('/open')).toBe(CANCEL)
    await expectAlive(rig)
  })

  it('while the response of the first hop has not ended: neither stream stays open', async () => {
    const rig = await start()
    const controller = new AbortController()
    const fetched = toReason(rig.get('/moving', { signal: controller.signal }))
    await rig.arrived('/headless')
    controller.abort(reason)
    expect(await fetched).toBe(reason)
    expect(await rig.resetOf('/headless')).toBe(CANCEL)
    expect(await rig.resetOf('/moving')).toBe(CANCEL)
    await expectAlive(rig)
  })

  it('the same after a request that was sent whole', async () => {
    const rig = await start()
    const controller = new AbortController()
    const init = { method: 'POST', body: 'body', signal: controller.signal }
    const fetched = toReason(rig.get('/moving-later', init))
    const first = await rig.arrived('/moving-later')
    await rig.peer.waitFor(() => first.isComplete)
    first.head(307, [['location', '/headless']])
    first.data('and no end')
    await rig.arrived('/headless')
    controller.abort(reason)
    expect(await fetched).toBe(reason)
    await rig.roundTrip()
    expect(first.resetCode).toBe(CANCEL)
    await expectAlive(rig)
  })
})

describe('when the signal fires while a body is decoded', () => {
  const NOISE = toNoise(100_000)
  const ENCODED = gzipSync(NOISE)

  it('the read fails, once', async () => {
    const rig = await start()
    const controller = new AbortController()
    const response = await rig.get('/gzip', { signal: controller.signal })
    sendBytes(rig, '/gzip', ENCODED.subarray(0, 10_000))
    const reader = toStream(response).getReader()
    await reader.read()
    sendBytes(rig, '/gzip', ENCODED.subarray(10_000, 26_000))
    await rig.roundTrip()
    controller.abort(reason)
    expect(await toReason(reader.read())).toBe(reason)
    expect(await toReason(reader.closed)).toBe(reason)
    expect(await rig.resetOf('/gzip')).toBe(CANCEL)
    await expectAlive(rig)
  })
})

describe('when the signal fires while the integrity of a body is checked', () => {
  const integrity = `sha256-${createHash('sha256').update('begun').digest('base64')}`

  it('the promise is rejected with the reason, and the stream reset', async () => {
    const rig = await start()
    const controller = new AbortController()
    const fetched = toReason(rig.get('/open', { signal: controller.signal, integrity }))
    await rig.arrived('/open')
    await rig.roundTrip()
    controller.abort(reason)
    expect(await fetched).toBe(reason)
    expect(await rig.resetOf('/open')).toBe(CANCEL)
    await expectAlive(rig)
  })

  it('after the check the valid body fails, if it is unread', async () => {
    const rig = await start()
    const controller = new AbortController()
    const fetched = rig.get('/open', { signal: controller.signal, integrity })
    await rig.arrived('/open')
    rig.peer.request('/open').end()
    const response = await fetched
    controller.abort(reason)
    expect(await toReason(response.text())).toBe(reason)
    await expectAlive(rig)
  })
})
