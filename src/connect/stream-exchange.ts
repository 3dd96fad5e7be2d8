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

/** How many bytes of messages may wait for the caller before the server has to wait, and how many let it go on. */
const HIGH_WATER_MARK = 65_536
const LOW_WATER_MARK = HIGH_WATER_MARK / 2

/** So many places that were read are given back at once, and no fewer: the array isn't copied for each message. */
const SPENT_PLACES = 32

/** What a message that waits costs beside its bytes, about: small ones are to be counted, too. */
const ENVELOPE_COST = 64

/** The header section, when it has come. */
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
  /** The messages that wait are those from `#next` on. */
  #envelopes: Envelope[] = []
  #next = 0
  #size = 0
  #isPaused = false
  #isComplete = false
  #begin: (begun: Begun<TChecked>) => void = ignore
  #refuse: (error: Error) => void = ignore
  /** Wakes who waits for a message, or for the end. */
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
    // A slow reader never empties the queue: what it has read isn't to be kept until then.
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
    // Of what the caller has cancelled it gets nothing more.
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
