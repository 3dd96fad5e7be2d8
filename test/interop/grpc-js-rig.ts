/** Clients of `@grpc/grpc-js` over its own transport, and over Dodici's channels on each engine. */

import * as grpc from '@grpc/grpc-js'
import { afterAll } from 'vitest'
import type { ChannelFactoryOptions, ChannelFactoryOverride } from '../../src/grpc-js/declarations.ts'
import { channelFactory } from '../../src/grpc-js/entry.ts'
import { ENGINES } from '../support/clients/engines.ts'

export const same = (bytes: Buffer): Buffer => bytes

/** What makes the channel of a client; null: grpc-js itself. */
export interface Transport {
  readonly name: string
  readonly isOurs: boolean
  toFactory(options?: ChannelFactoryOptions): ChannelFactoryOverride | null
}

export const TRANSPORTS: readonly Transport[] = [
  { name: 'grpc-js itself', isOurs: false, toFactory: () => null },
  ...ENGINES.map((engine) => ({
    name: `engine ${engine}`,
    isOurs: true,
    toFactory: (options: ChannelFactoryOptions = {}) => channelFactory({ grpc, engine, ...options }),
  })),
]

export const OURS = TRANSPORTS.filter(({ isOurs }) => isOurs)

/** One end of a call. */
export interface Ended {
  readonly code: number
  readonly details: string
  readonly metadata: grpc.Metadata
}

/** A client without generated code. It is closed when its file is over, or before. */
export class TestClient extends grpc.Client {
  static readonly #all = new Set<TestClient>()

  constructor(
    transport: Transport,
    target: string,
    credentials: grpc.ChannelCredentials = grpc.credentials.createInsecure(),
    options: grpc.ChannelOptions = {},
    factory = transport.toFactory(),
  ) {
    super(target, credentials, {
      ...options,
      ...(factory === null ? {} : { channelFactoryOverride: factory as never }),
    })
    TestClient.#all.add(this)
  }

  static closeAll(): void {
    for (const client of TestClient.#all) client.close()
    TestClient.#all.clear()
  }

  /** Settles when the channel is READY. */
  waitForReadyNow(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waitForReady(Date.now() + 60_000, (error) => (error ? reject(error) : resolve()))
    })
  }

  /** A unary call. */
  unary(
    method: string,
    message: string | Buffer,
    metadata = new grpc.Metadata(),
    options: grpc.CallOptions = {},
  ): Promise<{
    message: Buffer | null
    error: grpc.ServiceError | null
    header: grpc.Metadata | null
    status: Ended
    call: grpc.ClientUnaryCall
  }> {
    return new Promise((resolve) => {
      let header: grpc.Metadata | null = null
      let answer: { message: Buffer | null; error: grpc.ServiceError | null } = { message: null, error: null }
      const call = this.makeUnaryRequest(
        toPath(method),
        same,
        same,
        Buffer.from(message as string),
        metadata,
        options,
        (error, value) => {
          answer = { error, message: value ?? null }
        },
      )
      call.on('metadata', (given) => {
        header = given
      })
      call.on('status', (status) => resolve({ ...answer, header, status, call }))
    })
  }

  serverStream(
    method: string,
    message: string,
    options: grpc.CallOptions = {},
  ): grpc.ClientReadableStream<Buffer> {
    return this.makeServerStreamRequest(toPath(method), same, same, Buffer.from(message), options)
  }

  clientStream(
    method: string,
    callback: (error: grpc.ServiceError | null, message?: Buffer) => void,
    options: grpc.CallOptions = {},
  ): grpc.ClientWritableStream<Buffer> {
    return this.makeClientStreamRequest(toPath(method), same, same, new grpc.Metadata(), options, callback)
  }

  duplex(
    method: string,
    metadata = new grpc.Metadata(),
    options: grpc.CallOptions = {},
  ): grpc.ClientDuplexStream<Buffer, Buffer> {
    return this.makeBidiStreamRequest(toPath(method), same, same, metadata, options)
  }
}

function toPath(method: string): string {
  return method.startsWith('/') ? method : `/dodici.Test/${method}`
}

/** All that a stream of messages brings, and its end. */
export function collect(
  stream: grpc.ClientReadableStream<Buffer> | grpc.ClientDuplexStream<Buffer, Buffer>,
): Promise<{
  readonly messages: Buffer[]
  readonly status: Ended
}> {
  return new Promise((resolve) => {
    const messages: Buffer[] = []
    stream.on('data', (message: Buffer) => messages.push(message))
    stream.on('error', () => {})
    stream.on('status', (status: Ended) => setImmediate(resolve, { messages, status }))
  })
}

export function closeClients(): void {
  afterAll(() => TestClient.closeAll())
}
