import { describe, expect, it } from 'vitest'
import { fetch } from '../../../src/index.ts'
import { toAgent } from '../../support/clients/agents.ts'
import { startPeer } from '../../support/peers/peer-rig.ts'
import { MODULES } from './request-modules.ts'
import { toFailure } from './request-rig.ts'

/** A stream that a test fills, and how it ended. */
class Tap {
  readonly stream: ReadableStream<Uint8Array>
  /** The reason with which fetch has cancelled the stream; null if it hasn't. */
  cancelled: { readonly reason: unknown } | null = null
  #controller: ReadableStreamDefaultController<Uint8Array> | ReadableByteStreamController | null = null

  constructor(type: 'bytes' | undefined) {
    const source = {
      start: (controller: ReadableStreamDefaultController<Uint8Array> | ReadableByteStreamController) => {
        this.#controller = controller
      },
      cancel: (reason: unknown) => {
        this.cancelled = { reason }
      },
    }
    this.stream = type === 'bytes' ? new ReadableStream({ type, ...source }) : new ReadableStream(source)
  }

  write(text: string): void {
    const chunk = new TextEncoder().encode(text)
    const controller = this.#controller
    if (controller instanceof ReadableByteStreamController) controller.enqueue(chunk)
    else controller?.enqueue(chunk)
  }

  close(): void {
    this.#controller?.close()
  }

  error(reason: Error): void {
    this.#controller?.error(reason)
  }
}

const TYPES = [undefined, 'bytes'] as const
const CASES = MODULES.flatMap((module) => TYPES.map((type) => ({ ...module, type, as: type ?? 'plain' })))

/** The peer responds, resets or holds, request by request. */
describe.each(CASES)('when the body of a Request of $name is a $as stream', ({ Request, type }) => {
  function toRequest(origin: string, { stream }: Tap) {
    return new Request(`${origin}/`, { method: 'POST', body: stream, duplex: 'half' })
  }

  it('sends it as it comes', async () => {
    const peer = await startPeer({ onComplete: (stream) => stream.respond('received') })
    const tap = new Tap(type)
    tap.write('first ')
    const call = fetch(toRequest(peer.origin, tap), { dispatcher: toAgent({}) })
    await peer.waitFor(() => peer.requests[0]?.text === 'first ')
    tap.write('second')
    await peer.waitFor(() => peer.requests[0]?.text === 'first second')
    tap.close()
    expect(await (await call).text()).toBe('received')
    expect(peer.ledger).toEqual(['0/1 POST /'])
  })

  it('gets a response that comes before any of the stream', async () => {
    const peer = await startPeer({ onRequest: (stream) => stream.head(200) })
    const tap = new Tap(type)
    const response = await fetch(toRequest(peer.origin, tap), { dispatcher: toAgent({}) })
    expect(response.status).toBe(200)
    tap.write('late')
    await peer.waitFor(() => peer.requests[0]?.text === 'late')
    tap.close()
    await peer.waitFor(() => peer.requests[0]?.isComplete === true)
    peer.request('/').end('whole')
    expect(await response.text()).toBe('whole')
  })

  it('fails with the error of a stream that fails before anything is sent', async () => {
    const peer = await startPeer({ onComplete: (stream) => stream.respond() })
    const tap = new Tap(type)
    tap.error(new Error('broken'))
    const call = fetch(toRequest(peer.origin, tap), { dispatcher: toAgent({}) })
    expect(await toFailure(call)).toBe('TypeError: fetch failed ← broken')
    expect(peer.requests.some(({ isComplete, resetCode }) => isComplete && resetCode === null)).toBe(false)
  })

  it('fails with the error of a stream that fails in the middle', async () => {
    const peer = await startPeer({})
    const tap = new Tap(type)
    const call = fetch(toRequest(peer.origin, tap), { dispatcher: toAgent({}) })
    tap.write('first')
    await peer.waitFor(() => peer.requests[0]?.text === 'first')
    tap.error(new Error('broken'))
    expect(await toFailure(call)).toBe('TypeError: fetch failed ← broken')
    await peer.waitFor(() => peer.requests[0]?.resetCode !== null)
    expect(peer.request('/').isComplete).toBe(false)
  })

  it('cancels it with the reason of an abort in the middle', async () => {
    const peer = await startPeer({})
    const tap = new Tap(type)
    const controller = new AbortController()
    const { signal } = controller
    const call = fetch(toRequest(peer.origin, tap), { dispatcher: toAgent({}), signal })
    tap.write('first')
    await peer.waitFor(() => peer.requests[0]?.text === 'first')
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(call).rejects.toBe(reason)
    await expect.poll(() => tap.cancelled, { interval: 5 }).toEqual({ reason })
    await peer.waitFor(() => peer.requests[0]?.resetCode !== null)
    // Half a body doesn't look like a whole one.
    expect(peer.request('/').isComplete).toBe(false)
  })

  it('cancels it when an abort comes at once', async () => {
    const peer = await startPeer({})
    const tap = new Tap(type)
    tap.write('first')
    const controller = new AbortController()
    const { signal } = controller
    const call = fetch(toRequest(peer.origin, tap), { dispatcher: toAgent({}), signal })
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(call).rejects.toBe(reason)
    await expect.poll(() => tap.cancelled, { interval: 5 }).toEqual({ reason })
    expect(peer.requests).toEqual([])
  })

  it('refuses a redirect that needs it again', async () => {
    const peer = await startPeer({
      onComplete: (stream) => {
        stream.head(307, [['location', '/again']])
        stream.end()
      },
    })
    const tap = new Tap(type)
    const call = fetch(toRequest(peer.origin, tap), { dispatcher: toAgent({}) })
    await peer.waitFor(() => peer.requests.length === 1)
    tap.write('only once')
    tap.close()
    expect(await toFailure(call)).toMatch(/^TypeError: fetch failed ← .*stream/)
    expect(peer.ledger).toEqual(['0/1 POST /'])
  })
})

describe('when a stream of the init has a chunk that is no Uint8Array', () => {
  it.each([
    ['a string', 'text'],
    ['an ArrayBuffer', new ArrayBuffer(1)],
    ['undefined', undefined],
  ])('fails with a TypeError about %s', async (_what, chunk) => {
    const peer = await startPeer({})
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(chunk)
        controller.close()
      },
    })
    const call = fetch(peer.origin, { method: 'POST', body: stream, duplex: 'half', dispatcher: toAgent({}) })
    expect(await toFailure(call)).toMatch(/^TypeError: fetch failed ← .*Uint8Array/)
  })
})
