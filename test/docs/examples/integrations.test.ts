/** The recipes of docs/integrations.md that are programs: each beside a server that stands for the real one. */

import { generateKeyPairSync, verify } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPusher } from '../../../examples/integrations/apns.mjs'
import { DodiciHandler } from '../../../examples/integrations/aws.mjs'
import { startClient, toAgent } from '../../support/clients/agents.ts'
import { ENGINES } from '../../support/clients/engines.ts'
import { lacksPackages, loadPackage } from '../../support/clients/packages.ts'
import { read, startServer } from '../../support/servers/server.ts'

/** What is used of `@aws-sdk/client-kinesis`, which isn't there when types are checked. */
interface Kinesis {
  KinesisClient: new (
    options: object,
  ) => {
    send(command: object, options?: { abortSignal: AbortSignal }): Promise<Record<string, unknown>>
    destroy(): void
  }
  PutRecordCommand: new (input: object) => object
}

describe.skipIf(lacksPackages('aws'))('a client of the AWS SDK over Dodici', () => {
  let kinesis: Kinesis
  beforeAll(() => {
    kinesis = loadPackage('aws', '@aws-sdk/client-kinesis')
  })

  describe.each(ENGINES)('engine %s', (engine) => {
    /** A client of a server that puts records, or does what `first` says with the first request. */
    async function start(first?: 'dies' | 'waits') {
      const seen: { path: unknown; authority: unknown; authorization: string; body: string }[] = []
      const { origin, sessions } = await startServer(async (stream, headers) => {
        stream.on('error', () => {})
        const isFirst = seen.length === 0
        const body = await read(stream)
        const { ':path': path, ':authority': authority, authorization } = headers
        seen.push({ path, authority, authorization: String(authorization), body })
        if (isFirst && first === 'waits') return
        if (isFirst && first === 'dies') return stream.session?.destroy()
        stream.respond({ ':status': 200, 'content-type': 'application/x-amz-json-1.1' })
        stream.end(JSON.stringify({ SequenceNumber: `${seen.length}`, ShardId: 'shard' }))
      })
      const client = new kinesis.KinesisClient({
        region: 'eu-central-1',
        endpoint: origin,
        credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
        requestHandler: new DodiciHandler(toAgent({ engine })),
      })
      const put = (text: string, ...more: { abortSignal: AbortSignal }[]) =>
        client.send(
          new kinesis.PutRecordCommand({ StreamName: 'stream', PartitionKey: text, Data: Buffer.from(text) }),
          ...more,
        )
      return { origin, sessions, seen, put }
    }

    it('puts twenty records at a time on one connection, signed for its authority', async () => {
      const { origin, sessions, seen, put } = await start()
      const results = await Promise.all(Array.from({ length: 20 }, (_, index) => put(`record ${index}`)))
      expect(results.map(({ ShardId }) => ShardId)).toEqual(Array(20).fill('shard'))
      expect(sessions).toHaveLength(1)
      expect(new Set(seen.map(({ authority }) => authority))).toEqual(new Set([new URL(origin).host]))
      expect(seen[0]?.authorization).toContain('SignedHeaders=:authority;')
      expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ StreamName: 'stream' })
    })

    it('lets the SDK retry when the connection dies', async () => {
      const { seen, put } = await start('dies')
      expect(await put('record')).toMatchObject({ ShardId: 'shard', $metadata: { attempts: 2 } })
      expect(seen).toHaveLength(2)
    })

    it('ends by the signal of a command', async () => {
      const { seen, put } = await start('waits')
      const controller = new AbortController()
      const failed = put('record', { abortSignal: controller.signal })
      failed.catch(() => {})
      await expect.poll(() => seen.length).toBe(1)
      controller.abort()
      await expect(failed).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }))
    })
  })
})

describe('the request handler for the AWS SDK', () => {
  it.each(ENGINES)('sends what the SDK describes, and waits with the body for 100: %s', async (engine) => {
    const seen: unknown[] = []
    const { origin, server } = await startServer(() => {})
    server.removeAllListeners('stream')
    server.on('request', (request, response) => {
      const { ':path': path, ':authority': authority } = request.headers
      seen.push(path, authority)
      request.resume().on('end', () => response.end('put'))
    })
    server.on('checkContinue', (request, response) => {
      seen.push(request.headers.expect)
      response.writeContinue()
      server.emit('request', request, response)
    })
    const { hostname, port, host } = new URL(origin)
    const handler = new DodiciHandler(toAgent({ engine }))
    const { response } = await handler.handle({
      protocol: 'http:',
      hostname,
      port: Number(port),
      path: '/bucket/key',
      method: 'PUT',
      query: { a: ["it's", 'b&c'], flag: null },
      headers: { ':authority': host, expect: '100-continue' },
      body: 'content',
    })
    expect([response.statusCode, await response.body.text()]).toEqual([200, 'put'])
    expect(seen).toEqual(['100-continue', '/bucket/key?a=it%27s&a=b%26c&flag', host])
  })

  it('takes options by name, and leaves the symbols of the SDK alone', () => {
    const handler = new DodiciHandler(toAgent({}))
    handler.updateHttpClientConfig('headersTimeout', 1_000)
    handler.updateHttpClientConfig(Symbol('mark'), true)
    expect(handler.httpHandlerConfigs()).toEqual({ headersTimeout: 1_000 })
  })
})

describe.each(ENGINES)('push notifications by APNs › engine %s', (engine) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const account = { key, keyId: 'KEY', teamId: 'TEAM', topic: 'com.example.app' }

  async function start() {
    const seen: { path: unknown; topic: unknown; token: string; body: unknown }[] = []
    const { server, client } = await startClient(
      async (stream, headers) => {
        const body = JSON.parse(await read(stream))
        const { ':path': path, 'apns-topic': topic, authorization } = headers
        seen.push({ path, topic, token: String(authorization).replace('bearer ', ''), body })
        const isGone = String(path).endsWith('gone')
        stream.respond({ ':status': isGone ? 410 : 200, 'apns-id': 'id' })
        stream.end(isGone ? JSON.stringify({ reason: 'Unregistered' }) : '')
      },
      { engine },
      { tls: true },
    )
    return { push: createPusher(client, account), seen, sessions: server.sessions }
  }

  it('sends them on one connection, with one token that is signed', async () => {
    const { push, seen, sessions } = await start()
    const payload = { aps: { alert: 'Hello' } }
    const ids = await Promise.all(['a', 'b', 'c'].map((device) => push(device, payload)))
    expect(ids).toEqual(['id', 'id', 'id'])
    expect(sessions).toHaveLength(1)
    expect(seen.map(({ path, topic, body }) => ({ path, topic, body }))).toEqual(
      ['a', 'b', 'c'].map((device) => ({ path: `/3/device/${device}`, topic: account.topic, body: payload })),
    )
    const [token, ...others] = new Set(seen.map((one) => one.token))
    expect(others).toEqual([])
    const [head = '', claims = '', signature = ''] = String(token).split('.')
    const bytes = Buffer.from(`${head}.${claims}`)
    const checked = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const
    expect(verify('sha256', bytes, checked, Buffer.from(signature, 'base64url'))).toBe(true)
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({ iss: 'TEAM' })
  })

  it('says why one was refused', async () => {
    const { push } = await start()
    await expect(push('gone', {})).rejects.toMatchObject({ statusCode: 410, reason: 'Unregistered' })
  })
})
