/** The recipes of docs/integrations.md that are programs: each beside a server that stands for the real one. */

import { generateKeyPairSync, verify } from 'node:crypto'
import type { ServerHttp2Stream } from 'node:http2'
import { crc32 } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPusher } from '../../../examples/integrations/apns.mjs'
import { DodiciHandler } from '../../../examples/integrations/aws.mjs'
import { createSender } from '../../../examples/integrations/fcm.mjs'
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

/** What is used of `@aws-sdk/client-s3`, and of `@aws-sdk/client-transcribe-streaming`. */
interface S3 {
  S3Client: new (options: object) => { send(command: object): Promise<Stored> }
  PutObjectCommand: new (input: object) => object
  GetObjectCommand: new (input: object) => object
}

interface Stored {
  readonly ETag?: string
  readonly Body?: { transformToString(): Promise<string> }
}

interface Transcribe {
  TranscribeStreamingClient: new (
    options: object,
  ) => { send(command: object): Promise<{ TranscriptResultStream: AsyncIterable<TranscriptResult> }> }
  StartStreamTranscriptionCommand: new (input: object) => object
}

interface TranscriptResult {
  readonly TranscriptEvent: { readonly Transcript: { readonly Results: { readonly ResultId: string }[] } }
}

const toAwsOptions = (engine: (typeof ENGINES)[number], origin: string) => ({
  region: 'eu-central-1',
  endpoint: origin,
  credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
  requestHandler: new DodiciHandler(toAgent({ engine })),
})

describe.skipIf(lacksPackages('aws')).each(ENGINES)('objects of S3 over Dodici › engine %s', (engine) => {
  async function start() {
    const objects = new Map<string, string>()
    const { origin, sessions } = await startServer(async (stream, headers) => {
      stream.on('error', () => {})
      const path = String(headers[':path']).split('?')[0] ?? ''
      if (headers[':method'] === 'PUT') {
        if (headers.expect === '100-continue') stream.additionalHeaders({ ':status': 100 })
        objects.set(path, await read(stream))
        stream.respond({ ':status': 200, etag: '"tag"' }, { endStream: true })
      } else if (objects.has(path)) {
        stream.respond({ ':status': 200, 'content-type': 'text/plain' })
        stream.end(objects.get(path))
      } else {
        stream.respond({ ':status': 404, 'content-type': 'application/xml' })
        stream.end('<Error><Code>NoSuchKey</Code><Message>none</Message></Error>')
      }
    })
    const s3 = loadPackage<S3>('aws', '@aws-sdk/client-s3')
    const client = new s3.S3Client({ ...toAwsOptions(engine, origin), forcePathStyle: true })
    return { objects, sessions, s3, client }
  }

  it('puts and gets them, large ones among them, on one connection', async () => {
    const { objects, sessions, s3, client } = await start()
    const texts = ['small', 'x'.repeat(3 * 1024 * 1024)]
    for (const [index, text] of texts.entries()) {
      const Key = `key ${index}`
      const put = new s3.PutObjectCommand({ Bucket: 'bucket', Key, Body: Buffer.from(text) })
      expect((await client.send(put)).ETag).toBe('"tag"')
      const { Body } = await client.send(new s3.GetObjectCommand({ Bucket: 'bucket', Key }))
      expect((await Body?.transformToString()) === text).toBe(true)
    }
    expect([...objects.keys()]).toEqual(['/bucket/key%200', '/bucket/key%201'])
    expect(sessions).toHaveLength(1)
  })

  it('throws the error of the service', async () => {
    const { s3, client } = await start()
    const get = client.send(new s3.GetObjectCommand({ Bucket: 'bucket', Key: 'none' }))
    await expect(get).rejects.toMatchObject({ name: 'NoSuchKey', $metadata: { httpStatusCode: 404 } })
  })
})

/** One message of an event stream: a prelude, headers that are strings, a payload, and checksums. */
function toEvent(type: string, payload: object): Buffer {
  const fields = { ':message-type': 'event', ':event-type': type, ':content-type': 'application/json' }
  const headers = Buffer.concat(
    Object.entries(fields).map(([name, value]) =>
      Buffer.concat([
        Buffer.from([name.length]),
        Buffer.from(name),
        Buffer.from([7, value.length >> 8, value.length & 0xff]),
        Buffer.from(value),
      ]),
    ),
  )
  const body = Buffer.from(JSON.stringify(payload))
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(16 + headers.length + body.length, 0)
  prelude.writeUInt32BE(headers.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const message = Buffer.concat([prelude, headers, body])
  const end = Buffer.alloc(4)
  end.writeUInt32BE(crc32(message))
  return Buffer.concat([message, end])
}

describe.skipIf(lacksPackages('aws')).each(ENGINES)('an event stream of Transcribe › engine %s', (engine) => {
  const toTranscript = (ResultId: string) =>
    toEvent('TranscriptEvent', { Transcript: { Results: [{ ResultId }] } })

  it('goes both ways at a time', async () => {
    const streams: ServerHttp2Stream[] = []
    const { origin } = await startServer((stream) => {
      streams.push(stream)
      stream.respond({ ':status': 200, 'content-type': 'application/vnd.amazon.eventstream' })
      stream.once('data', () => stream.write(toTranscript('first')))
      stream.on('end', () => stream.end(toTranscript('last')))
    })
    const transcribe = loadPackage<Transcribe>('aws', '@aws-sdk/client-transcribe-streaming')
    const client = new transcribe.TranscribeStreamingClient(toAwsOptions(engine, origin))
    let onFirst = () => {}
    const first = new Promise<void>((resolve) => {
      onFirst = resolve
    })
    async function* audio() {
      yield { AudioEvent: { AudioChunk: Buffer.alloc(1_000) } }
      await first
      yield { AudioEvent: { AudioChunk: Buffer.alloc(1_000) } }
    }
    const { TranscriptResultStream: results } = await client.send(
      new transcribe.StartStreamTranscriptionCommand({
        LanguageCode: 'en-US',
        MediaEncoding: 'pcm',
        MediaSampleRateHertz: 16_000,
        AudioStream: audio(),
      }),
    )
    const seen: (string | undefined)[] = []
    for await (const { TranscriptEvent } of results) {
      seen.push(TranscriptEvent.Transcript.Results[0]?.ResultId)
      onFirst()
    }
    expect(seen).toEqual(['first', 'last'])
    expect(streams).toHaveLength(1)
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

describe.each(ENGINES)('push notifications by FCM › engine %s', (engine) => {
  async function start() {
    const seen: { path: unknown; authorization: unknown; body: unknown }[] = []
    const { server, client } = await startClient(
      async (stream, headers) => {
        const body = JSON.parse(await read(stream))
        seen.push({ path: headers[':path'], authorization: headers.authorization, body })
        const { token } = body.message
        if (token === 'gone') {
          const details = [
            { '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: 'UNREGISTERED' },
          ]
          stream.respond({ ':status': 404 })
          stream.end(JSON.stringify({ error: { code: 404, status: 'NOT_FOUND', details } }))
        } else if (token === 'busy') {
          stream.respond({ ':status': 503, 'retry-after': '30' })
          stream.end(JSON.stringify({ error: { code: 503, status: 'UNAVAILABLE' } }))
        } else if (token === 'lost') {
          stream.respond({ ':status': 502 })
          stream.end('Bad Gateway')
        } else {
          stream.respond({ ':status': 200 })
          stream.end(JSON.stringify({ name: `projects/project/messages/${token}` }))
        }
      },
      { engine },
      { tls: true },
    )
    const send = createSender(client, { projectId: 'project', getToken: async () => 'token' })
    return { send, seen, sessions: server.sessions }
  }

  it('sends them on one connection', async () => {
    const { send, seen, sessions } = await start()
    const names = await Promise.all(
      ['a', 'b', 'c'].map((token) => send({ token, notification: { title: 'Hello' } })),
    )
    expect(names).toEqual(['a', 'b', 'c'].map((token) => `projects/project/messages/${token}`))
    expect(sessions).toHaveLength(1)
    expect(seen[0]).toEqual({
      path: '/v1/projects/project/messages:send',
      authorization: 'Bearer token',
      body: { message: { token: 'a', notification: { title: 'Hello' } } },
    })
  })

  it.each([
    ['gone', { statusCode: 404, reason: 'UNREGISTERED', retryAfter: null }],
    ['busy', { statusCode: 503, reason: 'UNAVAILABLE', retryAfter: 30 }],
    ['lost', { statusCode: 502, reason: 'Bad Gateway', retryAfter: null }],
  ])('says why one was refused: %s', async (token, expected) => {
    const { send } = await start()
    await expect(send({ token })).rejects.toMatchObject(expected)
  })
})
