import type { ServerHttp2Stream } from 'node:http2'
import { describe, expect, it } from 'vitest'
import type { CallOptions, GrpcError, Input } from '../../examples/grpc/protocol.mjs'
import { Status } from '../../examples/grpc/protocol.mjs'
import { callForOne } from '../../examples/grpc/request-client.mjs'
import { Agent } from '../../src/index.ts'
import { destroyWithTest, startClient } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import {
  CANCEL,
  ENHANCE_YOUR_CALM,
  INADEQUATE_SECURITY,
  INTERNAL_ERROR,
  REFUSED_STREAM,
} from '../support/peers/error-codes.ts'
import type { StreamListener } from '../support/servers/server.ts'
import { startServer } from '../support/servers/server.ts'
import { CALLS, toMessages } from './grpc-rig.ts'

const HEADER = { ':status': 200, 'content-type': 'application/grpc+proto' }
const REQUEST = Buffer.from('hello')
const MESSAGE = Buffer.from([0, 0, 0, 0, 2, 0x68, 0x69])

/** Responds with this body, and then with these trailers. */
function respond(stream: ServerHttp2Stream, body: Buffer[], trailers: Record<string, string>): void {
  stream.respond(HEADER, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers(trailers))
  for (const piece of body) stream.write(piece)
  stream.end()
}

/** A response without anything but a header. */
function toHeader(header: Record<string, string | number>) {
  return (stream: ServerHttp2Stream): void => stream.respond({ ...HEADER, ...header }, { endStream: true })
}

function toReset(code: number) {
  return (stream: ServerHttp2Stream): void => stream.close(code)
}

const HTML = { 'content-type': 'text/html' }

const FAILURES: readonly [what: string, listener: (stream: ServerHttp2Stream) => void, code: number][] = [
  ['a proxy says 401', toHeader({ ...HTML, ':status': 401 }), Status.UNAUTHENTICATED],
  ['a proxy says 404', toHeader({ ...HTML, ':status': 404 }), Status.UNIMPLEMENTED],
  ['a proxy says 503', toHeader({ ...HTML, ':status': 503 }), Status.UNAVAILABLE],
  ['a proxy says 418', toHeader({ ...HTML, ':status': 418 }), Status.UNKNOWN],
  ['the response is of another type', toHeader({ ...HTML, 'grpc-status': '0' }), Status.UNKNOWN],
  ['there is no status', (stream) => respond(stream, [MESSAGE], {}), Status.UNKNOWN],
  ['the header is all, and has a status', toHeader({ 'grpc-status': '9' }), 9],
  ['a status has an unknown number', toHeader({ 'grpc-status': '99' }), 99],
  [
    'a message is compressed',
    (stream) => respond(stream, [Buffer.from([1, 0, 0, 0, 0])], { 'grpc-status': '0' }),
    Status.INTERNAL,
  ],
  [
    'the body ends within a message',
    (stream) => respond(stream, [MESSAGE.subarray(0, 6)], { 'grpc-status': '0' }),
    Status.INTERNAL,
  ],
  [
    'the body ends within a prefix',
    (stream) => respond(stream, [MESSAGE.subarray(0, 3)], { 'grpc-status': '0' }),
    Status.INTERNAL,
  ],
  ['the stream is reset: INTERNAL_ERROR', toReset(INTERNAL_ERROR), Status.INTERNAL],
  ['the stream is reset: REFUSED_STREAM', toReset(REFUSED_STREAM), Status.UNAVAILABLE],
  ['the stream is reset: CANCEL', toReset(CANCEL), Status.CANCELLED],
  ['the stream is reset: ENHANCE_YOUR_CALM', toReset(ENHANCE_YOUR_CALM), Status.RESOURCE_EXHAUSTED],
  ['the stream is reset: INADEQUATE_SECURITY', toReset(INADEQUATE_SECURITY), Status.PERMISSION_DENIED],
]

describe.each(ENGINES)('a gRPC call on engine %s', (engine) => {
  describe.each(Object.entries(CALLS))('by %s', (_, call) => {
    async function ask(listener: StreamListener, options: CallOptions = {}, input: Input = REQUEST) {
      const { client } = await startClient(listener, { engine })
      const messages: string[] = []
      let error: GrpcError | null = null
      try {
        for await (const message of call(client, 'a.B/C', input, options)) messages.push(`${message}`)
      } catch (thrown) {
        error = thrown as GrpcError
      }
      expect(client.stats.running).toBe(0)
      return { messages, error }
    }

    it.each(FAILURES)('fails when %s', async (_, listener, code) => {
      const { error } = await ask(listener)
      expect(error).toMatchObject({ name: 'GrpcError', code })
    })

    it.each([
      ['bytes', 2],
      ['an iterable', 1],
    ] as const)('that was refused is retried, if its body can be sent again: %s', async (kind, attempts) => {
      let count = 0
      const { error } = await ask(
        (stream) => {
          if (++count === 1) toReset(REFUSED_STREAM)(stream)
          else toHeader({ 'grpc-status': '0' })(stream)
        },
        {},
        kind === 'bytes' ? REQUEST : toMessages('hello'),
      )
      expect(count).toBe(attempts)
      if (kind === 'bytes') expect(error).toBe(null)
      else expect(error).toMatchObject({ code: Status.UNAVAILABLE, cause: { processed: 'no' } })
    })

    it('reports DEADLINE_EXCEEDED when a server ends it with CANCEL after its deadline', async () => {
      // The server is as quick as it can be: its reset may come before the client's clock.
      const { error } = await ask(toReset(CANCEL), { timeout: 0 })
      expect(error?.code).toBe(Status.DEADLINE_EXCEEDED)
    })

    it('decodes the well-formed part of a malformed message', async () => {
      const header = { 'grpc-status': '2', 'grpc-message': 'a%zz%20%C3%bc%' }
      expect((await ask(toHeader(header))).error?.message).toBe('a%zz ü%')
    })

    it('splits joined fields of bytes', async () => {
      const { error } = await ask(toHeader({ 'grpc-status': '2', 'x-bin': 'AQ==,Ag' }))
      const values = error?.metadata.filter(([name]) => name === 'x-bin').map(([, value]) => value)
      expect(values).toEqual([Buffer.from([1]), Buffer.from([2])])
    })

    it('finds messages however their bytes are cut', async () => {
      const twice = Buffer.concat([MESSAGE, Buffer.alloc(5), MESSAGE])
      const cut = Array.from(twice, (_, index) => twice.subarray(index, index + 1))
      for (const body of [[twice], cut, [twice.subarray(0, 9), twice.subarray(9)]]) {
        const { messages, error } = await ask((stream) => respond(stream, body, { 'grpc-status': '0' }))
        expect([messages, error]).toEqual([['hi', '', 'hi'], null])
      }
    })

    it('sends the request fields of gRPC', async () => {
      let asked: unknown[] = []
      await ask(
        (stream, headers) => {
          const names = [':method', ':path', 'te', 'content-type', 'grpc-timeout', 'x-bin']
          asked = names.map((name) => headers[name])
          toHeader({ 'grpc-status': '0' })(stream)
        },
        { timeout: 5_000.2, metadata: [['x-bin', Buffer.from([0, 255])]] },
      )
      expect(asked).toEqual(['POST', '/a.B/C', 'trailers', 'application/grpc', '5001m', 'AP8='])
    })
  })
})

describe.each(ENGINES)('callForOne() on engine %s', (engine) => {
  const OK = { 'grpc-status': '0' }
  async function ask(body: Buffer[], trailers: Record<string, string> = OK) {
    const { origin } = await startServer((stream) => respond(stream, body, trailers))
    const agent = destroyWithTest(new Agent({ engine, h2c: true }))
    return await callForOne(agent, 'a.B/C', REQUEST, { origin })
  }

  it('returns the only message', async () => {
    expect(`${await ask([MESSAGE])}`).toBe('hi')
  })

  it.each([0, 2])('fails when there are %i messages', async (count) => {
    const failed = ask(Array.from({ length: count }, () => MESSAGE))
    await expect(failed).rejects.toMatchObject({ name: 'GrpcError', code: Status.UNIMPLEMENTED })
  })

  it('fails with the status, whether or not there is a message', async () => {
    for (const body of [[], [MESSAGE]]) {
      await expect(ask(body, { 'grpc-status': '7' })).rejects.toMatchObject({ code: 7 })
    }
  })
})
