/**
 * A request whose response is read message by message.
 *
 * @module
 */

import type { ConnectError } from '@connectrpc/connect'
import type { RequestBody } from '../index.ts'
import type { Envelope } from './envelopes.ts'
import { EnvelopeReader } from './envelopes.ts'
import type { ExchangeRequest, Sending } from './exchange.ts'
import { Exchange } from './exchange.ts'
import { appendRaw } from './fields.ts'
import type { MessageSource } from './messages.ts'
import type { HeaderCheck } from './unary-exchange.ts'

/** How many bytes of messages may wait for the caller before the server has to wait, and how many let it continue. */
const HIGH_WATER_MARK = 65_536
const LOW_WATER_MARK = HIGH_WATER_MARK / 2

/** So many places that were read are removed at once, and no fewer, so that the array isn't copied for each message. */
const SPENT_PLACES = 32

/** What a waiting message costs besides its bytes, approximately, so that small ones count, too. */
const ENVELOPE_COST = 64

/** The header section, when it has arrived. */
export interface Begun<TChecked> {
  readonly checked: TChecked
  readonly header: Headers
}

const ignore = (): void => {}

export class StreamExchange<TChecked> extends Exchange implements MessageSource {
  readonly #check: HeaderCheck<TChecked>
  readonly #reader: EnvelopeReader
  /** Filled at the end of the body. */
  readonly trailer = new Headers()
  /** The waiting messages are those from `#next` on. */
  #envelopes: Envelope[] = []
  #next = 0
  #size = 0
  #isPaused = false
  #isComplete = false
  #begin: (begun: Begun<TChecked>) => void = ignore
  #refuse: (error: Error) => void = ignore
  /** Resumes the reader that waits for a message, or for the end. */
  #wake: () => void = ignore

  constructor(request: ExchangeRequest, check: HeaderCheck<TChecked>, readMaxBytes: number) {
    super(request)
    this.#check = check
    this.#reader = new EnvelopeReader(readMaxBytes)
  }

  /** Called once. */
  run(sending: Sending, body: RequestBody): Promise<Begun<TChecked>> {
    return new Promise((resolve, reject) => {
      this.#begin = resolve
      this.#refuse = reject
      this.send(sending, body)
    })
  }

  take(): Envelope | null {
    const envelope = this.#envelopes[this.#next]
    if (envelope === undefined) {
      if (this.failure !== null) throw this.failure
      return null
    }
    this.#next++
    this.#size -= envelope.data.length + ENVELOPE_COST
    // A slow reader never empties the queue, so what it has read is removed before that.
    if (
      this.#next === this.#envelopes.length ||
      (this.#next >= SPENT_PLACES && 2 * this.#next >= this.#envelopes.length)
    ) {
      this.#envelopes.splice(0, this.#next)
      this.#next = 0
    }
    if (this.#isPaused && this.#size <= LOW_WATER_MARK) {
      this.#isPaused = false
      this.controller?.resume()
    }
    return envelope
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  leave(error: ConnectError): void {
    this.#drop()
    this.fail(error)
  }

  override handleEvent(): void {
    // The caller gets nothing more after cancelling.
    this.#drop()
    super.handleEvent()
  }

  #drop(): void {
    this.#envelopes = []
    this.#next = 0
    this.#size = 0
  }

  protected override onHeader(status: number, header: Headers): void {
    this.#begin({ checked: this.#check(status, header), header })
  }

  protected override onData(piece: Uint8Array): void {
    const envelopes = this.#envelopes
    let index = envelopes.length
    try {
      this.#reader.read(piece, envelopes)
    } finally {
      for (; index < envelopes.length; index++) {
        this.#size += (envelopes[index]?.data.length ?? 0) + ENVELOPE_COST
      }
    }
    if (this.#size >= HIGH_WATER_MARK && !this.#isPaused) {
      this.#isPaused = true
      this.controller?.pause()
    }
    if (envelopes.length > this.#next) this.#wake()
  }

  protected override onEnd(trailers: readonly string[] | null): void {
    appendRaw(this.trailer, trailers)
    this.#isComplete = true
    this.#wake()
  }

  end(): void {
    this.#reader.end()
  }

  protected override onFailure(error: Error): void {
    this.#refuse(error)
    this.#wake()
  }
}
