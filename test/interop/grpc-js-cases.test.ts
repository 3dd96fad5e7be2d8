/**
 * The cases of gRPC's interop client that need no Google: each on grpc-js' own transport and on both engines, over h2c
 * and TLS, against grpc-go and grpc-js' Server.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md
 */

import { readFile } from 'node:fs/promises'
import * as grpc from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Cleaner } from './fetch-servers.ts'
import { collect, TestClient, TRANSPORTS } from './grpc-js-rig.ts'
import type { GrpcServer, GrpcServerName } from './grpc-servers.ts'
import { GRPC_SERVERS, GRPC_START_LIMIT, startGrpcServer } from './grpc-servers.ts'

const { status } = grpc
/** Names of the interop cases' sizes. */
const LARGE = 314_159
type Encodings = Readonly<Record<GrpcServerName, readonly ('gzip' | 'deflate')[]>>
/** What each server can inflate. */
const ENCODINGS: Encodings = { 'grpc-go': ['gzip'], 'grpc-js': ['gzip', 'deflate'] }
/** What it has no compressor for: the call ends by its status. */
const REFUSED_ENCODINGS: Encodings = { 'grpc-go': ['deflate'], 'grpc-js': [] }
const SIZES = [27_182, 8, 1_828, 45_904]

describe.each(GRPC_SERVERS)('server %s', (serverName) => {
  describe.each([false, true])('TLS: %s', (tls) => {
    const cleaner = new Cleaner()
    let server: GrpcServer
    let root = Buffer.alloc(0)
    beforeAll(async () => {
      server = await startGrpcServer(serverName, cleaner, { tls })
      if (tls) root = server.ca.includes('BEGIN') ? Buffer.from(server.ca) : await readFile(server.ca)
    }, GRPC_START_LIMIT)
    afterAll(() => cleaner.clean())

    describe.each(TRANSPORTS)('$name', (transport) => {
      let client: TestClient
      const toClient = (options: grpc.ChannelOptions = {}): TestClient => {
        const credentials = tls ? grpc.credentials.createSsl(root) : grpc.credentials.createInsecure()
        return new TestClient(transport, new URL(server.origin).host, credentials, options)
      }
      beforeAll(() => {
        client = toClient()
      })
      afterAll(() => TestClient.closeAll())

      it('empty_unary', async () => {
        const { message, status: end } = await client.unary('Echo', '')
        expect(message).toEqual(Buffer.alloc(0))
        expect(end.code).toBe(status.OK)
      })

      it('large_unary', async () => {
        const sent = Buffer.alloc(LARGE, 'large')
        const { message } = await client.unary('Echo', sent)
        expect(message?.equals(sent)).toBe(true)
      })

      it('client_streaming', async () => {
        const answer = await new Promise((resolve, reject) => {
          const call = client.clientStream('Collect', (error, value) =>
            error ? reject(error) : resolve(value),
          )
          for (const size of SIZES) call.write(Buffer.alloc(size))
          call.end()
        })
        expect(JSON.parse(String(answer))).toEqual({ Count: 4, Size: 74_922 })
      })

      it('server_streaming', async () => {
        const { messages, status: end } = await collect(
          client.serverStream('Expand', JSON.stringify({ Count: 4, Size: 31_415 })),
        )
        expect(messages.map(({ length }) => length)).toEqual([31_415, 31_415, 31_415, 31_415])
        expect(end.code).toBe(status.OK)
      })

      it('ping_pong', async () => {
        const call = client.duplex('Chat')
        const seen: number[] = []
        const ended = collect(call)
        call.on('data', (message: Buffer) => {
          seen.push(message.length)
          const next = SIZES[seen.length]
          if (next === undefined) call.end()
          else call.write(Buffer.alloc(next))
        })
        call.write(Buffer.alloc(SIZES[0] ?? 0))
        expect((await ended).status.code).toBe(status.OK)
        expect(seen).toEqual(SIZES)
      })

      it('empty_stream', async () => {
        const call = client.duplex('Chat')
        const ended = collect(call)
        call.end()
        const { messages, status: end } = await ended
        expect(messages).toEqual([])
        expect(end.code).toBe(status.OK)
      })

      it.each(ENCODINGS[serverName])('client_compressed_unary, %s', async (encoding) => {
        const compressing = toClient({
          'grpc.default_compression_algorithm': grpc.compressionAlgorithms[encoding],
        })
        const sent = Buffer.alloc(LARGE, 'large')
        const { message, status: end } = await compressing.unary('Echo', sent)
        expect(end.code).toBe(status.OK)
        expect(message?.equals(sent)).toBe(true)
      })

      it.each(ENCODINGS[serverName])('client_compressed_streaming, %s', async (encoding) => {
        const compressing = toClient({
          'grpc.default_compression_algorithm': grpc.compressionAlgorithms[encoding],
        })
        const answer = await new Promise((resolve, reject) => {
          const call = compressing.clientStream('Collect', (error, value) =>
            error ? reject(error) : resolve(value),
          )
          call.write(Buffer.alloc(27_182))
          call.write(Object.assign(Buffer.alloc(45_904), { flags: 2 }))
          call.write(Buffer.alloc(8))
          call.end()
        })
        expect(JSON.parse(String(answer))).toEqual({ Count: 3, Size: 73_094 })
      })

      it.each(ENCODINGS[serverName])('server_compressed_streaming, %s', async (encoding) => {
        const compressing = toClient({
          'grpc.default_compression_algorithm': grpc.compressionAlgorithms[encoding],
        })
        const request = JSON.stringify({ Count: 3, Size: 31_415 })
        const { messages, status: end } = await collect(compressing.serverStream('Expand', request))
        expect(messages.map(({ length }) => length)).toEqual([31_415, 31_415, 31_415])
        expect(end.code).toBe(status.OK)
      })

      it.each(REFUSED_ENCODINGS[serverName])('client_compressed_unary, %s is refused', async (encoding) => {
        const compressing = toClient({
          'grpc.default_compression_algorithm': grpc.compressionAlgorithms[encoding],
        })
        const { status: end } = await compressing.unary('Echo', Buffer.alloc(LARGE))
        expect(end.code).toBe(status.UNIMPLEMENTED)
      })

      it('timeout_on_sleeping_server', async () => {
        const call = client.duplex('Chat', undefined, { deadline: Date.now() + 30 })
        call.write(Buffer.alloc(27_182))
        expect((await collect(call)).status.code).toBe(status.DEADLINE_EXCEEDED)
      })

      it('cancel_after_begin', async () => {
        const cancelled = await new Promise<grpc.ServiceError | null>((resolve) => {
          client.clientStream('Collect', resolve).cancel()
        })
        expect(cancelled).toMatchObject({ code: status.CANCELLED, details: 'Cancelled on client' })
      })

      it('cancel_after_first_response', async () => {
        const call = client.duplex('Chat')
        const ended = collect(call)
        call.once('data', () => call.cancel())
        call.write(Buffer.alloc(27_182))
        expect((await ended).status.code).toBe(status.CANCELLED)
      })

      it.each([
        ['status_code_and_message', 'test status message'],
        ['special_status_message', '\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n'],
      ])('%s', async (_name, Message) => {
        const request = JSON.stringify({ Code: 2, Message })
        expect((await client.unary('Fail', request)).error).toMatchObject({ code: 2, details: Message })
        const streamed = JSON.stringify({ Count: 0, Size: 2, Failure: { Code: 2, Message } })
        const { status: end } = await collect(client.serverStream('Expand', streamed))
        expect(end).toMatchObject({ code: 2, details: Message })
      })

      it.each([
        '/dodici.Test/NoSuchMethod',
        '/dodici.NoSuchService/Echo',
      ])('unimplemented: %s', async (path) => {
        expect((await client.unary(path, '')).error?.code).toBe(status.UNIMPLEMENTED)
      })

      it('custom_metadata', async () => {
        const metadata = new grpc.Metadata()
        metadata.set('x-initial', 'test_initial_metadata_value')
        metadata.set('x-trailing-bin', Buffer.from([0xab, 0xab, 0xab]))
        metadata.add('x-trailing-two', 'a')
        metadata.add('x-trailing-two', 'b')
        const { header, status: end } = await client.unary('Echo', 'x', metadata)
        expect(header?.get('x-initial')).toEqual(['test_initial_metadata_value'])
        expect(end.metadata.get('x-trailing-bin')).toEqual([Buffer.from([0xab, 0xab, 0xab])])
        expect(end.metadata.get('x-trailing-two').join(', ')).toBe('a, b')
        expect(end.metadata.get('grpc-status')).toEqual([])
      })

      it('tells its peer, and what TLS has shown of it', async () => {
        const { call } = await client.unary('Echo', 'x')
        expect(call.getPeer()).toMatch(
          new RegExp(`^(127\\.0\\.0\\.1|\\[::1\\]):${new URL(server.origin).port}$`),
        )
        const context = call.getAuthContext()
        expect(context?.transportSecurityType).toBe(tls ? 'ssl' : undefined)
        expect(context?.sslPeerCertificate !== undefined).toBe(tls)
      })

      it('tells the server its deadline', async () => {
        const { message } = await client.unary('Deadline', '', undefined, { deadline: Date.now() + 30_000 })
        expect(Number(message)).toBeGreaterThan(20_000)
        expect(Number(message)).toBeLessThanOrEqual(30_001)
      })
    })
  })
})
