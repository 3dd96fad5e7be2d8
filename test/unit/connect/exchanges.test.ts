import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { toFrame } from '../../../src/connect/envelopes.ts'
import { toConnectError } from '../../../src/connect/failure.ts'
import { StreamExchange } from '../../../src/connect/stream-exchange.ts'
import { UnaryExchange } from '../../../src/connect/unary-exchange.ts'
import type { DispatchController, DispatchHandler } from '../../../types/handler.ts'

const TARGET_URL = 'http://localhost/a.B/C'
const TARGET = { url: TARGET_URL, origin: 'http://localhost', path: '/a.B/C' }

/** A dispatcher that hands its handler over, with a controller that has no more than a call needs. */
function startCall(rawTrailers: readonly string[] | undefined = []) {
  let handler: DispatchHandler | null = null
  const controller = {
    rawHeaders: [],
    rawTrailers,
    pause: () => {},
    resume: () => {},
    abort: () => {},
  } as unknown as DispatchController
  const dispatcher = {
    dispatch(_options: object, given: DispatchHandler): boolean {
      handler = given
      given.onRequestStart?.(controller, {} as never)
      return true
    },
  } as never
  const sending = { dispatcher, target: TARGET, idempotent: false }
  return {
    sending,
    get handler(): DispatchHandler {
      if (handler === null) throw new Error('nothing was dispatched')
      return handler
    },
    controller,
  }
}

const toRequest = (deadline?: number) =>
  ({
    url: TARGET_URL,
    requestMethod: 'POST',
    header: new Headers(),
    signal: new AbortController().signal,
    deadline,
    raw: null,
  }) as never

const isBegun = (): true => true

describe('a stream of messages', () => {
  it('keeps nothing of what a slow reader has taken', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const call = startCall()
    const stream = new StreamExchange(toRequest(), isBegun, 1_000)
    const begun = stream.run(call.sending, null)
    call.handler.onResponseStart?.(call.controller, 200, {}, '')
    await begun
    const taken: WeakRef<object>[] = []
    // The queue is never empty, as it isn't for who reads more slowly than the server sends.
    for (let count = 0; count < 400; count++) {
      const frame = Buffer.from(toFrame(0, new Uint8Array(10)))
      call.handler.onResponseData?.(call.controller, Buffer.concat([frame, frame]))
      for (let times = 0; times < (count < 100 ? 1 : 2); times++) {
        const envelope = stream.take()
        if (envelope !== null) taken.push(new WeakRef(envelope))
      }
    }
    await new Promise(setImmediate)
    collect()
    const kept = taken.filter((envelope) => envelope.deref() !== undefined)
    expect(taken).toHaveLength(700)
    // As many as wait, at most.
    expect(kept.length).toBeLessThanOrEqual(100)
  })

  it.each([
    ['that no field can have', ['a name', 'value']],
    ['of a dispatcher that has none', undefined],
  ] as const)('with trailers %s › ends', async (_what, trailers) => {
    const call = startCall(trailers)
    const stream = new StreamExchange(toRequest(), isBegun, 1_000)
    const begun = stream.run(call.sending, null)
    call.handler.onResponseStart?.(call.controller, 200, {}, '')
    await begun
    const waiting = stream.wait()
    call.handler.onResponseEnd?.(call.controller, {})
    await waiting
    if (trailers === undefined) expect([stream.take(), stream.isComplete]).toEqual([null, true])
    else expect(() => stream.take()).toThrow(ConnectError)
  })
})

describe('a unary call', () => {
  it('that ends without a header section › fails', async () => {
    const call = startCall()
    const exchange = new UnaryExchange(toRequest(), isBegun, () => ({ add: () => {}, end: () => null }))
    const response = exchange.run(call.sending, null)
    call.handler.onResponseEnd?.(call.controller, {})
    await expect(response).rejects.toMatchObject({ code: Code.Internal })
  })

  it('with a deadline in a month › is not over in a millisecond', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const call = startCall()
    const exchange = new UnaryExchange(toRequest(performance.now() + 2 ** 32), isBegun, () => ({
      add: () => {},
      end: () => 'body',
    }))
    const response = exchange.run(call.sending, null)
    vi.advanceTimersByTime(10)
    call.handler.onResponseStart?.(call.controller, 200, {}, '')
    call.handler.onResponseEnd?.(call.controller, {})
    await expect(response).resolves.toMatchObject({ body: 'body' })
  })
})

describe('a call that a graceful GOAWAY leaves out', () => {
  it.each([
    ['no', Code.Unavailable],
    ['maybe', Code.Internal],
  ])('and that was processed: %s', (processed, code) => {
    const error = Object.assign(new Error('left out'), {
      code: 'UND_ERR_SOCKET',
      http2ErrorCode: 0,
      processed,
    })
    expect(toConnectError(error, new Headers(), performance.now()).code).toBe(code)
  })
})
