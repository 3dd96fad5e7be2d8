/** What a handler is told in a scene of the differential test, and what it does about it. */

import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { DispatchController, DispatchHandler, IncomingHttpHeaders } from '../../../types/index.ts'
import type { CallPlan, Moment } from './plan.ts'

/** What there is to compare of a call. */
export interface Transcript {
  /** In order; data that comes in a row is one event. */
  readonly events: readonly string[]
  /** All of it, in hexadecimal digits. */
  readonly body: string
  /** What happened to its tunnel. */
  readonly tunnel: readonly string[]
  readonly tunnelBody: string
  readonly error: Readonly<Record<string, unknown>> | null
  /** How often it was told that all was sent. */
  readonly sent: number
}

/** The error of a handler that throws, and the reason of one that aborts. */
class Planned extends Error {
  override readonly name = 'Planned'
}

/** All that an error says of itself but its words. */
function toErrorFacts(error: Error): Record<string, unknown> {
  const { code, processed, http2ErrorCode, attempts, streamId, goawayDebugData } = Object(error)
  const debug = goawayDebugData?.toString()
  return { name: error.name, code, processed, http2ErrorCode, attempts, streamId, debug }
}

/** With the order of its own keys, and its prototype. */
function toHeaderText(headers: IncomingHttpHeaders): string {
  const prototype = Object.getPrototypeOf(headers) === null ? '' : ' with a prototype'
  return `${JSON.stringify(Reflect.ownKeys(headers).map((key) => [String(key), headers[String(key)]]))}${prototype}`
}

export class Witness implements DispatchHandler {
  readonly #plan: CallPlan
  readonly #events: string[] = []
  readonly #chunks: Buffer[] = []
  readonly #tunnelEvents: string[] = []
  readonly #tunnelChunks: Buffer[] = []
  #error: Error | null = null
  #sent = 0
  #hasActed = false
  isSettled = false
  controller: DispatchController | null = null
  tunnel: Duplex | null = null

  constructor(plan: CallPlan) {
    this.#plan = plan
  }

  toTranscript(): Transcript {
    return {
      events: this.#events,
      body: Buffer.concat(this.#chunks).toString('hex'),
      tunnel: this.#tunnelEvents,
      tunnelBody: Buffer.concat(this.#tunnelChunks).toString('hex'),
      error: this.#error === null ? null : toErrorFacts(this.#error),
      sent: this.#sent,
    }
  }

  onRequestStart(controller: DispatchController): void {
    this.controller = controller
    this.#note('start')
    this.#act('start')
  }

  onRequestSent(): void {
    this.#sent++
  }

  onResponseStart(controller: DispatchController, status: number, headers: IncomingHttpHeaders): void {
    const raw = JSON.stringify(controller.rawHeaders)
    this.#note(`response ${status} ${toHeaderText(headers)} raw ${raw}`)
    this.#act(status < 200 ? 'info' : 'response')
  }

  onResponseData(_controller: DispatchController, chunk: Buffer): void {
    if (this.#events.at(-1) !== 'data') this.#note('data')
    this.#chunks.push(chunk)
    this.#act('data')
  }

  onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    this.#settle(`end ${toHeaderText(trailers)} raw ${JSON.stringify(controller.rawTrailers)}`)
    this.#act('end')
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.#error ??= error
    this.#settle(`error ${error.name}`)
  }

  onRequestUpgrade(
    controller: DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    tunnel: Duplex,
  ): void {
    this.tunnel = tunnel
    const { rawHeaders } = controller
    this.#settle(`upgrade ${status} ${toHeaderText(headers)} raw ${JSON.stringify(rawHeaders)}`)
    tunnel.on('data', (chunk: Buffer) => this.#tunnelChunks.push(chunk))
    for (const event of ['end', 'finish', 'close']) tunnel.on(event, () => this.#tunnelEvents.push(event))
    tunnel.on('error', (error) => {
      this.#tunnelEvents.push(`error ${JSON.stringify(toErrorFacts(error))}`)
    })
    this.#act('upgrade')
  }

  #settle(event: string): void {
    this.#note(event)
    this.isSettled = true
  }

  #note(event: string): void {
    this.#events.push(event)
  }

  #act(moment: Moment): void {
    const { act } = this.#plan
    if (act === null || act.at !== moment || this.#hasActed) return
    this.#hasActed = true
    if (act.does === 'throw') throw new Planned()
    else if (act.does === 'abort') this.abort()
    else this.controller?.pause()
  }

  abort(): void {
    this.controller?.abort(new Planned())
  }
}

/** Some turns of the event loop. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await setImmediate()
}
