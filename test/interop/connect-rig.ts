import type { Server } from 'node:http'
import { createServer as createHttp1 } from 'node:http'
import type { Http2Server, ServerHttp2Session } from 'node:http2'
import { createSecureServer, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { JsonValue, MessageShape } from '@bufbuild/protobuf'
import { create, fromJson, toBinary, toJson } from '@bufbuild/protobuf'
import { fileDesc, serviceDesc } from '@bufbuild/protobuf/codegenv2'
import {
  FileDescriptorProtoSchema,
  file_google_protobuf_struct,
  MethodOptions_IdempotencyLevel,
  ValueSchema,
} from '@bufbuild/protobuf/wkt'
import type { ConnectRouter, HandlerContext, Transport } from '@connectrpc/connect'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import {
  connectNodeAdapter,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from '@connectrpc/connect-node'
import { onTestFinished } from 'vitest'
import type { TransportOptions } from '../../src/connect/entry.ts'
import { createTransport } from '../../src/connect/entry.ts'
import { Client } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { toCertificate } from '../support/servers/server.ts'

const { NO_SIDE_EFFECTS, IDEMPOTENT } = MethodOptions_IdempotencyLevel

const METHODS = {
  Echo: {},
  Fail: {},
  Never: {},
  Collect: { clientStreaming: true },
  Expand: { serverStreaming: true },
  Chat: { clientStreaming: true, serverStreaming: true },
  Get: { options: { idempotencyLevel: NO_SIDE_EFFECTS } },
  Put: { options: { idempotencyLevel: IDEMPOTENT } },
}

type Method<Kind> = { methodKind: Kind; input: typeof ValueSchema; output: typeof ValueSchema }

/** What a generator would make of the service: each message is any JSON. */
export const Test = serviceDesc<{
  echo: Method<'unary'>
  fail: Method<'unary'>
  never: Method<'unary'>
  collect: Method<'client_streaming'>
  expand: Method<'server_streaming'>
  chat: Method<'bidi_streaming'>
  get: Method<'unary'>
  put: Method<'unary'>
}>(toFile(), 0)

function toFile() {
  const type = '.google.protobuf.Value'
  const method = Object.entries(METHODS).map(([name, more]) => ({
    name,
    inputType: type,
    outputType: type,
    ...more,
  }))
  const file = create(FileDescriptorProtoSchema, {
    name: 'test.proto',
    package: 'dodici',
    syntax: 'proto3',
    dependency: ['google/protobuf/struct.proto'],
    service: [{ name: 'Test', method }],
  })
  const bytes = Buffer.from(toBinary(FileDescriptorProtoSchema, file))
  return fileDesc(bytes.toString('base64'), [file_google_protobuf_struct])
}

export type Value = MessageShape<typeof ValueSchema>

export const toValue = (json: JsonValue): Value => fromJson(ValueSchema, json)
export const fromValue = (value: Value): JsonValue => toJson(ValueSchema, value)

export async function* toValues(...values: JsonValue[]): AsyncGenerator<Value> {
  for (const value of values) yield toValue(value)
}

export async function readAll(values: AsyncIterable<Value>): Promise<JsonValue[]> {
  const all: JsonValue[] = []
  for await (const value of values) all.push(fromValue(value))
  return all
}

/** What became of the calls that the server had, by the field `x-id`. */
export type Seen = Map<string, 'begun' | 'cancelled'>

function toRoutes(seen: Seen) {
  /** Notes a call, and when its client has cancelled it. */
  const watch = ({ requestHeader, signal }: HandlerContext): void => {
    const id = requestHeader.get('x-id')
    if (id === null) return
    seen.set(id, 'begun')
    signal.addEventListener('abort', () => seen.set(id, 'cancelled'))
  }
  const answer = (context: HandlerContext): void => {
    watch(context)
    context.responseHeader.set('x-first', `first ${context.requestHeader.get('x-ask')}`)
    context.responseTrailer.set('x-last', 'last')
    context.responseTrailer.set('x-octets-bin', 'AAEC')
  }
  const fail = (value: Value): never => {
    const { code, message } = Object(fromValue(value))
    const detail = { desc: ValueSchema, value: { kind: { case: 'stringValue' as const, value: 'more' } } }
    throw new ConnectError(message, code, { 'x-why': 'because' }, [detail])
  }
  const forever = (context: HandlerContext): Promise<never> =>
    new Promise((_resolve, reject) => {
      context.signal.addEventListener('abort', () => reject(context.signal.reason))
    })
  return (router: ConnectRouter) =>
    router.service(Test, {
      echo(value, context) {
        answer(context)
        return value
      },
      fail,
      never(_value, context) {
        watch(context)
        return forever(context)
      },
      async collect(values, context) {
        answer(context)
        return toValue(await readAll(values))
      },
      async *expand(value, context) {
        answer(context)
        const { count, text, after } = Object(fromValue(value))
        for (let index = 0; index < count; index++) yield toValue(text)
        if (after === 'fail') fail(toValue({ code: Code.DataLoss, message: 'lost' }))
        if (after === 'wait') await forever(context)
      },
      async *chat(values, context) {
        answer(context)
        for await (const value of values) {
          yield value
          if (fromValue(value) === 'bye') return
        }
      },
      get(_value, context) {
        answer(context)
        return toValue({ method: context.requestMethod, ask: context.requestHeader.get('x-ask') })
      },
      put: (value) => value,
    })
}

export const WIRES = ['h2c', 'TLS', 'HTTP/1.1'] as const
export type Wire = (typeof WIRES)[number]

/** connect-node's own server. It ends with the test. */
export class ConnectServer {
  readonly seen: Seen = new Map()
  readonly #wire: Wire
  readonly #server: Http2Server | Server
  readonly #sessions = new Set<ServerHttp2Session>()
  ca = ''

  private constructor(wire: Wire, server: Http2Server | Server, ca: string) {
    this.#wire = wire
    this.#server = server
    this.ca = ca
    server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session)
      session.once('close', () => this.#sessions.delete(session))
    })
  }

  static async start(wire: Wire): Promise<ConnectServer> {
    const { private: key, cert } = wire === 'TLS' ? await toCertificate() : { private: '', cert: '' }
    const server =
      wire === 'TLS'
        ? createSecureServer({ key, cert })
        : wire === 'h2c'
          ? createServer()
          : createHttp1({ keepAliveTimeout: 60_000 })
    const rig = new ConnectServer(wire, server as Http2Server | Server, cert)
    const adapter = connectNodeAdapter({ routes: toRoutes(rig.seen) })
    server.on('request', adapter)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    return rig
  }

  get origin(): string {
    const { port } = this.#server.address() as AddressInfo
    return `${this.#wire === 'TLS' ? 'https' : 'http'}://127.0.0.1:${port}`
  }

  async stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy()
    if ('closeAllConnections' in this.#server) this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

export type ProtocolName = TransportOptions['protocol']
export const PROTOCOLS: readonly ProtocolName[] = ['connect', 'grpc', 'grpc-web']

/** What carries the calls: Dodici on either engine, or connect-node's transport, which says what is right. */
export const CARRIERS = ['node', 'wire', 'connect-node'] as const
export type Carrier = (typeof CARRIERS)[number]

export type Options = Partial<Omit<TransportOptions, 'dispatcher' | 'protocol'>>

/** A transport that ends with the test. */
export function openTransport(
  carrier: Carrier,
  wire: Wire,
  protocol: ProtocolName,
  { origin, ca }: ConnectServer,
  options: Options = {},
): Transport {
  const common = { baseUrl: origin, ...options }
  if (carrier !== 'connect-node') {
    const connect = ca === '' ? {} : { ca }
    const allowH2 = wire !== 'HTTP/1.1'
    const dispatcher = destroyWithTest(new Client(origin, { engine: carrier, connect, allowH2 }))
    return createTransport({ ...common, protocol, dispatcher })
  }
  const known = Object.fromEntries(Object.entries(common).filter(([, value]) => value !== undefined))
  const given = { ...known, baseUrl: origin }
  if (wire === 'HTTP/1.1') {
    const http1 = { ...given, httpVersion: '1.1' } as const
    return protocol === 'connect' ? createConnectTransport(http1) : createGrpcWebTransport(http1)
  }
  const sessionManager = new Http2SessionManager(origin, undefined, ca === '' ? {} : { ca })
  onTestFinished(() => sessionManager.abort())
  const http2 = { ...given, httpVersion: '2', sessionManager } as const
  if (protocol === 'connect') return createConnectTransport(http2)
  return protocol === 'grpc' ? createGrpcTransport(http2) : createGrpcWebTransport(http2)
}

export const open = (...args: Parameters<typeof openTransport>) => createClient(Test, openTransport(...args))

/** How a call failed. */
export async function failureOf(promise: Promise<unknown>): Promise<ConnectError> {
  const error: unknown = await promise.then(
    () => new Error('It did not fail'),
    (error) => error,
  )
  if (error instanceof ConnectError) return error
  throw error
}
