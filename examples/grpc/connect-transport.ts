/** Transports for connect-es: its clients, also generated ones, speak gRPC, gRPC-Web or Connect over Dodici. */

import type { Transport } from '@connectrpc/connect'
import { Code, ConnectError } from '@connectrpc/connect'
import type {
  CommonTransportOptions,
  UniversalClientFn,
  UniversalClientRequest,
} from '@connectrpc/connect/protocol'
import { validateReadWriteMaxBytes } from '@connectrpc/connect/protocol'
import { createTransport as createConnect } from '@connectrpc/connect/protocol-connect'
import { createTransport as createGrpc } from '@connectrpc/connect/protocol-grpc'
import { createTransport as createGrpcWeb } from '@connectrpc/connect/protocol-grpc-web'
import type { BodyReadable, Dispatcher, RequestBody } from 'dodici'
import { toGrpcError } from './protocol.ts'

const PROTOCOLS = { grpc: createGrpc, 'grpc-web': createGrpcWeb, connect: createConnect }

export interface DodiciTransportOptions
  extends Partial<Omit<CommonTransportOptions, 'httpClient' | 'baseUrl'>>,
    Pick<CommonTransportOptions, 'baseUrl'> {
  /** An Agent, or a Client or a Pool of the origin of `baseUrl`. */
  readonly dispatcher: Dispatcher
  /** @default 'grpc' */
  readonly protocol?: keyof typeof PROTOCOLS
}

/** For `createClient(Service, transport)`. */
export function createDodiciTransport(options: DodiciTransportOptions): Transport {
  const { dispatcher, protocol = 'grpc', readMaxBytes, writeMaxBytes, compressMinBytes } = options
  const create = PROTOCOLS[protocol]
  const common = {
    useBinaryFormat: true,
    interceptors: [],
    acceptCompression: [],
    sendCompression: null,
    ...options,
    ...validateReadWriteMaxBytes(readMaxBytes, writeMaxBytes, compressMinBytes),
  }
  return {
    // One message is sent as bytes, so that the request can be retried if the server has provably not processed it.
    unary: create({ ...common, httpClient: toHttpClient(dispatcher, collect) }).unary,
    stream: create({ ...common, httpClient: toHttpClient(dispatcher, (body) => body) }).stream,
  }
}

type ToBody = (body: AsyncIterable<Uint8Array>) => RequestBody | Promise<RequestBody>

async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces)
}

function toHttpClient(dispatcher: Dispatcher, toBody: ToBody): UniversalClientFn {
  return async (request) => {
    const { url, method, header, body, signal = null } = request
    const begun = performance.now()
    const { origin, pathname, search } = new URL(url)
    // connect-es keeps the deadline, and aborts the signal when it has passed. PINGs find a dead connection.
    const clocks = { headersTimeout: 0, bodyTimeout: 0, uploadTimeout: 0 }
    try {
      const response = await dispatcher.request({
        ...clocks,
        origin,
        path: `${pathname}${search}`,
        method,
        headers: header,
        body: body === undefined ? null : await toBody(body),
        signal,
        responseHeaders: 'raw',
      })
      const trailer = new Headers()
      return {
        status: response.statusCode,
        header: addTo(new Headers(), response.headers),
        body: read(response.body, request, begun, () => addTo(trailer, response.trailers)),
        trailer,
      }
    } catch (error) {
      throw toConnectError(error, request, begun)
    }
  }
}

/** @param raw `[name, value, …]` */
function addTo(headers: Headers, raw: readonly string[]): Headers {
  for (let index = 0; index < raw.length; index += 2) {
    headers.append(raw[index] as string, raw[index + 1] as string)
  }
  return headers
}

async function* read(body: BodyReadable, request: UniversalClientRequest, begun: number, onEnd: () => void) {
  try {
    for await (const piece of body) yield piece as Buffer
    onEnd()
  } catch (error) {
    throw toConnectError(error, request, begun)
  }
}

function toConnectError(
  thrown: unknown,
  { signal, header }: UniversalClientRequest,
  begun: number,
): ConnectError {
  // The reason is an error of connect-es: Canceled, or DeadlineExceeded.
  if (signal?.aborted) return ConnectError.from(signal.reason, Code.Canceled)
  // connect-es sends the deadline to the server, in milliseconds. NaN: it sends none.
  const timeout = Number.parseInt(header.get('grpc-timeout') ?? header.get('connect-timeout-ms') ?? '', 10)
  // connect-es and gRPC have the same numbers of codes.
  const { code, message } = toGrpcError(thrown, { timeout }, begun)
  return new ConnectError(message, code, undefined, undefined, thrown)
}
