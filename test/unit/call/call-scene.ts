import { expect } from 'vitest'
import type { Attempt, Carrier } from '../../../src/call/attempt.ts'
import { Call } from '../../../src/call/call.ts'
import type { CallOwner } from '../../../src/call/call-owner.ts'
import type { CallState } from '../../../src/call/call-state.ts'
import { createMeter } from '../../../src/call/response-limits.ts'
import { Deadlines } from '../../../src/core/clock.ts'
import type { DodiciError } from '../../../src/errors/errors.ts'
import { toClientOptions, toOrigin } from '../../../src/options/options.ts'
import { Request } from '../../../src/request/request.ts'
import type { DispatchController, DispatchHandler } from '../../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'

export const HEADERS_TIMEOUT = 1_000
export const BODY_TIMEOUT = 2_000
/** More than a deadline may be met late, in milliseconds. */
export const MARGIN = 60

export type Method =
  | 'onRequestStart'
  | 'onResponseStart'
  | 'onResponseData'
  | 'onResponseEnd'
  | 'onResponseError'

/** Records what it is told; a test may add an action to each method. */
export class TestHandler implements DispatchHandler {
  readonly heard: Method[] = []
  readonly statuses: number[] = []
  readonly errors: Error[] = []
  readonly controllers = new Set<DispatchController>()
  /** What its methods do in addition. */
  acts: Partial<Record<Method, (controller: DispatchController) => void>> = {}

  onRequestStart(controller: DispatchController): void {
    this.#hear('onRequestStart', controller)
  }

  onResponseStart(controller: DispatchController, statusCode: number, _headers: IncomingHttpHeaders): void {
    this.statuses.push(statusCode)
    this.#hear('onResponseStart', controller)
  }

  onResponseData(controller: DispatchController, _chunk: Buffer): void {
    this.#hear('onResponseData', controller)
  }

  onResponseEnd(controller: DispatchController, _trailers: IncomingHttpHeaders): void {
    this.#hear('onResponseEnd', controller)
  }

  onResponseError(controller: DispatchController, error: Error): void {
    this.errors.push(error)
    this.#hear('onResponseError', controller)
  }

  #hear(method: Method, controller: DispatchController): void {
    this.heard.push(method)
    this.controllers.add(controller)
    this.acts[method]?.(controller)
  }
}

export class TestAttempt implements Attempt {
  readonly streamId: number | null
  readonly carrier: Carrier = { protocol: 'h2c', id: 1, transport: null }
  readonly isConnected = true
  readonly meter = createMeter()
  isAccepted = false
  isLeftOut = false
  maxHeaderListSize = Number.POSITIVE_INFINITY
  readonly told: string[] = []

  get hasBegun(): boolean {
    return this.streamId !== null
  }

  constructor(streamId: number | null = 1) {
    this.streamId = streamId
  }

  pause(): void {
    this.told.push('pause')
  }

  resume(): void {
    this.told.push('resume')
  }

  reprioritize(value: string): void {
    this.told.push(`priority ${value}`)
  }

  proceed(): void {
    this.told.push('proceed')
  }

  cancel(): void {
    this.told.push('cancel')
  }

  closeConnection(): void {
    this.told.push('retire')
  }
}

export class TestOwner implements CallOwner<Call> {
  onFlow(): void {}
  readonly deadlines: Deadlines
  /** What mayReplay() returns. */
  replays = false
  /** What isConnecting() returns. */
  connecting = false
  readonly asked: (DodiciError | null)[] = []
  /** The state that the call was in when it was queued again. */
  readonly replayed: CallState[] = []
  /** The state that a call settled from. */
  readonly settled: CallState[] = []

  constructor(clock: FakeClock) {
    this.deadlines = new Deadlines(clock)
  }

  mayReplay(_call: Call, error: DodiciError | null): boolean {
    this.asked.push(error)
    return this.replays
  }

  onReplay(call: Call): void {
    this.replayed.push(call.state)
  }

  isConnecting(): boolean {
    return this.connecting
  }

  mayWaitOn(): boolean {
    return this.connecting
  }

  onSettled(call: Call, from: CallState): void {
    expect(call.state).toBe('settled')
    this.settled.push(from)
  }
}

/** A call with everything that it uses. */
export class Scene {
  readonly clock = new FakeClock()
  readonly owner = new TestOwner(this.clock)
  readonly handler: TestHandler
  readonly attempt = new TestAttempt()
  readonly call: Call

  constructor(options: Partial<DispatchOptions> = {}, handler: TestHandler = new TestHandler()) {
    const client = toClientOptions({ headersTimeout: HEADERS_TIMEOUT, bodyTimeout: BODY_TIMEOUT })
    const request = new Request(
      { method: 'GET', path: '/', ...options },
      toOrigin('https://a.example'),
      client,
    )
    this.handler = handler
    this.call = new Call(request, handler, this.owner, 0)
  }

  /** Moves the call from `created` to a state. */
  to(state: CallState): this {
    const steps: [CallState, () => void][] = [
      ['queued', () => this.call.start()],
      ['running', () => this.call.begin(this.attempt)],
      ['receiving', () => this.respond()],
      ['settled', () => this.complete()],
    ]
    for (const [reached, step] of steps) {
      if (this.call.state !== state) step()
      if (this.call.state === state) break
      expect(this.call.state).toBe(reached)
    }
    expect(this.call.state).toBe(state)
    return this
  }

  respond(statusCode = 200, raw: readonly string[] = [':status', String(statusCode), 'x-a', '1']): void {
    this.call.respond(statusCode, { 'x-a': '1' }, raw)
  }

  data(): void {
    this.call.data(Buffer.from('abc'))
  }

  complete(raw: readonly string[] | null = null): void {
    this.call.complete({}, raw)
  }
}
