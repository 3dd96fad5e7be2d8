/**
 * Connect's own protocol: a unary call is a plain request; a stream's last message contains its end.
 *
 * @see https://connectrpc.com/docs/protocol
 * @module
 */

import type { DescMessage } from '@bufbuild/protobuf'
import type { StreamRequest, StreamResponse, UnaryResponse } from '@connectrpc/connect'
import { appendHeaders, Code, ConnectError } from '@connectrpc/connect'
import {
  createEndStreamSerialization,
  endStreamFlag,
  errorFromJsonBytes,
  headerUnaryContentLength,
  headerUnaryEncoding,
  requestHeaderWithCompression,
  transformConnectPostToGetRequest as toGet,
  trailerDemux,
  validateResponseWithCompression,
} from '@connectrpc/connect/protocol-connect'
import type { Codec } from './codec.ts'
import { toOversized } from './envelopes.ts'
import type { Leavable, MethodKind, Protocol, UnaryInput } from './protocol.ts'
import { beginStream, copyTo, toStreamResponse } from './protocol.ts'
import type { Settings } from './settings.ts'
import type { BodySink } from './unary-exchange.ts'
import { UnaryExchange } from './unary-exchange.ts'

export class Connect implements Protocol {
  readonly #settings: Settings
  readonly #endStream: ReturnType<typeof createEndStreamSerialization>
  readonly #toSink: (header: Headers) => BytesSink

  constructor(settings: Settings) {
    this.#settings = settings
    this.#endStream = createEndStreamSerialization(settings.jsonOptions)
    this.#toSink = (header) => new BytesSink(settings.readMaxBytes, header)
  }

  toHeader(kind: MethodKind, timeoutMs: number | undefined, header: HeadersInit | undefined): Headers {
    const { useBinaryFormat, acceptCompression, sendCompression } = this.#settings
    return requestHeaderWithCompression(
      ...([kind, useBinaryFormat, timeoutMs, header, acceptCompression, sendCompression, true] as const),
    )
  }

  #toCheck(kind: MethodKind) {
    const { acceptCompression, useBinaryFormat } = this.#settings
    return (status: number, header: Headers) =>
      validateResponseWithCompression(kind, acceptCompression, useBinaryFormat, status, header)
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    given: UnaryInput<I, O>,
    codec: Codec<I, O>,
  ): Promise<UnaryResponse<I, O>> {
    const { sendCompression, compressMinBytes, useHttpGet, useBinaryFormat, readMaxBytes } = this.#settings
    let bytes = codec.serialize(given.message)
    if (sendCompression !== null && bytes.length >= compressMinBytes) {
      bytes = await sendCompression.compress(bytes)
      given.header.set(headerUnaryEncoding, sendCompression.name)
    } else {
      given.header.delete(headerUnaryEncoding)
    }
    const isGet = useHttpGet && codec.hasNoSideEffects
    const { deadline } = given
    // A GET omits a body's fields.
    const request = isGet ? { ...toGet(given, bytes, useBinaryFormat), deadline, raw: undefined } : given
    const exchange = new UnaryExchange(request, this.#toCheck('unary'), this.#toSink)
    const { checked, header: all, body } = await exchange.run(codec, isGet ? null : bytes)
    const [header, trailer] = trailerDemux(all)
    const data = checked.compression ? await checked.compression.decompress(body, readMaxBytes) : body
    if (checked.isUnaryError)
      throw errorFromJsonBytes(data, appendHeaders(header, trailer), checked.unaryError)
    const message = codec.parse(data)
    return { stream: false, service: given.service, method: given.method, header, message, trailer }
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    request: StreamRequest<I, O>,
    codec: Codec<I, O>,
    onBegin: (call: Leavable) => void,
  ): Promise<StreamResponse<I, O>> {
    const check = this.#toCheck(request.method.methodKind)
    const streaming = await beginStream(request, codec, this.#settings, check, onBegin)
    const { checked, header } = streaming
    const trailer = new Headers()
    let hasEnd = false
    const refuseMore = (what: string): void => {
      if (hasEnd) throw new ConnectError(`protocol error: received extra ${what}`, Code.InvalidArgument)
    }
    return toStreamResponse(request, streaming, trailer, {
      endFlag: endStreamFlag,
      compression: checked.compression ?? null,
      readMaxBytes: this.#settings.readMaxBytes,
      parse: codec.parse,
      onMessage: () => refuseMore('message after EndStreamResponse'),
      onEndEnvelope: (data) => {
        refuseMore('EndStreamResponse')
        hasEnd = true
        const { error, metadata } = this.#endStream.parse(data)
        if (error) {
          for (const [name, value] of header) error.metadata.append(name, value)
          throw error
        }
        copyTo(trailer, metadata)
      },
      onEnd: () => {
        if (!hasEnd) throw new ConnectError('protocol error: missing EndStreamResponse', Code.Internal)
      },
    })
  }
}

/** A body that consists of one message, without a prefix. */
class BytesSink implements BodySink<Uint8Array<ArrayBuffer>> {
  readonly #readMaxBytes: number
  readonly #pieces: Uint8Array[] = []
  #length = 0

  /** @throws ConnectError if the server announces too much */
  constructor(readMaxBytes: number, header: Headers) {
    this.#readMaxBytes = readMaxBytes
    const length = Number(header.get(headerUnaryContentLength))
    if (length > readMaxBytes) throw toOversized(length, readMaxBytes)
  }

  add(piece: Uint8Array): void {
    this.#length += piece.length
    if (this.#length > this.#readMaxBytes) {
      const text = `message size is larger than configured readMaxBytes ${this.#readMaxBytes}`
      throw new ConnectError(text, Code.ResourceExhausted)
    }
    this.#pieces.push(piece)
  }

  end(): Uint8Array<ArrayBuffer> {
    const all = new Uint8Array(this.#length)
    let offset = 0
    for (const piece of this.#pieces) {
      all.set(piece, offset)
      offset += piece.length
    }
    return all
  }
}
