/** Each server of gRPC, asked by each client of `examples/grpc/` on each engine. */

import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe } from 'vitest'
import { GrpcCall } from '../../examples/grpc/dispatch-client.mjs'
import type { CallOptions, GrpcError, Input } from '../../examples/grpc/protocol.mjs'
import { call } from '../../examples/grpc/request-client.mjs'
import type { ClientOptions, Dispatcher } from '../../src/index.ts'
import { Client } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { Cleaner } from './fetch-servers.ts'
import type { GrpcServer, GrpcServerName, GrpcServerOptions } from './grpc-servers.ts'
import { GRPC_SERVERS, GRPC_START_LIMIT, startGrpcServer } from './grpc-servers.ts'

type Call = (
  dispatcher: Dispatcher,
  method: string,
  input: Input,
  options?: CallOptions,
) => AsyncIterable<Buffer>

export const CALLS: Readonly<Record<string, Call>> = {
  'request()': call,
  'dispatch()': (...call) => new GrpcCall(...call),
}

/** One client on one engine, and its server. */
export class GrpcRig {
  readonly #call: Call
  readonly #engine: NonNullable<ClientOptions['engine']>
  readonly #toServer: () => GrpcServer

  constructor(call: Call, engine: NonNullable<ClientOptions['engine']>, toServer: () => GrpcServer) {
    this.#call = call
    this.#engine = engine
    this.#toServer = toServer
  }

  /** A client that ends with the test. */
  toClient(options: ClientOptions = {}): Client {
    const { origin, ca } = this.#toServer()
    const client = destroyWithTest(
      new Client(origin, { engine: this.#engine, connect: ca === '' ? {} : { ca }, ...options }),
    )
    return client
  }

  /** The messages of a response, as they come. A string is a message. */
  call(client: Client, method: string, input: Input | string, options: CallOptions = {}) {
    const message = typeof input === 'string' ? Buffer.from(input) : input
    return this.#call(client, `dodici.Test/${method}`, message, options)
  }

  /** All messages. */
  async ask(...call: Parameters<GrpcRig['call']>): Promise<string[]> {
    const messages: string[] = []
    for await (const message of this.call(...call)) messages.push(`${message}`)
    return messages
  }

  /** The error of a call. */
  async fail(...call: Parameters<GrpcRig['call']>): Promise<GrpcError> {
    return await this.ask(...call).then(
      (messages) => Promise.reject(new Error(`It didn't fail, and brought ${messages}`)),
      (error) => error,
    )
  }
}

/** Messages that a test writes one by one. */
export function toOutgoing(): PassThrough {
  return new PassThrough({ objectMode: true })
}

export async function* toMessages(...messages: string[]): AsyncGenerator<Buffer> {
  for (const message of messages) yield Buffer.from(message)
}

/** @param test adds tests to one combination of all */
export function describeGrpc(
  what: string,
  test: (rig: GrpcRig, name: GrpcServerName) => void,
  options: GrpcServerOptions = {},
): void {
  describe.each(GRPC_SERVERS)(`${what} › server %s`, (name) => {
    const cleaner = new Cleaner()
    let server: GrpcServer
    beforeAll(async () => {
      server = await startGrpcServer(name, cleaner, options)
    }, GRPC_START_LIMIT)
    afterAll(() => cleaner.clean())

    describe.each(ENGINES)('engine %s', (engine) => {
      describe.each(Object.entries(CALLS))('client over %s', (_, call) => {
        test(new GrpcRig(call, engine, () => server), name)
      })
    })
  })
}
