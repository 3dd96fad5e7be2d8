/**
 * What the transport needs from a protocol, and what gRPC, gRPC-Web and Connect's streams have in common.
 *
 * @module
 */

import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import type { StreamRequest, StreamResponse, UnaryRequest, UnaryResponse } from '@connectrpc/connect'
import { Code, ConnectError } from '@connectrpc/connect'
import type { Compression } from '@connectrpc/connect/protocol'
import type { RequestBody } from '../index.ts'
import type { Codec } from './codec.ts'
import type { Envelope } from './envelopes.ts'
import { decompress, isCompressed } from './envelopes.ts'
import type { ExchangeRequest } from './exchange.ts'
import type { MessageRules, MessageSource, SendingRules } from './messages.ts'
import { IncomingMessages, OutgoingMessages, toBody } from './messages.ts'
import type { Settings } from './settings.ts'
import { StreamExchange } from './stream-exchange.ts'
import type { HeaderCheck } from './unary-exchange.ts'

/** A call that the transport can end when its caller has left it. */
export type Leavable = Pick<MessageSource, 'leave'>

/** A unary request, and what else an exchange may know about it. */
export type UnaryInput<I extends DescMessage, O extends DescMessage> = UnaryRequest<I, O> & ExchangeRequest

export interface Protocol {
  /** The header section before the interceptors see it. */
  toHeader(methodKind: MethodKind, timeoutMs: number | undefined, header: HeadersInit | undefined): Headers

  unary<I extends DescMessage, O extends DescMessage>(
    request: UnaryInput<I, O>,
    codec: Codec<I, O>,
  ): Promise<UnaryResponse<I, O>>

  /** @param onBegin - gets the call before its request is sent */
  stream<I extends DescMessage, O extends DescMessage>(
    request: StreamRequest<I, O>,
    codec: Codec<I, O>,
    onBegin: (call: Leavable) => void,
  ): Promise<StreamResponse<I, O>>
}

export type MethodKind = 'unary' | 'server_streaming' | 'client_streaming' | 'bidi_streaming'

/** How the codec's messages are sent. */
export function toSendingRules<I extends DescMessage, O extends DescMessage>(
  { serialize }: Codec<I, O>,
  { sendCompression, compressMinBytes }: Settings,
): SendingRules<MessageShape<I>> {
  return { serialize, sendCompression, compressMinBytes }
}

/** A stream whose request was sent, and whose response has begun. */
interface Streaming<TChecked> {
  readonly exchange: StreamExchange<TChecked>
  readonly checked: TChecked
  readonly header: Headers
}

/** With a status in the header section, a stream fails at once; for a unary call, the body counts, too. */
export function toStreamCheck<TChecked extends { readonly headerError?: ConnectError | undefined }>(
  check: HeaderCheck<TChecked>,
): HeaderCheck<TChecked> {
  return (status, header) => {
    const checked = check(status, header)
    if (checked.headerError !== undefined) throw checked.headerError
    return checked
  }
}

/** Sends a stream's request. */
export async function beginStream<I extends DescMessage, O extends DescMessage, TChecked>(
  request: StreamRequest<I, O>,
  codec: Codec<I, O>,
  settings: Settings,
  check: HeaderCheck<TChecked>,
  onBegin: (call: Leavable) => void,
): Promise<Streaming<TChecked>> {
  const exchange = new StreamExchange(toPost(request), check, settings.readMaxBytes)
  onBegin(exchange)
  const rules = toSendingRules(codec, settings)
  let body: RequestBody
  // One message is sent as bytes, so that the request can be sent again if the server has provably not processed it.
  if (request.method.methodKind === 'server_streaming') body = await toBody(request.message, rules)
  else body = new OutgoingMessages(request.message, rules, (error) => exchange.fail(error))
  return { exchange, ...(await exchange.run(codec, body)) }
}

/** Whatever an interceptor says: the protocol has no other method. */
export function toPost({ url, header, signal, deadline, raw }: ExchangeRequest): ExchangeRequest {
  return { url, header, signal, deadline, raw, requestMethod: 'POST' }
}

/** @param rules - what the protocol knows about the messages, in addition to what all protocols share */
export function toStreamResponse<I extends DescMessage, O extends DescMessage, TChecked>(
  { service, method }: StreamRequest<I, O>,
  { exchange, header }: Streaming<TChecked>,
  trailer: Headers,
  rules: MessageRules<MessageShape<O>>,
): StreamResponse<I, O> {
  return { stream: true, service, method, header, trailer, message: new IncomingMessages(exchange, rules) }
}

/** A message's bytes, decompressed. */
export function open(
  envelope: Envelope,
  compression: Compression | undefined,
  { readMaxBytes }: Settings,
): Uint8Array | Promise<Uint8Array> {
  return isCompressed(envelope) ? decompress(envelope, compression ?? null, readMaxBytes) : envelope.data
}

/**
 * Copies fields into trailers. A response with its status in the header section has no other section ('Trailers-Only'),
 * so its header fields are trailers, too.
 */
export function copyTo(trailer: Headers, header: Headers): void {
  for (const [name, value] of header) trailer.set(name, value)
}

export function toExtraMessage(): ConnectError {
  return new ConnectError(
    'protocol error: received extra output message for unary method',
    Code.Unimplemented,
  )
}

export function toMissingMessage(code: Code): ConnectError {
  return new ConnectError('protocol error: missing output message for unary method', code)
}
