import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import type { ConnectError, ConnectRouter } from '@connectrpc/connect'
import { Code, createClient } from '@connectrpc/connect'
import { compressionGzip, connectNodeAdapter } from '@connectrpc/connect-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call } from '../../examples/grpc/request-client.mjs'
import type { TransportOptions } from '../../src/connect/entry.ts'
import { createTransport } from '../../src/connect/entry.ts'
import { Agent, Client, errors } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { CANCEL } from '../support/peers/error-codes.ts'
import { startServer } from '../support/servers/server.ts'
import { fromValue, readAll, Test, toValue, toValues } from './connect-rig.ts'
import { Cleaner } from './fetch-servers.ts'
import type { GrpcServer } from './grpc-servers.ts'
import { GRPC_SERVERS, GRPC_START_LIMIT, startGrpcServer } from './grpc-servers.ts'

describe.each(GRPC_SERVERS)('a client of connect-es over Dodici › server %s', (name) => {
  const cleaner = new Cleaner()
  let server: GrpcServer
  beforeAll(async () => {
    server = await startGrpcServer(name, cleaner)
  }, GRPC_START_LIMIT)
  afterAll(() => cleaner.clean())

  describe.each(ENGINES)('engine %s', (engine) => {
    // In JSON the servers understand what they are asked.
    function connect(options: Partial<TransportOptions> = {}) {
      const dispatcher = destroyWithTest(
        new Client(server.origin, { engine, bodyTimeout: 50, uploadTimeout: 50 }),
      )
      const common = { baseUrl: server.origin, protocol: 'grpc', dispatcher, useBinaryFormat: false } as const
      return { dispatcher, client: createClient(Test, createTransport({ ...common, ...options })) }
    }

    it.each([true, false])('makes calls of each kind, messages as protobuf: %s', async (useBinaryFormat) => {
      const { client } = connect({ useBinaryFormat })
      expect(fromValue(await client.echo(toValue({ a: [1, null] })))).toEqual({ a: [1, null] })
      expect(await readAll(client.chat(toValues('one', 2, 'bye')))).toEqual(['one', 2, 'bye'])
      if (useBinaryFormat) return
      expect(fromValue(await client.collect(toValues('one', 'two')))).toEqual({ Count: 2, Size: 10 })
      expect(await readAll(client.expand(toValue({ Count: 3, Size: 4 })))).toEqual(['ee', 'ee', 'ee'])
    })

    it('brings metadata and trailers', async () => {
      const { client } = connect()
      const seen: (string | null)[] = []
      await client.echo(toValue('hello'), {
        headers: { 'x-initial': 'first', 'x-trailing': 'last' },
        onHeader: (headers) => seen.push(headers.get('x-initial')),
        onTrailer: (trailers) => seen.push(trailers.get('x-trailing')),
      })
      expect(seen).toEqual(['first', 'last'])
    })

    it('fails with the status, its message and its details', async () => {
      const failure = { Code: 5, Message: 'nothing: 100 % of ü', Detail: 'more' }
      const error: ConnectError = await connect()
        .client.fail(toValue(failure))
        .then(
          () => Promise.reject(new Error('It did not fail')),
          (error) => error,
        )
      expect([error.code, error.rawMessage]).toEqual([Code.NotFound, failure.Message])
      expect(error.details).toMatchObject([{ type: 'detail' }])
    })

    it('ends at its deadline, which the server gets', async () => {
      const { client, dispatcher } = connect()
      const id = randomUUID()
      const never = client.never(toValue(id), { timeoutMs: 200 })
      await expect(never).rejects.toMatchObject({ code: Code.DeadlineExceeded })
      expect(dispatcher.stats.running).toBe(0)
    })

    it('is cancelled by a signal, and the server learns of it', async () => {
      const { client, dispatcher } = connect()
      const controller = new AbortController()
      const id = randomUUID()
      const never = client.never(toValue(id), { signal: controller.signal })
      never.catch(() => {})
      for await (const _ of call(dispatcher, 'dodici.Test/Event', Buffer.from(`seen "${id}"`)));
      controller.abort()
      await expect(never).rejects.toMatchObject({ code: Code.Canceled })
      const outcomes: string[] = []
      for await (const outcome of call(dispatcher, 'dodici.Test/Event', Buffer.from(`ended "${id}"`))) {
        outcomes.push(`${outcome}`)
      }
      expect(outcomes).toEqual(['Canceled'])
    })

    it('keeps a stream that is silent for longer than the timeouts of other requests', async () => {
      const { client, dispatcher } = connect()
      const outgoing = new PassThrough({ objectMode: true })
      const chat = client.chat(outgoing)[Symbol.asyncIterator]()
      outgoing.write(toValue('one'))
      await chat.next()
      const second = chat.next()
      const quiet = { path: '/dodici.Test/Chat', method: 'POST', headers: { te: 'trailers' } } as const
      const headers = { 'content-type': 'application/grpc' }
      const body = new PassThrough()
      await expect(dispatcher.request({ ...quiet, headers, body })).rejects.toThrow(errors.UploadTimeoutError)
      outgoing.end(toValue('two'))
      expect(fromValue((await second).value)).toBe('two')
    })

    it('is unavailable without a server', async () => {
      const dispatcher = new Client('http://127.0.0.1:1', { engine })
      const { client } = connect({ dispatcher, baseUrl: 'http://127.0.0.1:1' })
      await expect(client.echo(toValue('hello'))).rejects.toMatchObject({ code: Code.Unavailable })
      await dispatcher.destroy()
    })
  })
})

describe.each(ENGINES)('a client of connect-es over an Agent › engine %s', (engine) => {
  it.each(['grpc', 'grpc-web', 'connect'] as const)('speaks %s', async (protocol) => {
    const { origin, server } = await startServer(() => {})
    const routes = (router: ConnectRouter) =>
      router.service(Test, { echo: (request) => request, chat: (requests) => requests })
    server.on('request', connectNodeAdapter({ routes }))
    const dispatcher = destroyWithTest(new Agent({ engine, h2c: true }))
    const transport = createTransport({
      dispatcher,
      protocol,
      baseUrl: origin,
      acceptCompression: [compressionGzip],
      sendCompression: compressionGzip,
      compressMinBytes: 0,
    })
    const client = createClient(Test, transport)
    const long = 'compress me, '.repeat(1_000)
    expect(fromValue(await client.echo(toValue(long)))).toBe(long)
    expect(await readAll(client.chat(toValues(long, 2, 'three')))).toEqual([long, 2, 'three'])
    await expect(client.never(toValue('no'))).rejects.toMatchObject({ code: Code.Unimplemented })
  })

  it('reports DEADLINE_EXCEEDED when a server ends a call with CANCEL after its deadline', async () => {
    const { origin } = await startServer((stream) => stream.close(CANCEL))
    const dispatcher = destroyWithTest(new Client(origin, { engine }))
    const transport = createTransport({ dispatcher, protocol: 'grpc', baseUrl: origin })
    // connect-es itself has no deadline then: its own clock can't come first.
    const headers = { 'grpc-timeout': '0m' }
    const failed = createClient(Test, transport).echo(toValue('hello'), { headers })
    await expect(failed).rejects.toMatchObject({ code: Code.DeadlineExceeded })
  })
})
