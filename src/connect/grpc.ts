/**
 * gRPC: the status is in the trailer section.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 * @module
 */

import type { DescMessage } from '@bufbuild/protobuf'
import type { StreamRequest, StreamResponse, UnaryResponse } from '@connectrpc/connect'
import { Code, ConnectError } from '@connectrpc/connect'
import {
  headerGrpcStatus,
  requestHeaderWithCompression,
  validateResponseWithCompression,
  validateTrailer,
} from '@connectrpc/connect/protocol-grpc'
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

export class Grpc implements Protocol {
  readonly #settings: Settings
  readonly #check: (status: number, header: Headers) => ReturnType<typeof validateResponseWithCompression>
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
      useBinaryFormat,
      timeoutMs,
      header,
      acceptCompression,
      sendCompression,
    )
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    request: UnaryInput<I, O>,
    codec: Codec<I, O>,
  ): Promise<UnaryResponse<I, O>> {
    const frame = toMessageFrame(request.message, toSendingRules(codec, this.#settings))
    const exchange = new UnaryExchange(toPost(request), this.#check, this.#toSink)
    const whole = await exchange.run(codec, frame instanceof Uint8Array ? frame : await frame)
    const { checked, header, trailer, body } = whole
    const [envelope] = body
    const data = envelope && open(envelope, checked.compression, this.#settings)
    const message = data && codec.parse(data instanceof Uint8Array ? data : await data)
    validateTrailer(trailer, header)
    if (message === undefined) {
      // The status is in the header section: 'Trailers-Only'.
      if (checked.headerError) throw checked.headerError
      throw toMissingMessage(trailer.has(headerGrpcStatus) ? Code.Unimplemented : Code.Unknown)
    }
    if (checked.headerError) {
      const text = 'protocol error: received output message for unary method with error status'
      throw new ConnectError(text, Code.Unknown)
    }
    return { stream: false, service: request.service, method: request.method, header, message, trailer }
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    request: StreamRequest<I, O>,
    codec: Codec<I, O>,
    onBegin: (call: Leavable) => void,
  ): Promise<StreamResponse<I, O>> {
    const streaming = await beginStream(request, codec, this.#settings, toStreamCheck(this.#check), onBegin)
    const { exchange, checked, header } = streaming
    return toStreamResponse(request, streaming, exchange.trailer, {
      endFlag: 0,
      compression: checked.compression ?? null,
      readMaxBytes: this.#settings.readMaxBytes,
      parse: codec.parse,
      onMessage: () => {},
      onEndEnvelope: () => {},
      onEnd: () => {
        if (checked.foundStatus) copyTo(exchange.trailer, header)
        else validateTrailer(exchange.trailer, header)
      },
    })
  }
}

function refuseExtra({ length }: readonly Envelope[]): void {
  if (length > 1) throw toExtraMessage()
}
