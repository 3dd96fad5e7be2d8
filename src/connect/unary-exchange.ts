/**
 * A request whose response is read as a whole.
 *
 * @module
 */

import { Code, ConnectError } from '@connectrpc/connect'
import type { RequestBody } from '../index.ts'
import type { Envelope } from './envelopes.ts'
import { EnvelopeReader } from './envelopes.ts'
import type { ExchangeRequest, Sending } from './exchange.ts'
import { Exchange } from './exchange.ts'
import { appendRaw } from './fields.ts'

/** Accepts a response's body. */
export interface BodySink<TBody> {
  /** @throws ConnectError for more than the call can use, which ends it */
  add(piece: Uint8Array): void
  /** @throws ConnectError for a truncated body */
  end(): TBody
}

/** A complete response. */
export interface Whole<TChecked, TBody> {
  /** The result of the header section's check. */
  readonly checked: TChecked
  readonly header: Headers
  readonly body: TBody
  readonly trailer: Headers
}

/**
 * Checks the header section.
 *
 * @throws ConnectError for a response that doesn't follow the protocol
 */
export type HeaderCheck<TChecked> = (status: number, header: Headers) => TChecked

/** What the check returned, and its arguments. */
interface Began<TChecked> {
  readonly checked: TChecked
  readonly header: Headers
}

export class UnaryExchange<TChecked, TBody> extends Exchange {
  readonly #check: HeaderCheck<TChecked>
  readonly #toSink: (header: Headers) => BodySink<TBody>
  #began: Began<TChecked> | null = null
  #sink: BodySink<TBody> | null = null
  #resolve: (whole: Whole<TChecked, TBody>) => void = () => {}
  #reject: (error: Error) => void = () => {}

  /** @param toSink - called when the header section has arrived */
  constructor(
    request: ExchangeRequest,
    check: HeaderCheck<TChecked>,
    toSink: (header: Headers) => BodySink<TBody>,
  ) {
    super(request)
    this.#check = check
    this.#toSink = toSink
  }

  /** Called once. */
  run(sending: Sending, body: RequestBody | null): Promise<Whole<TChecked, TBody>> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.send(sending, body)
    })
  }

  protected override onHeader(status: number, header: Headers): void {
    this.#began = { checked: this.#check(status, header), header }
    this.#sink = this.#toSink(header)
  }

  protected override onData(piece: Uint8Array): void {
    this.#sink?.add(piece)
  }

  protected override onEnd(trailers: readonly string[] | null): void {
    const began = this.#began
    const sink = this.#sink
    if (began === null || sink === null) throw new ConnectError('missing header section', Code.Internal)
    const body = sink.end()
    this.#resolve({ ...began, body, trailer: appendRaw(new Headers(), trailers) })
  }

  protected override onFailure(error: Error): void {
    this.#reject(error)
  }
}

/** Messages with prefixes, of which there should be few. */
export class EnvelopeSink implements BodySink<readonly Envelope[]> {
  readonly #reader: EnvelopeReader
  readonly #envelopes: Envelope[] = []
  readonly #check: (envelopes: readonly Envelope[]) => void

  /** @param check - called for each piece that completed a message. It throws a ConnectError for too many */
  constructor(readMaxBytes: number, check: (envelopes: readonly Envelope[]) => void) {
    this.#reader = new EnvelopeReader(readMaxBytes)
    this.#check = check
  }

  add(piece: Uint8Array): void {
    const { length } = this.#envelopes
    this.#reader.read(piece, this.#envelopes)
    if (this.#envelopes.length > length) this.#check(this.#envelopes)
  }

  end(): readonly Envelope[] {
    this.#reader.end()
    return this.#envelopes
  }
}
