/** Google's client of Pub/Sub, as it is, over grpc-js' own channels and over those of dodici/grpc-js. */

import type {
  handleUnaryCall,
  ServerDuplexStream,
  ServiceError,
  UntypedServiceImplementation,
} from '@grpc/grpc-js'
import * as ownGrpc from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ChannelFactoryOptions } from '../../src/grpc-js/declarations.ts'
import { lacksPackages, loadPackage } from '../support/clients/packages.ts'
import type { ServiceServer } from './grpc-clients-rig.ts'
import {
  countConnections,
  GOOGLE,
  loadGrpc,
  startServices,
  toGaxOptions,
  toGoogleDefinitions,
} from './grpc-clients-rig.ts'
import type { Transport } from './grpc-js-rig.ts'
import { OURS, TRANSPORTS } from './grpc-js-rig.ts'

const { status } = ownGrpc

interface Message {
  readonly id: string
  readonly data: Buffer
  readonly attributes: Record<string, string>
  ack(): void
  nack(): void
}

/** What is used of `@google-cloud/pubsub`. */
interface PubSubPackage {
  PubSub: new (
    options: object,
  ) => {
    topic(
      name: string,
      options?: object,
    ): {
      publishMessage(message: object): Promise<string>
      flush(): Promise<void>
    }
    subscription(
      name: string,
      options?: object,
    ): {
      on(event: 'message', listener: (message: Message) => void): void
      on(event: 'error', listener: (error: ServiceError) => void): void
      close(): Promise<void>
    }
    createTopic(name: string): Promise<{ name: string }[]>
    getTopics(): Promise<{ name: string }[][]>
    close(): Promise<void>
  }
  v1: {
    SubscriberClient: new (
      options: object,
    ) => {
      pull(request: object): Promise<{ receivedMessages: { ackId: string; message: { data: Buffer } }[] }[]>
      acknowledge(request: object): Promise<unknown>
      close(): Promise<void>
    }
  }
}

interface Kept {
  readonly messageId: string
  readonly data: Buffer
  readonly attributes: Record<string, string>
}

/** A topic and its subscription. */
class PubSubService {
  readonly kept: Kept[] = []
  readonly acknowledged: string[] = []
  readonly nacked: string[] = []
  readonly topics: string[] = []
  readonly pulls = new Set<ServerDuplexStream<StreamingPull, object>>()
  #sent = 0
  /** The statuses of the next publish calls. */
  readonly failures: number[] = []
  /** No publish call gets an answer. */
  waits = false
  /** How many of these were cancelled. */
  cancelled = 0

  readonly services: Record<string, UntypedServiceImplementation> = {
    'google.pubsub.v1.Publisher': {
      createTopic: ((call, callback) => {
        this.topics.push(call.request.name)
        callback(null, call.request)
      }) satisfies handleUnaryCall<{ name: string }, object>,
      listTopics: ((call, callback) => {
        const from = Number(call.request.pageToken || 0)
        const page = this.topics.slice(from, from + 2)
        const next = from + 2 < this.topics.length ? `${from + 2}` : ''
        callback(null, { topics: page.map((name) => ({ name })), nextPageToken: next })
      }) satisfies handleUnaryCall<{ pageToken: string }, object>,
      publish: ((call, callback) => {
        if (this.waits) return call.on('cancelled', () => this.cancelled++)
        const code = this.failures.shift()
        if (code !== undefined) return callback({ code, details: 'not now' })
        const ids = call.request.messages.map(({ data, attributes }) => {
          const messageId = `${this.kept.length}`
          this.kept.push({ messageId, data, attributes })
          return messageId
        })
        callback(null, { messageIds: ids })
        this.send()
      }) satisfies handleUnaryCall<{ messages: Kept[] }, object>,
    },
    'google.pubsub.v1.Subscriber': {
      pull: ((call, callback) => {
        const receivedMessages = this.kept
          .slice(this.#sent, this.#sent + call.request.maxMessages)
          .map((message) => ({ ackId: `ack ${message.messageId}`, message }))
        this.#sent += receivedMessages.length
        callback(null, { receivedMessages })
      }) satisfies handleUnaryCall<{ maxMessages: number }, object>,
      acknowledge: ((call, callback) => {
        this.acknowledged.push(...call.request.ackIds)
        callback(null, {})
      }) satisfies handleUnaryCall<{ ackIds: string[] }, object>,
      modifyAckDeadline: ((call, callback) => {
        if (call.request.ackDeadlineSeconds === 0) this.nacked.push(...call.request.ackIds)
        callback(null, {})
      }) satisfies handleUnaryCall<{ ackIds: string[]; ackDeadlineSeconds: number }, object>,
      streamingPull: (call: ServerDuplexStream<StreamingPull, object>) => {
        this.pulls.add(call)
        call.on('data', () => this.send())
        call.on('cancelled', () => this.pulls.delete(call))
        call.on('end', () => {
          this.pulls.delete(call)
          call.end()
        })
      },
    },
  }

  /** What was kept and isn't sent yet goes to a stream that there is. */
  send(): void {
    const [call] = this.pulls
    if (call === undefined || this.#sent === this.kept.length) return
    const receivedMessages = this.kept
      .slice(this.#sent)
      .map((message) => ({ ackId: `ack ${message.messageId}`, message }))
    this.#sent = this.kept.length
    call.write({ receivedMessages })
  }
}

interface StreamingPull {
  readonly subscription: string
}

const LACKING = lacksPackages('grpc-clients')
const PROTOS = '@google-cloud/pubsub/build/protos/protos.json'

async function start(
  transport: Transport,
  { maxStreams, ...options }: ChannelFactoryOptions & { maxStreams?: number } = {},
) {
  const service = new PubSubService()
  const server = await startServices(
    toGoogleDefinitions(PROTOS),
    service.services,
    maxStreams === undefined ? {} : { maxStreams },
  )
  return { service, server, pubsub: toPubSub(transport, server, options) }
}

function toPubSub(transport: Transport, { port }: ServiceServer, options: ChannelFactoryOptions) {
  const { PubSub } = loadPackage<PubSubPackage>('grpc-clients', '@google-cloud/pubsub')
  const pubsub = new PubSub({
    ...GOOGLE,
    apiEndpoint: `127.0.0.1:${port}`,
    emulatorMode: true,
    ...toGaxOptions(transport, options),
  })
  onTestFinished(() => pubsub.close())
  return pubsub
}

describe.skipIf(LACKING).each(TRANSPORTS)('@google-cloud/pubsub › $name', (transport) => {
  it('publishes messages', async () => {
    const made = countConnections()
    const { service, pubsub } = await start(transport)
    const topic = pubsub.topic('topic', { batching: { maxMessages: 1 } })
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        topic.publishMessage({ data: Buffer.from(`message ${index}`), attributes: { index: `${index}` } }),
      ),
    )
    expect(new Set(ids).size).toBe(20)
    expect(service.kept.map(({ data }) => data.toString()).sort()).toEqual(
      Array.from({ length: 20 }, (_, index) => `message ${index}`).sort(),
    )
    expect(
      service.kept.every(({ data, attributes }) => `message ${attributes.index}` === data.toString()),
    ).toBe(true)
    expect(made.connections).toBe(transport.isOurs ? 1 : 0)
  })

  it('creates topics, and lists them page by page', async () => {
    const { pubsub } = await start(transport)
    for (const name of ['a', 'b', 'c', 'd', 'e']) await pubsub.createTopic(name)
    const [topics] = await pubsub.getTopics()
    expect(topics?.map(({ name }) => name)).toEqual(
      ['a', 'b', 'c', 'd', 'e'].map((name) => `projects/project/topics/${name}`),
    )
  })

  it('gets messages by a stream, and acknowledges them or not', async () => {
    const { service, pubsub } = await start(transport)
    const subscription = pubsub.subscription('subscription')
    const seen: string[] = []
    subscription.on('error', (error) => seen.push(`${error}`))
    subscription.on('message', (message) => {
      seen.push(`${message.data} ${message.attributes.kind}`)
      if (message.attributes.kind === 'bad') message.nack()
      else message.ack()
    })
    const topic = pubsub.topic('topic')
    await topic.publishMessage({ data: Buffer.from('one'), attributes: { kind: 'good' } })
    await topic.publishMessage({ data: Buffer.from('two'), attributes: { kind: 'bad' } })
    await expect.poll(() => seen).toEqual(['one good', 'two bad'])
    await subscription.close()
    expect(service.acknowledged).toEqual(['ack 0'])
    expect(service.nacked).toEqual(['ack 1'])
    await expect.poll(() => service.pulls.size).toBe(0)
  })

  it('pulls and acknowledges by unary calls', async () => {
    const { service, server, pubsub } = await start(transport)
    const { v1 } = loadPackage<PubSubPackage>('grpc-clients', '@google-cloud/pubsub')
    const client = new v1.SubscriberClient({
      ...GOOGLE,
      servicePath: '127.0.0.1',
      port: server.port,
      sslCreds: loadGrpc().credentials.createInsecure(),
      ...toGaxOptions(transport),
    })
    onTestFinished(() => client.close())
    const topic = pubsub.topic('topic')
    await Promise.all(['a', 'b'].map((text) => topic.publishMessage({ data: Buffer.from(text) })))
    const subscription = 'projects/project/subscriptions/subscription'
    const [response] = await client.pull({ subscription, maxMessages: 10 })
    const received = response?.receivedMessages ?? []
    expect(received.map(({ message }) => message.data.toString()).sort()).toEqual(['a', 'b'])
    await client.acknowledge({ subscription, ackIds: received.map(({ ackId }) => ackId) })
    expect(service.acknowledged).toEqual(['ack 0', 'ack 1'])
  })

  it('sends again what the service refuses for now', async () => {
    const { service, pubsub } = await start(transport)
    service.failures.push(status.UNAVAILABLE, status.RESOURCE_EXHAUSTED)
    expect(await pubsub.topic('topic').publishMessage({ data: Buffer.from('late') })).toBe('0')
    expect(service.failures).toEqual([])
  })

  it('throws the status of what the service refuses for good', async () => {
    const { service, pubsub } = await start(transport)
    service.failures.push(status.INVALID_ARGUMENT)
    await expect(pubsub.topic('topic').publishMessage({ data: Buffer.from('bad') })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: 'not now',
    })
  })
})

describe.skipIf(LACKING).each(TRANSPORTS)('@google-cloud/pubsub on a bad day › $name', (transport) => {
  it('ends a call by its deadline, and goes on', async () => {
    const { service, pubsub } = await start(transport)
    expect(await pubsub.topic('topic').publishMessage({ data: Buffer.from('ready') })).toBe('0')
    service.waits = true
    const never = pubsub.topic('never', { gaxOpts: { timeout: 500, retry: null } })
    await expect(never.publishMessage({ data: Buffer.from('never') })).rejects.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    })
    await expect.poll(() => service.cancelled).toBe(1)
    service.waits = false
    expect(await pubsub.topic('topic').publishMessage({ data: Buffer.from('now') })).toBe('1')
  })

  it('pulls on, and publishes, when the server has been restarted', async () => {
    const { service, server, pubsub } = await start(transport)
    const seen: string[] = []
    const subscription = pubsub.subscription('subscription', { streamingOptions: { maxStreams: 1 } })
    subscription.on('error', (error) => seen.push(`${error}`))
    subscription.on('message', (message) => {
      seen.push(`${message.data}`)
      message.ack()
    })
    const topic = pubsub.topic('topic')
    await topic.publishMessage({ data: Buffer.from('before') })
    await expect.poll(() => seen).toEqual(['before'])
    server.kill()
    await expect.poll(() => service.pulls.size).toBe(0)
    await startServices(toGoogleDefinitions(PROTOS), service.services, { port: server.port })
    await topic.publishMessage({ data: Buffer.from('after') })
    await expect.poll(() => seen).toEqual(['before', 'after'])
    await subscription.close()
  })

  it('closes amid streams, and leaves nothing to the server', async () => {
    const { service, pubsub } = await start(transport)
    const errors: unknown[] = []
    const subscription = pubsub.subscription('subscription')
    subscription.on('error', (error) => errors.push(error))
    subscription.on('message', () => {})
    await expect.poll(() => service.pulls.size).toBe(5)
    await pubsub.close()
    await subscription.close()
    await expect.poll(() => service.pulls.size).toBe(0)
    expect(errors).toEqual([])
    await expect(pubsub.topic('topic').publishMessage({ data: Buffer.from('late') })).rejects.toThrow(
      'closed',
    )
  })

  // nodejs-pubsub #550 and #633: with all streams of the connection taken by pulls, grpc-js lets the call wait for its deadline.
  it('publishes while pulls take all streams that a connection may have', async () => {
    const { service, server, pubsub } = await start(transport, { maxStreams: 10 })
    const subscription = pubsub.subscription('subscription', { streamingOptions: { maxStreams: 10 } })
    subscription.on('error', () => {})
    subscription.on('message', (message) => message.ack())
    await expect.poll(() => service.pulls.size).toBe(10)
    const topic = pubsub.topic('topic', {
      gaxOpts: { timeout: transport.isOurs ? 60_000 : 1_000, retry: null },
    })
    const published = topic.publishMessage({ data: Buffer.from('message') })
    if (transport.isOurs) expect(await published).toBe('0')
    else await expect(published).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED })
    expect(server.peers.size).toBe(transport.isOurs ? 2 : 1)
    await subscription.close()
  })
})

describe.skipIf(LACKING)('@google-cloud/pubsub with a factory of another copy of grpc-js', () => {
  it.each(OURS)('publishes, and throws statuses: $name', async (transport) => {
    const { service, pubsub } = await start(transport, { grpc: ownGrpc })
    const topic = pubsub.topic('topic')
    expect(await topic.publishMessage({ data: Buffer.from('message') })).toBe('0')
    service.failures.push(status.INVALID_ARGUMENT)
    await expect(topic.publishMessage({ data: Buffer.from('bad') })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
    })
  })
})
