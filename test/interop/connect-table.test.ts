import { randomUUID } from 'node:crypto'
import type { JsonValue } from '@bufbuild/protobuf'
import type { Interceptor } from '@connectrpc/connect'
import { Code } from '@connectrpc/connect'
import { compressionGzip as theirGzip } from '@connectrpc/connect-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compressionBrotli, compressionGzip } from '../../src/connect/entry.ts'
import type { Carrier, Options, ProtocolName, Wire } from './connect-rig.ts'
import {
  CARRIERS,
  ConnectServer,
  failureOf,
  fromValue,
  open,
  PROTOCOLS,
  readAll,
  toValue,
  toValues,
  WIRES,
} from './connect-rig.ts'

type Calls = ReturnType<typeof open>

/** What a case has to work with. */
interface Scene {
  readonly server: ConnectServer
  connect(options?: Options): Calls
}

interface Case {
  /** Requests go on while responses come: HTTP/1.1 of connect-node's server can't. */
  readonly isFullDuplex?: true
  /** Where it means anything. */
  readonly only?: readonly ProtocolName[]
  run(scene: Scene): Promise<unknown>
  readonly outcome: unknown
}

const LONG = 'compress me, '.repeat(1_000)
const FAILURE = { code: Code.NotFound, message: 'nothing: 100 % of ü' }

/** Adds a field, and calls another method than it was asked for. */
const redirecting: Interceptor = (next) => (request) => {
  request.header.set('x-ask', 'intercepted')
  return next({ ...request, url: request.url.replace('Echo', 'Get') } as typeof request)
}

/** Doubles each message of a stream, both ways. */
const doubling: Interceptor = (next) => async (request) => {
  if (!request.stream) return next(request)
  const twice = async function* <T>(messages: AsyncIterable<T>) {
    for await (const message of messages) {
      yield message
      yield message
    }
  }
  const response = await next({ ...request, message: twice(request.message) })
  return response.stream ? { ...response, message: twice(response.message) } : response
}

/** Tries again once, with a field that says so. */
const retrying: Interceptor = (next) => async (request) => {
  try {
    return await next(request)
  } catch {
    return await next({ ...request, url: request.url.replace('Fail', 'Echo') } as typeof request)
  }
}

const compressed = {
  acceptCompression: [compressionGzip],
  sendCompression: compressionGzip,
} satisfies Options

const CASES: Readonly<Record<string, Case>> = {
  'a unary call': {
    run: async ({ connect }) => fromValue(await connect().echo(toValue({ a: [1, null, 'ü'] }))),
    outcome: { a: [1, null, 'ü'] },
  },
  'messages as JSON': {
    run: async ({ connect }) => {
      const client = connect({ useBinaryFormat: false })
      return [
        fromValue(await client.echo(toValue('one'))),
        await readAll(client.expand(toValue({ count: 2, text: 'x' }))),
      ]
    },
    outcome: ['one', ['x', 'x']],
  },
  'a stream from the server': {
    run: ({ connect }) => readAll(connect().expand(toValue({ count: 300, text: 'x' }))),
    outcome: Array(300).fill('x'),
  },
  'a stream from the server without messages': {
    run: ({ connect }) => readAll(connect().expand(toValue({ count: 0 }))),
    outcome: [],
  },
  'a stream of more than the windows hold': {
    run: async ({ connect }) => {
      const all = await readAll(connect().expand(toValue({ count: 200, text: 'x'.repeat(10_000) })))
      return [all.length, new Set(all).size]
    },
    outcome: [200, 1],
  },
  'a stream to the server': {
    run: async ({ connect }) => fromValue(await connect().collect(toValues('one', 2, 'three'))),
    outcome: ['one', 2, 'three'],
  },
  'a stream to the server without messages': {
    run: async ({ connect }) => fromValue(await connect().collect(toValues())),
    outcome: [],
  },
  'streams both ways, in turn': {
    isFullDuplex: true,
    run: async ({ connect }) => {
      const turns: JsonValue[] = []
      let wake = () => {}
      async function* ask() {
        for (const word of ['one', 'two', 'bye']) {
          yield toValue(word)
          if (turns.at(-1) !== word) await new Promise<void>((resolve) => (wake = resolve))
        }
      }
      for await (const value of connect().chat(ask())) {
        turns.push(fromValue(value))
        wake()
      }
      return turns
    },
    outcome: ['one', 'two', 'bye'],
  },
  'headers and trailers of a unary call': {
    run: async ({ connect }) => {
      const seen: unknown[] = []
      await connect().echo(toValue(1), {
        headers: { 'x-ask': 'me' },
        onHeader: (header) => seen.push(header.get('x-first')),
        onTrailer: (trailer) => seen.push(trailer.get('x-last'), trailer.get('x-octets-bin')),
      })
      return seen
    },
    outcome: ['first me', 'last', 'AAEC'],
  },
  'headers before the first message, and trailers behind the last': {
    run: async ({ connect }) => {
      const seen: unknown[] = []
      const values = connect().expand(toValue({ count: 2, text: 'x' }), {
        headers: { 'x-ask': 'me' },
        onHeader: (header) => seen.push(header.get('x-first')),
        onTrailer: (trailer) => seen.push(trailer.get('x-last')),
      })
      for await (const value of values) seen.push(fromValue(value))
      return seen
    },
    outcome: ['first me', 'x', 'x', 'last'],
  },
  'an error with details': {
    run: async ({ connect }) => {
      const { code, rawMessage, details, metadata } = await failureOf(connect().fail(toValue(FAILURE)))
      return [code, rawMessage, details.map((detail) => Reflect.get(detail, 'type')), metadata.get('x-why')]
    },
    outcome: [FAILURE.code, FAILURE.message, ['google.protobuf.Value'], 'because'],
  },
  'an error behind messages': {
    run: async ({ connect }) => {
      const seen: unknown[] = []
      const values = connect().expand(toValue({ count: 2, text: 'x', after: 'fail' }))
      const read = async () => {
        for await (const value of values) seen.push(fromValue(value))
      }
      const { code, rawMessage, details } = await failureOf(read())
      return [...seen, code, rawMessage, details.length]
    },
    outcome: ['x', 'x', Code.DataLoss, 'lost', 1],
  },
  'a method that the server lacks': {
    run: async ({ connect }) => {
      const interceptor: Interceptor = (next) => (request) =>
        next({ ...request, url: `${request.url}No` } as typeof request)
      return (await failureOf(connect({ interceptors: [interceptor] }).echo(toValue(1)))).code
    },
    outcome: Code.Unimplemented,
  },
  'gzip both ways': {
    run: async ({ connect }) => {
      const client = connect(compressed)
      return [
        fromValue(await client.echo(toValue(LONG))) === LONG,
        fromValue(await client.collect(toValues(LONG, 'short', LONG))),
        await readAll(client.expand(toValue({ count: 2, text: LONG }))),
      ]
    },
    outcome: [true, [LONG, 'short', LONG], [LONG, LONG]],
  },
  'gzip of connect-node': {
    run: async ({ connect }) => {
      const client = connect({
        acceptCompression: [theirGzip],
        sendCompression: theirGzip,
        compressMinBytes: 1,
      })
      return fromValue(await client.echo(toValue(LONG))) === LONG
    },
    outcome: true,
  },
  'Brotli both ways, of each message': {
    run: async ({ connect }) => {
      const options = {
        acceptCompression: [compressionBrotli],
        sendCompression: compressionBrotli,
        compressMinBytes: 1,
      }
      const client = connect(options)
      return [
        fromValue(await client.echo(toValue('x'))),
        await readAll(client.expand(toValue({ count: 2, text: LONG }))),
      ]
    },
    outcome: ['x', [LONG, LONG]],
  },
  'a received message that is too large': {
    run: async ({ connect }) => {
      const client = connect({ readMaxBytes: 500, acceptCompression: [] })
      const failures = [client.echo(toValue(LONG)), readAll(client.expand(toValue({ count: 1, text: LONG })))]
      return (await Promise.all(failures.map(failureOf))).map(({ code }) => code)
    },
    outcome: [Code.ResourceExhausted, Code.ResourceExhausted],
  },
  'a received message that is too large once it is decompressed': {
    run: async ({ connect }) => {
      const client = connect({ ...compressed, readMaxBytes: 1_000 })
      const failures = [client.echo(toValue(LONG)), readAll(client.expand(toValue({ count: 1, text: LONG })))]
      return (await Promise.all(failures.map(failureOf))).map(({ code }) => code)
    },
    outcome: [Code.ResourceExhausted, Code.ResourceExhausted],
  },
  'a sent message that is too large': {
    run: async ({ connect }) => {
      const client = connect({ writeMaxBytes: 500 })
      const failures = [client.echo(toValue(LONG)), client.collect(toValues('x', LONG))]
      return (await Promise.all(failures.map(failureOf))).map(({ code }) => code)
    },
    outcome: [Code.ResourceExhausted, Code.ResourceExhausted],
  },
  'a deadline': {
    run: async ({ connect, server }) => {
      const client = connect()
      // On a busy machine a call needs longer to reach the server.
      for (let timeoutMs = 150; ; timeoutMs *= 2) {
        const id = randomUUID()
        const { code } = await failureOf(client.never(toValue(1), { timeoutMs, headers: { 'x-id': id } }))
        if (!server.seen.has(id)) continue
        await expect.poll(() => server.seen.get(id)).toBe('cancelled')
        return code
      }
    },
    outcome: Code.DeadlineExceeded,
  },
  'the deadline of a transport, in the middle of a stream': {
    run: async ({ connect }) => {
      const values = connect({ defaultTimeoutMs: 300 }).expand(
        toValue({ count: 1, text: 'x', after: 'wait' }),
      )
      return (await failureOf(readAll(values))).code
    },
    outcome: Code.DeadlineExceeded,
  },
  'a timeout of 0, which is none': {
    run: async ({ connect }) =>
      fromValue(await connect({ defaultTimeoutMs: 1 }).echo(toValue('x'), { timeoutMs: 0 })),
    outcome: 'x',
  },
  'a signal that fires while the call runs': {
    run: async ({ connect, server }) => {
      const id = randomUUID()
      const controller = new AbortController()
      const failed = failureOf(
        connect().never(toValue(1), { signal: controller.signal, headers: { 'x-id': id } }),
      )
      await expect.poll(() => server.seen.get(id)).toBe('begun')
      controller.abort()
      const { code } = await failed
      await expect.poll(() => server.seen.get(id)).toBe('cancelled')
      return code
    },
    outcome: Code.Canceled,
  },
  'a signal that has fired before': {
    run: async ({ connect }) => {
      const client = connect()
      const signal = AbortSignal.abort()
      const failures = [client.echo(toValue(1), { signal }), readAll(client.expand(toValue({}), { signal }))]
      return (await Promise.all(failures.map(failureOf))).map(({ code }) => code)
    },
    outcome: [Code.Canceled, Code.Canceled],
  },
  'a signal that fires between messages': {
    run: async ({ connect, server }) => {
      const id = randomUUID()
      const controller = new AbortController()
      const { signal } = controller
      const values = connect().expand(toValue({ count: 1, text: 'x', after: 'wait' }), {
        signal,
        headers: { 'x-id': id },
      })
      const read = async () => {
        for await (const _ of values) controller.abort()
      }
      const { code } = await failureOf(read())
      await expect.poll(() => server.seen.get(id)).toBe('cancelled')
      return code
    },
    outcome: Code.Canceled,
  },
  'messages to be sent that throw': {
    run: async ({ connect }) => {
      async function* values() {
        yield toValue(1)
        throw new TypeError('no more')
      }
      const { code, cause, rawMessage } = await failureOf(connect().collect(values()))
      return [code, cause instanceof TypeError, rawMessage]
    },
    outcome: [Code.Internal, true, 'no more'],
  },
  'an interceptor that changes fields and URL': {
    run: async ({ connect }) => fromValue(await connect({ interceptors: [redirecting] }).echo(toValue(1))),
    outcome: { method: 'POST', ask: 'intercepted' },
  },
  'an interceptor that changes messages': {
    isFullDuplex: true,
    run: ({ connect }) => readAll(connect({ interceptors: [doubling] }).chat(toValues('a', 'b'))),
    outcome: ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b'],
  },
  'an interceptor that tries again': {
    run: async ({ connect }) => fromValue(await connect({ interceptors: [retrying] }).fail(toValue(FAILURE))),
    outcome: FAILURE,
  },
  'GET for a method without side effects': {
    only: ['connect'],
    run: async ({ connect }) => {
      const headers = { 'x-ask': 'me' }
      return [
        fromValue(await connect({ useHttpGet: true }).get(toValue('a & b'), { headers })),
        fromValue(await connect({ useHttpGet: true, useBinaryFormat: false }).get(toValue('ü'), { headers })),
        fromValue(await connect({ ...compressed, useHttpGet: true }).get(toValue(LONG), { headers })),
        fromValue(await connect({ useHttpGet: true }).put(toValue('put'))),
      ]
    },
    outcome: [...Array(3).fill({ method: 'GET', ask: 'me' }), 'put'],
  },
  'a hundred calls at a time': {
    run: async ({ connect }) => {
      const client = connect()
      const all = Array.from({ length: 100 }, async (_, index) =>
        fromValue(await client.echo(toValue(index))),
      )
      return await Promise.all(all)
    },
    outcome: Array.from({ length: 100 }, (_, index) => index),
  },
}

describe.each(WIRES)('calls of connect-es › %s', (wire: Wire) => {
  let server: ConnectServer
  beforeAll(async () => {
    server = await ConnectServer.start(wire)
  })
  afterAll(() => server.stop())

  // gRPC needs HTTP/2.
  const protocols = PROTOCOLS.filter((protocol) => wire !== 'HTTP/1.1' || protocol !== 'grpc')
  describe.each(protocols)('%s', (protocol) => {
    describe.each(CARRIERS)('over %s', (carrier: Carrier) => {
      const cases = Object.entries(CASES).filter(
        ([, { isFullDuplex, only }]) =>
          (only?.includes(protocol) ?? true) && !(isFullDuplex && wire === 'HTTP/1.1'),
      )
      it.each(cases)('%s', async (_, { run, outcome }) => {
        const scene = {
          server,
          connect: (options?: Options) => open(carrier, wire, protocol, server, options),
        }
        expect(await run(scene)).toEqual(outcome)
      })
    })
  })
})
