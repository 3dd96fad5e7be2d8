// The client under test of Connect's conformance suite: connect-es over dodici/connect. It reads test cases from stdin, makes
// each call, and writes what came of it to stdout. `npm run conformance:connect` runs the suite. The argument is the engine.

// @ts-check

import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { create, createFileRegistry, createRegistry, fromBinary, toBinary } from '@bufbuild/protobuf'
import { anyPack, anyUnpack, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { Client } from 'dodici'
import { compressionBrotli, compressionGzip, createTransport } from 'dodici/connect'

const bytes = readFileSync(new URL('./descriptors.binpb', import.meta.url))
const files = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes))
const registry = createRegistry(...files.files)

/** @param {string} name */
function messageOf(name) {
  const found = registry.getMessage(`connectrpc.conformance.v1.${name}`)
  if (found === undefined) throw new Error(`no message ${name}`)
  return found
}

function toService() {
  const found = registry.getService('connectrpc.conformance.v1.ConformanceService')
  if (found === undefined) throw new Error('no service')
  return found
}

const Service = toService()
const RequestSchema = messageOf('ClientCompatRequest')
const ResponseSchema = messageOf('ClientCompatResponse')

const engine = process.argv[2] === 'node' ? 'node' : 'wire'

/** By the numbers of the suite's enumerations. */
const PROTOCOLS = /** @type {const} */ ([undefined, 'connect', 'grpc', 'grpc-web'])
const COMPRESSIONS = [undefined, undefined, compressionGzip, compressionBrotli]
const HTTP_1 = 1

/** @typedef {any} Message the suite's messages, which are described at run time */

/** @param {Message} request */
function open(request) {
  const { protocol, codec, compression, host, port, serverTlsCert, clientTlsCreds, httpVersion } = request
  const origin = `${serverTlsCert.length > 0 ? 'https' : 'http'}://${host}:${port}`
  const tls = serverTlsCert.length > 0 ? { ca: Buffer.from(serverTlsCert) } : {}
  const own = clientTlsCreds
    ? { cert: Buffer.from(clientTlsCreds.cert), key: Buffer.from(clientTlsCreds.key) }
    : {}
  const dispatcher = new Client(origin, {
    engine,
    connect: { ...tls, ...own },
    ...(httpVersion === HTTP_1 ? { allowH2: false } : {}),
  })
  const used = COMPRESSIONS[compression]
  const transport = createTransport({
    baseUrl: origin,
    protocol: PROTOCOLS[protocol] ?? 'connect',
    dispatcher,
    useBinaryFormat: codec === 1,
    useHttpGet: request.useGetHttpMethod,
    acceptCompression: used === undefined ? [] : [used],
    sendCompression: used ?? null,
    compressMinBytes: 0,
    jsonOptions: { registry },
    ...(request.messageReceiveLimit > 0 ? { readMaxBytes: request.messageReceiveLimit } : {}),
  })
  return { dispatcher, client: createClient(Service, transport) }
}

/** @param {Headers} headers */
const toHeaders = (headers) => [...headers].map(([name, value]) => ({ name, value: value.split(/,\s*/) }))

/** @param {ConnectError} error */
function toError({ code, rawMessage, details }) {
  return {
    code,
    message: rawMessage,
    details: details.map((detail) =>
      'desc' in detail
        ? anyPack(detail.desc, create(detail.desc, detail.value))
        : { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value },
    ),
  }
}

/** Makes the call of a test case. @param {Message} request */
async function run(request) {
  const { dispatcher, client } = open(request)
  const method = Service.methods.find(({ name }) => name === request.method)
  if (method === undefined) throw new Error(`no method ${request.method}`)
  const call = /** @type {Message} */ (client)[method.localName]
  const messages = request.requestMessages.map((/** @type {Message} */ any) => anyUnpack(any, registry))
  const controller = new AbortController()
  const { cancelTiming } = request.cancel ?? {}
  const after = cancelTiming?.case === 'afterCloseSendMs' || (request.cancel && !cancelTiming?.case)
  /** @type {Message} */
  const result = { responseHeaders: [], responseTrailers: [], payloads: [] }
  const headers = new Headers()
  for (const { name, value } of request.requestHeaders) for (const one of value) headers.append(name, one)
  const options = {
    headers,
    signal: controller.signal,
    timeoutMs: request.timeoutMs,
    onHeader: (/** @type {Headers} */ header) => (result.responseHeaders = toHeaders(header)),
    onTrailer: (/** @type {Headers} */ trailer) => (result.responseTrailers = toHeaders(trailer)),
  }
  const closeSend = () => {
    if (after) setTimeout(() => controller.abort(), cancelTiming?.value ?? 0)
  }
  const receive = (/** @type {Message} */ response) => {
    result.payloads.push(response.payload)
    if (cancelTiming?.case === 'afterNumResponses' && result.payloads.length === cancelTiming.value)
      controller.abort()
  }
  /** Each wakes the sender of a full-duplex stream. */
  let wake = () => {}
  const isFullDuplex = request.streamType === 5
  async function* send() {
    let received = 0
    for (const message of messages) {
      if (request.requestDelayMs > 0) await delay(request.requestDelayMs)
      yield message
      received++
      if (isFullDuplex && result.payloads.length < received)
        await new Promise((resolve) => (wake = () => resolve(null)))
    }
    if (cancelTiming?.case === 'beforeCloseSend') {
      await delay(1)
      controller.abort()
      // The stream isn't closed: the call is to end by the signal.
      await new Promise(() => {})
    }
    closeSend()
  }
  try {
    switch (method.methodKind) {
      case 'unary': {
        if (request.requestDelayMs > 0) await delay(request.requestDelayMs)
        closeSend()
        receive(await call(messages[0], options))
        break
      }
      case 'client_streaming':
        receive(await call(send(), options))
        break
      case 'server_streaming': {
        if (request.requestDelayMs > 0) await delay(request.requestDelayMs)
        closeSend()
        for await (const response of call(messages[0], options)) receive(response)
        break
      }
      default:
        for await (const response of call(send(), options)) {
          receive(response)
          wake()
        }
    }
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error
    result.error = toError(error)
    // What the header section and the trailers had is in the error's metadata, without a border between them.
    if (result.responseHeaders.length === 0) result.responseHeaders = toHeaders(error.metadata)
    if (result.responseTrailers.length === 0) result.responseTrailers = toHeaders(error.metadata)
    if (error.code === Code.Canceled || request.cancel) controller.abort()
  } finally {
    await dispatcher.destroy()
  }
  return result
}

/** @param {Message} response */
function write(response) {
  const data = toBinary(ResponseSchema, create(ResponseSchema, response))
  const prefix = Buffer.alloc(4)
  prefix.writeUInt32BE(data.length)
  process.stdout.write(Buffer.concat([prefix, data]))
}

/** How many calls are made at a time. */
const PARALLEL = 8
let running = 0
let next = () => {}

/** @param {Uint8Array} data */
async function play(data) {
  const request = /** @type {Message} */ (fromBinary(RequestSchema, data))
  try {
    const response = await run(request)
    write({ testName: request.testName, result: { case: 'response', value: response } })
  } catch (error) {
    const message = error instanceof Error ? `${error.stack}` : String(error)
    write({ testName: request.testName, result: { case: 'error', value: { message } } })
  } finally {
    running--
    next()
  }
}

let pending = Buffer.alloc(0)
for await (const chunk of process.stdin) {
  pending = Buffer.concat([pending, chunk])
  while (pending.length >= 4 && pending.length >= 4 + pending.readUInt32BE(0)) {
    const end = 4 + pending.readUInt32BE(0)
    while (running >= PARALLEL) await new Promise((resolve) => (next = () => resolve(null)))
    running++
    play(pending.subarray(4, end))
    pending = pending.subarray(end)
  }
}
