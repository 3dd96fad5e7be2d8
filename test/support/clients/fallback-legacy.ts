/** Handlers of the older shape that write down what they hear, as undici's own dispatchers and ours say it. */

import type { Duplex } from 'node:stream'
import type { LegacyDispatchHandler } from '../../../types/index.ts'

/** Fields that no two servers, or no two protocols, have in common. */
const VARYING = new Set([
  ...['date', 'connection', 'keep-alive', 'transfer-encoding', 'content-length', 'trailer', ':status'],
])

/** A flat list of Buffers, as `name: value`, in wire order; what isn't made of Buffers is named. */
export function toTexts(fields: unknown): string[] | string {
  if (!Array.isArray(fields)) return `not a list: ${String(fields)}`
  if (!fields.every((field) => Buffer.isBuffer(field))) return 'not of Buffers'
  const texts = fields.map((field: Buffer) => field.toString('latin1'))
  return texts.flatMap((name, i) => {
    const isName = i % 2 === 0
    return isName && !VARYING.has(name.toLowerCase()) ? [`${name.toLowerCase()}: ${texts[i + 1]}`] : []
  })
}

/** What may be done on the way. */
export interface LegacyActs {
  onConnect?(heard: LegacyRecorder): void
  onHeaders?(heard: LegacyRecorder, statusCode: number): boolean | undefined
  onData?(heard: LegacyRecorder): boolean | undefined
}

export class LegacyRecorder implements LegacyDispatchHandler {
  /** Pieces of a body that follow each other are one event. */
  readonly events: unknown[] = []
  readonly chunks: Buffer[] = []
  abort: (reason?: Error) => void = () => {}
  resume: () => void = () => {}
  socket: Duplex | null = null
  error: Error | null = null
  readonly settled: Promise<void>
  readonly #acts: LegacyActs
  #settle: () => void = () => {}

  constructor(acts: LegacyActs = {}) {
    this.#acts = acts
    this.settled = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  /** The names of what it heard. */
  get names(): unknown[] {
    return this.events.map((event) => (Array.isArray(event) ? event[0] : event))
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.events.push('onConnect')
    this.abort = abort
    this.#acts.onConnect?.(this)
  }

  onResponseStarted(): void {
    this.events.push('onResponseStarted')
  }

  onHeaders(statusCode: number, headers: Buffer[], resume: () => void, statusText: string): boolean {
    this.events.push(['onHeaders', statusCode, toTexts(headers), typeof statusText])
    this.resume = resume
    return this.#acts.onHeaders?.(this, statusCode) ?? true
  }

  onData(chunk: Buffer): boolean {
    this.chunks.push(chunk)
    if (this.events.at(-1) !== 'onData') this.events.push('onData')
    return this.#acts.onData?.(this) ?? true
  }

  onComplete(trailers: unknown): void {
    this.events.push(['onComplete', toTexts(trailers), Buffer.concat(this.chunks).toString('latin1')])
    this.#settle()
  }

  onError(error: Error): void {
    const { name, code } = Object(error)
    this.events.push(['onError', name, code])
    this.error = error
    this.#settle()
  }

  onUpgrade(statusCode: number, headers: Buffer[] | string[] | null, socket: Duplex): void {
    this.events.push(['onUpgrade', statusCode, toTexts(headers)])
    this.socket = socket
    this.#settle()
  }

  onBodySent(...args: never[]): void {
    this.events.push(['onBodySent', String(args[0])])
  }

  onRequestSent(): void {
    this.events.push('onRequestSent')
  }
}
