/**
 * gRPC-Web: the body's last message contains the trailers.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md
 * @module
 */

import type { DescMessage } from '@bufbuild/protobuf'
import type { StreamRequest, StreamResponse, UnaryResponse } from '@connectrpc/connect'
import { Code, ConnectError } from '@connectrpc/connect'
import {
  headerGrpcStatus,
  requestHeaderWithCompression,
  trailerFlag,
  trailerParse,
  validateResponseWithCompression,
  validateTrailer,
} from '@connectrpc/connect/protocol-grpc-web'
import type { Codec } from './codec.ts'
import type { Envelope } from './envelopes.ts'
import { toMessageFrame } from './messages.ts'
import type { Leavable, MethodKind, Protocol, UnaryInput } from './protocol.ts'
import {
  beginStream,
  copyTo,
  open,
  toExtraMessage,
  toMissingMessage,
  toPost,
  toSendingRules,
  toStreamCheck,
  toStreamResponse,
} from './protocol.ts'
import type { Settings } from './settings.ts'
import { EnvelopeSink, UnaryExchange } from './unary-exchange.ts'

type Checked = ReturnType<typeof validateResponseWithCompression>

export class GrpcWeb implements Protocol {
  readonly #settings: Settings
  readonly #check: (status: number, header: Headers) => Checked
  readonly #toSink: () => EnvelopeSink

  constructor(settings: Settings) {
    this.#settings = settings
    const { acceptCompression, readMaxBytes } = settings
    this.#check = (status, header) => validateResponseWithCompression(acceptCompression, status, header)
    this.#toSink = () => new EnvelopeSink(readMaxBytes, refuseExtra)
  }

  toHeader(_kind: MethodKind, timeoutMs: number | undefined, header: HeadersInit | undefined): Headers {
    const { useBinaryFormat, acceptCompression, sendCompression } = this.#settings
    return requestHeaderWithCompression(
      ...([useBinaryFormat, timeoutMs, header, acceptCompression, sendCompression, true] as const),
    )
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    request: UnaryInput<I, O>,
    codec: Codec<I, O>,
  ): Promise<UnaryResponse<I, O>> {
    const frame = toMessageFrame(request.message, toSendingRules(codec, this.#settings))
    const exchange = new UnaryExchange(toPost(request), this.#check, this.#toSink)
    const whole = await exchange.run(codec, frame instanceof Uint8Array ? frame : await frame)
    const { checked, header, body } = whole
    const first = body.find((envelope) => !isTrailer(envelope))
    const last = body.find(isTrailer)
    const data = first && open(first, checked.compression, this.#settings)
    const message = data && codec.parse(data instanceof Uint8Array ? data : await data)
    if (last === undefined) {
      if (checked.headerError) throw checked.headerError
      const code = header.has(headerGrpcStatus) ? Code.Unimplemented : Code.Unknown
      throw new ConnectError('protocol error: missing trailer', code)
    }
    const trailer = trailerParse(await open(last, checked.compression, this.#settings))
    validateTrailer(trailer, header)
    if (message === undefined) {
      throw toMissingMessage(trailer.has(headerGrpcStatus) ? Code.Unimplemented : Code.Unknown)
    }
    return { stream: false, service: request.service, method: request.method, header, message, trailer }
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    request: StreamRequest<I, O>,
    codec: Codec<I, O>,
    onBegin: (call: Leavable) => void,
  ): Promise<StreamResponse<I, O>> {
    const streaming = await beginStream(request, codec, this.#settings, toStreamCheck(this.#check), onBegin)
    const { checked, header } = streaming
    const trailer = new Headers()
    const end = new TrailerEnd(checked.foundStatus, header, trailer)
    return toStreamResponse(request, streaming, trailer, {
      endFlag: trailerFlag,
      compression: checked.compression ?? null,
      readMaxBytes: this.#settings.readMaxBytes,
      parse: codec.parse,
      onMessage: () => end.refuseMore('message after trailer'),
      onEndEnvelope: (data) => end.receive(data),
      onEnd: () => end.check(),
    })
  }
}

/** A stream's trailers, which arrive once, at the end. */
class TrailerEnd {
  /** Whether the header section has the status: then no body may follow. */
  readonly #hasStatus: boolean
  readonly #header: Headers
  readonly #trailer: Headers
  #hasCome = false

  constructor(hasStatus: boolean, header: Headers, trailer: Headers) {
    this.#hasStatus = hasStatus
    this.#header = header
    this.#trailer = trailer
  }

  refuseMore(what: string): void {
    if (this.#hasStatus)
      throw new ConnectError('protocol error: extra data for trailers-only', Code.InvalidArgument)
    if (this.#hasCome) throw new ConnectError(`protocol error: received extra ${what}`, Code.InvalidArgument)
  }

  receive(data: Uint8Array): void {
    this.refuseMore('trailer')
    this.#hasCome = true
    const trailer = trailerParse(data)
    validateTrailer(trailer, this.#header)
    copyTo(this.#trailer, trailer)
  }

  check(): void {
    if (this.#hasStatus) copyTo(this.#trailer, this.#header)
    else if (!this.#hasCome) throw new ConnectError('protocol error: missing trailer', Code.Internal)
  }
}

function isTrailer({ flags }: Envelope): boolean {
  return (flags & trailerFlag) === trailerFlag
}

function refuseExtra(envelopes: readonly Envelope[]): void {
  const trailers = envelopes.filter(isTrailer).length
  if (trailers > 1) throw new ConnectError('protocol error: received extra trailer', Code.Unimplemented)
  if (envelopes.length - trailers > 1) throw toExtraMessage()
}
