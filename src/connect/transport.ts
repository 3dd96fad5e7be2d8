/**
 * The transport, which connect-es' clients call.
 *
 * @module
 */

import type { DescMessage, DescMethodStreaming, DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import type { ContextValues, StreamResponse, Transport, UnaryResponse } from '@connectrpc/connect'
import { ConnectError, createContextValues } from '@connectrpc/connect'
import { runStreamingCall, runUnaryCall } from '@connectrpc/connect/protocol'
import type { Method } from './codec.ts'
import { Codec } from './codec.ts'
import { Connect } from './connect.ts'
import type * as declared from './declarations.ts'
import { NEVER } from './exchange.ts'
import { toRaw } from './fields.ts'
import { Grpc } from './grpc.ts'
import { GrpcWeb } from './grpc-web.ts'
import { LeavableMessages } from './leavable-messages.ts'
import type { Leavable, Protocol } from './protocol.ts'
import type { Settings } from './settings.ts'
import { toSettings } from './settings.ts'

export const createTransport: typeof declared.createTransport = (options) => {
  const settings = toSettings(options)
  return new DodiciTransport(settings, toProtocol(settings))
}

function toProtocol(settings: Settings): Protocol {
  switch (settings.protocol) {
    case 'connect':
      return new Connect(settings)
    case 'grpc':
      return new Grpc(settings)
    case 'grpc-web':
      return new GrpcWeb(settings)
  }
}

/** The parts of a request that only interceptors can read. */
const NO_CONTEXT = { requestMethod: 'POST', contextValues: createContextValues() } as const

class DodiciTransport implements Transport {
  readonly #settings: Settings
  readonly #protocol: Protocol
  /** By method. The types of a method's messages are those of its codec. */
  readonly #codecs = new WeakMap<object, unknown>()

  constructor(settings: Settings, protocol: Protocol) {
    this.#settings = settings
    this.#protocol = protocol
  }

  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    message: MessageInitShape<I>,
    contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>> {
    if (this.#settings.interceptors.length === 0)
      return this.#unary(method, signal, timeoutMs, header, message)
    const { codec, limits, common } = this.#begin(method, signal, timeoutMs, header, contextValues)
    return runUnaryCall({
      ...limits,
      req: { ...common, stream: false, method, message },
      next: (request) => this.#protocol.unary(request, codec),
    })
  }

  /**
   * Does what `runUnaryCall()` does, but without a separate AbortSignal for the call, which costs as much as all the
   * rest: without an interceptor, nothing would see it.
   */
  async #unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal = NEVER,
    given: number | undefined,
    header: HeadersInit | undefined,
    init: MessageInitShape<I>,
  ): Promise<UnaryResponse<I, O>> {
    const timeoutMs = this.#toTimeout(given)
    const deadline = timeoutMs === undefined ? undefined : performance.now() + timeoutMs
    const codec = this.#toCodec(method)
    const message = create(method.input, init)
    const fields = this.#toFields(codec, method, timeoutMs, header)
    const { url } = codec.target
    const request = {
      ...NO_CONTEXT,
      ...fields,
      stream: false,
      service: method.parent,
      method,
      url,
      message,
    } as const
    try {
      return await this.#protocol.unary({ ...request, signal, deadline }, codec)
    } catch (error) {
      throw ConnectError.from(error)
    }
  }

  /** Most calls have the same fields. */
  #toFields<I extends DescMessage, O extends DescMessage>(
    codec: Codec<I, O>,
    method: DescMethodUnary<I, O>,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
  ): { header: Headers; raw?: readonly string[] } {
    const isPlain = header === undefined && timeoutMs === undefined && this.#settings.sendCompression === null
    if (isPlain && codec.plain !== null) return codec.plain
    const made = this.#protocol.toHeader(method.methodKind, timeoutMs, header)
    if (!isPlain) return { header: made }
    codec.plain = { header: made, raw: toRaw(made) }
    return codec.plain
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    message: AsyncIterable<MessageInitShape<I>>,
    contextValues?: ContextValues,
  ): Promise<StreamResponse<I, O>> {
    const { codec, limits, common } = this.#begin(method, signal, timeoutMs, header, contextValues)
    // More than one if an interceptor retries.
    const calls: Leavable[] = []
    const response = await runStreamingCall({
      ...limits,
      req: { ...common, stream: true, method, message },
      next: (request) => this.#protocol.stream(request, codec, (call) => calls.push(call)),
    })
    return { ...response, message: new LeavableMessages(response.message, calls) }
  }

  #begin<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    signal: AbortSignal | undefined,
    given: number | undefined,
    header: HeadersInit | undefined,
    contextValues: ContextValues = createContextValues(),
  ) {
    const { interceptors } = this.#settings
    const codec = this.#toCodec(method)
    const timeoutMs = this.#toTimeout(given)
    return {
      codec,
      limits: {
        interceptors,
        ...(signal === undefined ? {} : { signal }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      },
      common: {
        service: method.parent,
        requestMethod: 'POST',
        url: codec.target.url,
        header: this.#protocol.toHeader(method.methodKind, timeoutMs, header),
        contextValues,
      },
    }
  }

  /** As in connect-node, a timeout of 0 or less means none. */
  #toTimeout(given: number | undefined): number | undefined {
    if (given === undefined) return this.#settings.defaultTimeoutMs
    return given <= 0 ? undefined : given
  }

  #toCodec<I extends DescMessage, O extends DescMessage>(method: Method<I, O>): Codec<I, O> {
    const known = this.#codecs.get(method) as Codec<I, O> | undefined
    if (known !== undefined) return known
    const codec = new Codec(method, this.#settings)
    this.#codecs.set(method, codec)
    return codec
  }
}
