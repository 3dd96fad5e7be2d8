import type { ServerHttp2Stream } from 'node:http2'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { toBinary } from '@bufbuild/protobuf'
import { ValueSchema } from '@bufbuild/protobuf/wkt'
import type { Interceptor } from '@connectrpc/connect'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { openClient } from '../../examples/grpc/connect-transport.mjs'
import type { TransportOptions } from '../../src/connect/entry.ts'
import { createTransport } from '../../src/connect/entry.ts'
import { toFrame } from '../../src/connect/envelopes.ts'
import { Agent, Client, errors, getGlobalDispatcher, setGlobalDispatcher } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { CANCEL, ENHANCE_YOUR_CALM, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import type { StreamListener } from '../support/servers/server.ts'
import { startServer } from '../support/servers/server.ts'
import { ConnectServer, failureOf, fromValue, readAll, Test, toValue } from './connect-rig.ts'

const GRPC = { ':status': 200, 'content-type': 'application/grpc+proto' } as const

const one = toFrame(0, toBinary(ValueSchema, toValue('one')))

/** Responds with messages. @param end - what follows them; the status OK by default */
function answer(
  stream: ServerHttp2Stream,
  body: Uint8Array,
  end = () => stream.sendTrailers({ 'grpc-status': '0' }),
): void {
  stream.respond(GRPC, { waitForTrailers: true })
  stream.on('wantTrailers', end)
  stream.end(body)
}

describe.each(ENGINES)('the ends of calls over dodici/connect › engine %s', (engine) => {
  async function connect(onStream: StreamListener, options: Partial<TransportOptions> = {}) {
    const { origin } = await startServer(onStream)
    const dispatcher = destroyWithTest(new Client(origin, { engine }))
    const transport = createTransport({ baseUrl: origin, protocol: 'grpc', dispatcher, ...options })
    return { dispatcher, transport, client: createClient(Test, transport) }
  }

  /** Sends one message, and says how the stream ended. */
  function toWatched() {
    const codes: number[] = []
    const onStream = (stream: ServerHttp2Stream): void => {
      stream.on('error', () => {})
      stream.on('close', () => codes.push(stream.rstCode))
      stream.respond(GRPC)
      stream.write(one)
    }
    return { codes, onStream }
  }

  describe('when the server resets the stream', () => {
    it.each([
      ['NO_ERROR', 0, Code.Internal],
      ['PROTOCOL_ERROR', 1, Code.Internal],
      ['STREAM_CLOSED', 5, Code.Internal],
      ['REFUSED_STREAM, again and again', 7, Code.Unavailable],
      ['CANCEL', 8, Code.Canceled],
      ['ENHANCE_YOUR_CALM', 11, Code.ResourceExhausted],
      ['INADEQUATE_SECURITY', 12, Code.PermissionDenied],
    ])('with %s, the call fails with a code of its own', async (_, http2Code, code) => {
      const { client } = await connect((stream) => {
        answer(stream, one, () => stream.close(http2Code))
      })
      // What was answered in part isn't sent again.
      const failure = await failureOf(readAll(client.expand(toValue(1))))
      expect([failure.code, failure.cause instanceof Error]).toEqual([code, true])
    })

    it.each([
      'connect',
      'grpc',
      'grpc-web',
    ] as const)('with CANCEL behind the deadline, it is DEADLINE_EXCEEDED: %s', async (protocol) => {
      const { client } = await connect((stream) => stream.close(CANCEL), { protocol })
      // connect-es itself has no deadline then: its own clock can't come first.
      const headers = {
        [protocol === 'connect' ? 'connect-timeout-ms' : 'grpc-timeout']: protocol === 'connect' ? '0' : '0m',
      }
      const calls = [client.echo(toValue(1), { headers }), readAll(client.expand(toValue(1), { headers }))]
      for (const call of calls) expect((await failureOf(call)).code).toBe(Code.DeadlineExceeded)
    })

    it('with CANCEL before the deadline, it is CANCELED', async () => {
      const { client } = await connect((stream) => stream.close(CANCEL))
      expect((await failureOf(client.echo(toValue(1), { timeoutMs: 60_000 }))).code).toBe(Code.Canceled)
    })

    it('the messages that came before are read first', async () => {
      const { client } = await connect((stream) => {
        answer(stream, Buffer.concat([one, one]), () => stream.close(ENHANCE_YOUR_CALM))
      })
      const seen: unknown[] = []
      const read = async () => {
        for await (const value of client.expand(toValue(1))) seen.push(fromValue(value))
      }
      expect((await failureOf(read())).code).toBe(Code.ResourceExhausted)
      expect(seen).toEqual(['one', 'one'])
    })
  })

  it('sends a refused call again, with one message to be sent or none', async () => {
    let streams = 0
    const { client } = await connect((stream) => {
      streams++
      if (streams % 2 === 1) return stream.close(REFUSED_STREAM)
      answer(stream, one)
    })
    expect(fromValue(await client.echo(toValue(1)))).toBe('one')
    expect(await readAll(client.expand(toValue(1)))).toEqual(['one'])
    expect(streams).toBe(4)
  })

  it('sends a method that may be called twice again when its session dies', async () => {
    let streams = 0
    const { client } = await connect((stream) => {
      streams++
      if (streams === 1 || streams === 3) return stream.session?.destroy()
      answer(stream, one)
    })
    expect(fromValue(await client.put(toValue(1)))).toBe('one')
    expect((await failureOf(client.echo(toValue(1)))).code).toBe(Code.Unavailable)
    expect(streams).toBe(3)
  })

  describe('when a body ends too early', () => {
    const body = Buffer.concat([one, toFrame(0x80, Buffer.from('grpc-status: 0\r\n'))])
    it('it fails, wherever that is', async () => {
      let end = 0
      const { client } = await connect(
        (stream) => {
          stream.respond({ ':status': 200, 'content-type': 'application/grpc-web+proto' })
          stream.end(body.subarray(0, end))
        },
        { protocol: 'grpc-web' },
      )
      for (end = 0; end < body.length; end++) {
        const calls = [client.echo(toValue(1)), readAll(client.expand(toValue(1)))]
        for (const call of calls) {
          expect([Code.Internal, Code.Unknown]).toContain((await failureOf(call)).code)
        }
      }
      expect(fromValue(await client.echo(toValue(1)))).toBe('one')
      expect(await readAll(client.expand(toValue(1)))).toEqual(['one'])
    })
  })

  it('ends a unary call at the second message, whatever follows', async () => {
    const { codes, onStream } = toWatched()
    const { client } = await connect((stream) => {
      onStream(stream)
      stream.write(one)
    })
    expect((await failureOf(client.echo(toValue(1)))).code).toBe(Code.Unimplemented)
    await expect.poll(() => codes).toEqual([CANCEL])
  })

  it('ends a call whose message is announced to be too large', async () => {
    const { codes, onStream } = toWatched()
    const { client } = await connect(
      (stream) => {
        onStream(stream)
        stream.write(Uint8Array.of(0, 0xff, 0xff, 0xff, 0xff))
      },
      { readMaxBytes: 1_000 },
    )
    const calls = [client.chat((async function* () {})())]
    for (const call of calls) expect((await failureOf(readAll(call))).code).toBe(Code.ResourceExhausted)
    await expect.poll(() => codes).toEqual([CANCEL])
  })

  it('ends a call whose response is not what was asked for', async () => {
    const codes: number[] = []
    const { client } = await connect((stream) => {
      stream.on('error', () => {})
      stream.on('close', () => codes.push(stream.rstCode))
      stream.respond({ ':status': 503, 'content-type': 'text/html' })
      stream.write('<p>')
    })
    expect((await failureOf(client.echo(toValue(1)))).code).toBe(Code.Unavailable)
    expect((await failureOf(readAll(client.expand(toValue(1))))).code).toBe(Code.Unavailable)
    await expect.poll(() => codes).toEqual([CANCEL, CANCEL])
  })

  describe('when the messages are left before their end', () => {
    const passing: Interceptor = (next) => next
    it.each([[[]], [[passing]]])('the call is cancelled at once: %o', async (interceptors) => {
      const { codes, onStream } = toWatched()
      const { transport } = await connect(onStream, { interceptors })
      const sent = { returned: 0 }
      const outgoing = {
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise<never>(() => {}),
          return: async () => {
            sent.returned++
            return { done: true as const, value: undefined }
          },
        }),
      }
      const response = await transport.stream(Test.method.chat, undefined, 60_000, undefined, outgoing)
      for await (const value of response.message) {
        expect(fromValue(value)).toBe('one')
        break
      }
      await expect.poll(() => codes).toEqual([CANCEL])
      await expect.poll(() => sent.returned).toBeGreaterThan(0)
      expect(await response.message[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined })
    })

    it('of createClient(), the call is cancelled when they are collected', async () => {
      setFlagsFromString('--expose-gc')
      const collect: () => void = runInNewContext('gc')
      const { codes, onStream } = toWatched()
      const { client } = await connect(onStream)
      const leave = async () => {
        for await (const _ of client.expand(toValue(1))) break
      }
      await leave()
      await expect
        .poll(() => {
          collect()
          return codes
        })
        .toEqual([CANCEL])
    })
  })

  it('makes a server wait whose messages are not read', async () => {
    let written = 0
    const { client } = await connect((stream) => {
      stream.on('error', () => {})
      stream.respond(GRPC)
      const piece = Buffer.concat(
        Array.from({ length: 100 }, () => toFrame(0, toBinary(ValueSchema, toValue('x'.repeat(990))))),
      )
      const write = (): void => {
        written += piece.length
        if (stream.write(piece)) setImmediate(write)
        else stream.once('drain', write)
      }
      write()
    })
    const messages = client.expand(toValue(1))[Symbol.asyncIterator]()
    await messages.next()
    let before = -1
    await expect
      .poll(
        () => {
          const stands = written === before
          before = written
          return stands
        },
        { interval: 200 },
      )
      .toBe(true)
    // The window of a stream, and what the server keeps.
    expect(written).toBeLessThan(16_000_000)
    for (let index = 0; index < 20_000; index++) await messages.next()
    expect(written).toBeGreaterThan(before)
  })

  it('answers each next(), in order, whether or not it was awaited', async () => {
    const { transport } = await connect((stream) => {
      answer(
        stream,
        Buffer.concat(['a', 'b', 'c'].map((word) => toFrame(0, toBinary(ValueSchema, toValue(word))))),
      )
    })
    const outgoing = (async function* () {
      yield toValue(1)
    })()
    const { message } = await transport.stream(Test.method.expand, undefined, undefined, undefined, outgoing)
    const messages = message[Symbol.asyncIterator]()
    const results = await Promise.all(Array.from({ length: 5 }, () => messages.next()))
    expect(results.map(({ done, value }) => (done ? 'done' : fromValue(value)))).toEqual([
      'a',
      'b',
      'c',
      'done',
      'done',
    ])
  })
})

describe('createTransport()', () => {
  const base = { baseUrl: 'http://127.0.0.1:1', protocol: 'grpc' } as const

  it.each([
    [{ nodeOptions: {} }, "no option 'nodeOptions'"],
    [{ httpVersion: '2' }, "no option 'httpVersion'"],
    [{ sessionManager: {} }, "no option 'sessionManager'"],
    [{ protocol: 'http' }, "protocol must be 'connect', 'grpc' or 'grpc-web': http"],
    [{ protocol: undefined }, 'protocol must be'],
    [{ baseUrl: '/api' }, 'baseUrl must be a URL: /api'],
    [{ dispatcher: {} }, 'dispatcher must have dispatch()'],
    [{ useHttpGet: true }, "protocol 'grpc' has no GET"],
  ])('refuses %o', (options, text) => {
    const given = { ...base, ...options } as unknown as TransportOptions
    expect(() => createTransport(given)).toThrow(errors.InvalidArgumentError)
    expect(() => createTransport(given)).toThrow(text)
  })

  it.each([
    { readMaxBytes: 0 },
    { writeMaxBytes: -1 },
    { readMaxBytes: 2 ** 33 },
  ])('refuses %o as connect-node does', (limit) => {
    expect(() => createTransport({ ...base, ...limit })).toThrow(ConnectError)
  })

  it('accepts an option that is undefined', () => {
    expect(() => createTransport({ ...base, dispatcher: undefined, useHttpGet: undefined })).not.toThrow()
  })
})

describe('a client of dodici/connect', () => {
  const servers: ConnectServer[] = []
  afterAll(() => Promise.all(servers.map((server) => server.stop())))
  const start = async () => {
    const server = await ConnectServer.start('h2c')
    servers.push(server)
    return server
  }

  it('uses the global dispatcher, as it is when a call starts', async () => {
    const { origin } = await start()
    const before = getGlobalDispatcher()
    const client = createClient(Test, createTransport({ baseUrl: origin, protocol: 'grpc' }))
    const dispatcher = new Agent({ h2c: true })
    onTestFinished(async () => {
      setGlobalDispatcher(before)
      await dispatcher.destroy()
    })
    setGlobalDispatcher(dispatcher)
    expect(fromValue(await client.echo(toValue('global')))).toBe('global')
  })

  it('is what the example opens', async () => {
    const { origin } = await start()
    const { client, close } = openClient(Test, origin)
    expect(fromValue(await client.echo(toValue('example')))).toBe('example')
    await close()
  })

  it('keeps the path of its base URL', async () => {
    const paths: (string | undefined)[] = []
    const { origin } = await startServer((stream, headers) => {
      paths.push(headers[':path'])
      stream.respond({ ...GRPC, 'grpc-status': '5' }, { endStream: true })
    })
    const dispatcher = destroyWithTest(new Client(origin))
    const client = createClient(
      Test,
      createTransport({ baseUrl: `${origin}/api/`, protocol: 'grpc', dispatcher }),
    )
    expect((await failureOf(client.echo(toValue(1)))).code).toBe(Code.NotFound)
    expect(paths).toEqual(['/api/dodici.Test/Echo'])
  })
})
