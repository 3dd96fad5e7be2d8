/** A fallback of the caller's that a test plays itself, and handlers that write down what they hear. */

import { onTestFinished } from 'vitest'
import { toClientOptions, toOrigin } from '../../../src/options/options.ts'
import { CallScheduler } from '../../../src/scheduler/call-scheduler.ts'
import { OriginMemory } from '../../../src/session/origin-memory.ts'
import type {
  AnyDispatchHandler,
  ClientOptions,
  DispatchController,
  DispatchHandler,
  DispatchOptions,
  FallbackDispatcher,
} from '../../../types/index.ts'
import { FakeClock } from '../clocks/fake-clock.ts'
import { Recorder } from './recorder.ts'

/** The controller that a fallback of the newer shape hands out: it records the calls to it. */
export class FakeController implements DispatchController {
  aborted = false
  paused = false
  reason: Error | null = null
  rawHeaders: string[] | null = null
  rawTrailers: string[] | null = null
  readonly events: string[] = []

  abort(reason?: Error): void {
    this.aborted = true
    this.reason = reason ?? null
    this.events.push('abort')
  }

  pause(): void {
    this.paused = true
    this.events.push('pause')
  }

  resume(): void {
    this.paused = false
    this.events.push('resume')
  }
}

/** One request that reached it. */
export interface TakenRequest {
  readonly options: DispatchOptions
  readonly handler: DispatchHandler
  readonly controller: FakeController
}

/** It doesn't respond by itself, unless a test says how; its methods besides `dispatch()` are written down. */
export class FakeFallback implements FallbackDispatcher {
  readonly requests: TakenRequest[] = []
  readonly ends: string[] = []
  readonly #onRequest: (request: TakenRequest) => void

  constructor(onRequest: (request: TakenRequest) => void = () => {}) {
    this.#onRequest = onRequest
  }

  /** The one request; throws when there isn't exactly one. */
  get request(): TakenRequest {
    const [request] = this.requests
    if (request === undefined || this.requests.length !== 1)
      throw new Error(`${this.requests.length} requests reached the fallback`)
    return request
  }

  dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean {
    const request = { options, handler: handler as DispatchHandler, controller: new FakeController() }
    this.requests.push(request)
    this.#onRequest(request)
    return true
  }

  async close(): Promise<void> {
    this.ends.push('close')
  }

  async destroy(): Promise<void> {
    this.ends.push('destroy')
  }
}

/** Begins with a request, as an undici that has a connection does. */
export function begin({ handler, controller }: TakenRequest): void {
  handler.onRequestStart?.(controller, null)
}

/** Responds completely, by the newer shape. */
export function respondTo(request: TakenRequest, text = 'by the fallback'): void {
  const { handler, controller } = request
  begin(request)
  handler.onRequestSent?.()
  controller.rawHeaders = ['content-type', 'text/plain']
  handler.onResponseStart?.(controller, 200, { 'content-type': 'text/plain' }, 'OK')
  handler.onResponseData?.(controller, Buffer.from(text))
  handler.onResponseEnd?.(controller, {})
}

/** Its headers as pairs, `'name: value'`. */
export function toFields({ options: { headers } }: TakenRequest): string[] {
  if (!Array.isArray(headers)) throw new Error('The fallback got no flat list of headers')
  const flat = headers as unknown as string[]
  return flat.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${flat[index + 1]}`] : []))
}

/** An origin that speaks HTTP/1.1, by the caller's option: all of its calls go to the fallback. */
export class Http1Harness {
  readonly clock = new FakeClock()
  readonly fallback: FakeFallback
  readonly scheduler: CallScheduler

  constructor(fallback: FakeFallback, options: ClientOptions = {}, origin = 'https://example.com') {
    const events = { onConnect() {}, onDisconnect() {}, onConnectionError() {}, onDrain() {} }
    const memory = new OriginMemory(this.clock, 'http/1.1')
    this.fallback = fallback
    const resolved = toClientOptions({ ...options, fallback })
    const connections = { sessions: 1, http1: 1 }
    this.scheduler = new CallScheduler(toOrigin(origin), resolved, connections, this.clock, memory, events)
    onTestFinished(() => this.scheduler.destroy(null))
  }

  /** Dispatches a GET of `/`, or what the options say. */
  dispatch(options: Partial<DispatchOptions> = {}, recorder = new Recorder()): Recorder {
    this.scheduler.add({ path: '/', method: 'GET', ...options }, recorder)
    return recorder
  }
}
