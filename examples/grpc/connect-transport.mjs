/** Transports for connect-es: its clients, also generated ones, speak gRPC, gRPC-Web or Connect over Dodici. */

// @ts-check

import { Code, ConnectError } from '@connectrpc/connect'
import { validateReadWriteMaxBytes } from '@connectrpc/connect/protocol'
import { createTransport as createConnect } from '@connectrpc/connect/protocol-connect'
import { createTransport as createGrpc } from '@connectrpc/connect/protocol-grpc'
import { createTransport as createGrpcWeb } from '@connectrpc/connect/protocol-grpc-web'
import { toGrpcError } from './protocol.mjs'

/** @typedef {import('@connectrpc/connect/protocol').CommonTransportOptions} CommonTransportOptions */
/** @typedef {import('@connectrpc/connect/protocol').UniversalClientRequest} UniversalClientRequest */
/** @typedef {import('dodici').RequestBody} RequestBody */

const PROTOCOLS = { grpc: createGrpc, 'grpc-web': createGrpcWeb, connect: createConnect }

/**
 * @typedef {object} OwnOptions
 * @property {import('dodici').Dispatcher} dispatcher an Agent, or a Client or a Pool of the origin of `baseUrl`
 * @property {keyof typeof PROTOCOLS} [protocol] `'grpc'` by default
 */

/**
 * @typedef {Partial<Omit<CommonTransportOptions, 'httpClient' | 'baseUrl'>> & Pick<CommonTransportOptions, 'baseUrl'>
 *   & OwnOptions} DodiciTransportOptions
 */

/**
 * For `createClient(Service, transport)`.
 *
 * @param {DodiciTransportOptions} options
 * @returns {import('@connectrpc/connect').Transport}
 */
export function createDodiciTransport(options) {
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

/** @param {AsyncIterable<Uint8Array>} body */
async function collect(body) {
  const pieces = []
  for await (const piece of body) pieces.push(piece)
  const [first] = pieces
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
}

/**
 * @param {import('dodici').Dispatcher} dispatcher
 * @param {(body: AsyncIterable<Uint8Array>) => RequestBody | Promise<RequestBody>} toBody
 * @returns {import('@connectrpc/connect/protocol').UniversalClientFn}
 */
function toHttpClient(dispatcher, toBody) {
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

/** @param {Headers} headers @param {readonly string[]} raw `[name, value, …]` */
function addTo(headers, raw) {
  for (let index = 0; index < raw.length; index += 2) {
    headers.append(raw[index] ?? '', raw[index + 1] ?? '')
  }
  return headers
}

/**
 * @param {import('dodici').BodyReadable} body
 * @param {UniversalClientRequest} request
 * @param {number} begun
 * @param {() => void} onEnd
 * @returns {AsyncGenerator<Buffer>}
 */
async function* read(body, request, begun, onEnd) {
  try {
    yield* body
    onEnd()
  } catch (error) {
    throw toConnectError(error, request, begun)
  }
}

/** @param {unknown} thrown @param {UniversalClientRequest} request @param {number} begun */
function toConnectError(thrown, { signal, header }, begun) {
  // The reason is an error of connect-es: Canceled, or DeadlineExceeded.
  if (signal?.aborted) return ConnectError.from(signal.reason, Code.Canceled)
  // connect-es sends the deadline to the server, in milliseconds. NaN: it sends none.
  const timeout = Number.parseInt(header.get('grpc-timeout') ?? header.get('connect-timeout-ms') ?? '', 10)
  // connect-es and gRPC have the same numbers of codes.
  const { code, message } = toGrpcError(thrown, { timeout }, begun)
  return new ConnectError(message, code, undefined, undefined, thrown)
}
