/**
 * What grpc-js' `Channel` and `Call` promise, against a peer that does as it is told: on grpc-js' own transport, and on
 * Dodici's channels.
 */

import type { ServerHttp2Stream } from 'node:http2'
import { gzipSync } from 'node:zlib'
import * as grpc from '@grpc/grpc-js'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { startServer } from '../support/servers/server.ts'
import type { Ended, Transport } from './grpc-js-rig.ts'
import { collect, OURS, TestClient, TRANSPORTS } from './grpc-js-rig.ts'

const { status, connectivityState: State } = grpc

/** What a listener of a raw call hears. */
class Heard {
  readonly events: string[] = []
  readonly messages: Buffer[] = []
  readonly ended: Promise<Ended>
  isInside = false
  toldInside = false
  #end: (status: Ended) => void = () => {}

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  onReceiveMetadata(): void {
    this.events.push('metadata')
  }

  onReceiveMessage(message: Buffer): void {
    this.toldInside ||= this.isInside
    this.messages.push(message)
    this.events.push('message')
  }

  onReceiveStatus(status: Ended): void {
    this.toldInside ||= this.isInside
    this.events.push(`status ${status.code}`)
    this.#end(status)
  }
}

function begin(
  client: TestClient,
  deadline: Date | number = Number.POSITIVE_INFINITY,
  metadata = new grpc.Metadata(),
): { call: ReturnType<grpc.Channel['createCall']>; heard: Heard } {
  const call = client.getChannel().createCall('/a.B/C', deadline, null, null, null)
  const heard = new Heard()
  call.start(metadata, heard as never)
  return { call, heard }
}

function toFrame(text: string | Buffer, flag = 0): Buffer {
  const message = Buffer.from(text as string)
  const prefix = Buffer.alloc(5)
  prefix[0] = flag
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

function toHeaders(stream: FaultStream): Record<string, string> {
  return Object.fromEntries(stream.fields)
}

type Script = (stream: FaultStream) => unknown

async function serve(onComplete: Script): Promise<FaultServer> {
  return startPeer({ onComplete })
}

function toTarget(peer: { readonly origin: string }): string {
  return new URL(peer.origin).host
}

function toClient(
  transport: Transport,
  peer: { readonly origin: string },
  options: grpc.ChannelOptions = {},
): TestClient {
  return new TestClient(transport, toTarget(peer), undefined, options)
}

const HEADERS = { 'content-type': 'application/grpc' }
const OK = { 'grpc-status': '0' }

/** A response as it should be, of some messages. */
function answer(
  stream: FaultStream,
  messages: readonly Buffer[],
  trailers: Record<string, string> = OK,
): void {
  stream.respond({ headers: HEADERS, body: Buffer.concat(messages), trailers })
}

afterEach(() => TestClient.closeAll())

describe.each(TRANSPORTS)('a call › $name', (transport) => {
  it('tells metadata, then messages as they are asked for, then one status, in later ticks', async () => {
    const peer = await serve((stream) => answer(stream, [toFrame('a'), toFrame('b')]))
    const { call, heard } = begin(toClient(transport, peer))
    call.sendMessageWithContext({}, Buffer.from('x'))
    call.halfClose()
    await expect.poll(() => heard.events).toEqual(['metadata'])
    heard.isInside = true
    call.startRead()
    heard.isInside = false
    await expect.poll(() => heard.events).toEqual(['metadata', 'message'])
    call.startRead()
    expect((await heard.ended).code).toBe(status.OK)
    expect(heard.events).toEqual(['metadata', 'message', 'message', 'status 0'])
    expect(heard.toldInside).toBe(false)
    expect(heard.messages.map(String)).toEqual(['a', 'b'])
  })

  it('tells no metadata of a response that is trailers only', async () => {
    const peer = await serve((stream) =>
      stream.respond({
        headers: { ...HEADERS, 'grpc-status': '5', 'grpc-message': 'gone%20away', 'x-more': 'y' },
        body: null,
      }),
    )
    const { call, heard } = begin(toClient(transport, peer))
    call.halfClose()
    expect(await heard.ended).toMatchObject({ code: 5, details: 'gone away' })
    expect(heard.events).toEqual(['status 5'])
    expect((await heard.ended).metadata.get('x-more')).toEqual(['y'])
  })

  it('lets a local cancel win over an OK that wasn’t told, and tells it in a later tick', async () => {
    const peer = await serve((stream) => answer(stream, [toFrame('a')]))
    const client = toClient(transport, peer)
    const { call, heard } = begin(client)
    call.halfClose()
    await expect.poll(() => heard.events).toEqual(['metadata'])
    // What the server has answered later has come, by the same connection: so have the message and the OK.
    const later = begin(client)
    later.call.startRead()
    later.call.halfClose()
    expect(await later.heard.ended).toMatchObject({ code: status.OK })
    heard.isInside = true
    call.cancelWithStatus(status.CANCELLED, 'enough')
    heard.isInside = false
    expect(await heard.ended).toMatchObject({ code: status.CANCELLED, details: 'enough' })
    expect(heard.events).toEqual(['metadata', 'status 1'])
    expect(heard.toldInside).toBe(false)
  })

  it('resets with CANCEL', async () => {
    let stream: FaultStream | null = null
    const peer = await startPeer({
      onRequest: (given) => {
        stream = given
      },
    })
    const { call, heard } = begin(toClient(transport, peer))
    call.sendMessageWithContext({}, Buffer.from('x'))
    await expect.poll(() => stream).not.toBe(null)
    call.cancelWithStatus(status.ABORTED, 'enough')
    expect((await heard.ended).code).toBe(status.ABORTED)
    const given = stream as FaultStream | null
    await expect.poll(() => peer.connections[0]?.of('RST_STREAM', given?.id ?? null).length).toBe(1)
    expect(peer.connections[0]?.of('RST_STREAM')[0]?.payload.readUInt32BE(0)).toBe(8)
  })

  it('calls the callbacks of messages, also after its end', async () => {
    const peer = await serve((stream) => answer(stream, [toFrame('a')]))
    const { call, heard } = begin(toClient(transport, peer))
    let called = 0
    const callback = (): void => void called++
    call.sendMessageWithContext({ callback }, Buffer.from('x'))
    call.halfClose()
    call.startRead()
    await heard.ended
    await expect.poll(() => called).toBe(1)
  })

  it('sends a deadline in time, and ends by it', async () => {
    let timeout: string | undefined
    const peer = await startPeer({
      onRequest: (stream) => {
        timeout = toHeaders(stream)['grpc-timeout']
      },
    })
    const { heard } = begin(toClient(transport, peer), Date.now() + 300)
    expect((await heard.ended).code).toBe(status.DEADLINE_EXCEEDED)
    expect((await heard.ended).details).toMatch(/^Deadline exceeded after \d+\.\d\d\ds/)
    expect(timeout).toMatch(/^\d{1,8}m$/)
  })

  it('ends at once with a deadline that has passed', async () => {
    const peer = await serve((stream) => answer(stream, []))
    const { heard } = begin(toClient(transport, peer), new Date(0))
    expect((await heard.ended).code).toBe(status.DEADLINE_EXCEEDED)
  })

  it('sends the fields of gRPC, and metadata as it was at the start', async () => {
    let seen: Readonly<Record<string, string | undefined>> = {}
    const peer = await startPeer({
      onRequest: (stream) => {
        seen = toHeaders(stream)
      },
      onComplete: (stream) => answer(stream, []),
    })
    const client = toClient(transport, peer, {
      'grpc.primary_user_agent': 'first/1',
      'grpc.secondary_user_agent': 'last/2',
      'grpc.default_authority': 'authority.example:1',
    })
    const metadata = new grpc.Metadata()
    metadata.set('x-text', 'a')
    metadata.set('x-bin', Buffer.from([0, 255]))
    const { call, heard } = begin(client, undefined, metadata)
    metadata.set('x-text', 'changed')
    call.halfClose()
    await heard.ended
    expect(seen).toMatchObject({
      ':method': 'POST',
      ':path': '/a.B/C',
      ':authority': 'authority.example:1',
      te: 'trailers',
      'content-type': 'application/grpc',
      'grpc-accept-encoding': 'identity,deflate,gzip',
      'user-agent': expect.stringMatching(/^first\/1 grpc-node-js\/\S+ last\/2$/),
      'x-text': 'a',
      'x-bin': 'AP8=',
    })
    expect(seen['grpc-timeout']).toBe(undefined)
  })

  it.each([
    { deadline: Number.POSITIVE_INFINITY, sent: /^7S$/ },
    { deadline: Date.now() + 3_600_000, sent: /^\d+[mSM]$/ },
  ])('sends grpc-timeout of its metadata, unless it has the deadline $deadline', async ({
    deadline,
    sent,
  }) => {
    const seen: (string | undefined)[] = []
    const peer = await startPeer({
      onRequest: (stream) => {
        seen.push(...stream.fields.filter(([name]) => name === 'grpc-timeout').map(([, value]) => value))
      },
      onComplete: (stream) => answer(stream, []),
    })
    const metadata = new grpc.Metadata()
    metadata.set('grpc-timeout', '7S')
    const { call, heard } = begin(toClient(transport, peer), deadline, metadata)
    call.halfClose()
    await heard.ended
    expect(seen).toEqual([expect.stringMatching(sent)])
    expect(seen[0] === '7S').toBe(deadline === Number.POSITIVE_INFINITY)
  })

  it('takes the host of a call as :authority', async () => {
    let authority: string | undefined
    const peer = await startPeer({
      onRequest: (stream) => {
        authority = toHeaders(stream)[':authority']
      },
      onComplete: (stream) => answer(stream, []),
    })
    const client = toClient(transport, peer)
    const call = client
      .getChannel()
      .createCall('/a.B/C', Number.POSITIVE_INFINITY, 'other.example', null, null)
    const heard = new Heard()
    call.start(new grpc.Metadata(), heard as never)
    call.halfClose()
    await heard.ended
    expect(authority).toBe('other.example')
  })

  it('has the metadata of its credentials, and ends with their errors', async () => {
    let seen: string | undefined
    const asked: unknown[] = []
    const peer = await startPeer({
      onRequest: (stream) => {
        seen = toHeaders(stream)['x-token']
      },
      onComplete: (stream) => answer(stream, [toFrame('')]),
    })
    const client = toClient(transport, peer)
    const toCredentials = (error: Error | null): grpc.CallCredentials =>
      grpc.credentials.createFromMetadataGenerator((options, callback) => {
        asked.push(options)
        const metadata = new grpc.Metadata()
        metadata.set('x-token', 'secret')
        if (error === null) callback(null, metadata)
        else callback(error)
      })
    expect((await client.unary('/a.B/C', 'x', undefined, { credentials: toCredentials(null) })).error).toBe(
      null,
    )
    expect(seen).toBe('secret')
    expect(asked[0]).toEqual({ method_name: '/a.B/C', service_url: 'https://127.0.0.1/a.B' })
    const denied = Object.assign(new Error('no'), { code: 16 })
    expect(
      (await client.unary('/a.B/C', 'x', undefined, { credentials: toCredentials(denied) })).error,
    ).toMatchObject({ code: 16, details: 'Getting metadata from plugin failed with error: no' })
    const odd = Object.assign(new Error('no'), { code: 5 })
    expect(
      (await client.unary('/a.B/C', 'x', undefined, { credentials: toCredentials(odd) })).error?.code,
    ).toBe(13)
  })

  it('propagates the deadline and the cancellation of a call of a server', async () => {
    const peer = await startPeer({})
    const client = toClient(transport, peer)
    const listeners: (() => void)[] = []
    const parent = {
      on: (_event: string, listener: () => void) => listeners.push(listener),
      off: () => listeners.splice(0),
      getDeadline: () => Date.now() + 200,
    }
    const start = (flags: number): Promise<Ended> => {
      const call = client
        .getChannel()
        .createCall('/a.B/C', Number.POSITIVE_INFINITY, null, parent as never, flags)
      const heard = new Heard()
      call.start(new grpc.Metadata(), heard as never)
      return heard.ended
    }
    expect((await start(grpc.propagate.DEADLINE)).code).toBe(status.DEADLINE_EXCEEDED)
    const cancelled = start(grpc.propagate.CANCELLATION)
    for (const listener of [...listeners]) listener()
    expect(await cancelled).toMatchObject({ code: status.CANCELLED, details: 'Cancelled by parent call' })
  })
})

describe.each(TRANSPORTS)('a status › $name', (transport) => {
  it.each([
    [400, 13],
    [401, 16],
    [403, 7],
    [404, 12],
    [429, 14],
    [502, 14],
    [503, 14],
    [504, 14],
    [500, 2],
    [418, 2],
  ])('HTTP %i › %i', async (statusCode, code) => {
    const peer = await serve((stream) =>
      stream.respond({ status: statusCode, headers: { 'content-type': 'text/html' }, body: '<html>' }),
    )
    const { error } = await toClient(transport, peer).unary('/a.B/C', 'x')
    expect(error).toMatchObject({ code, details: `Received HTTP status code ${statusCode}` })
  })

  it.each([
    [7, 14],
    [8, 1],
    [11, 8],
    [12, 7],
    [2, 13],
    [3, 13],
    [10, 13],
  ])('RST_STREAM with code %i › %i', async (reset, code) => {
    const peer = await serve((stream) => stream.reset(reset))
    const { error } = await toClient(transport, peer).unary('/a.B/C', 'x', undefined, {
      deadline: Date.now() + 20_000,
    })
    expect(error?.code).toBe(code)
  })

  it('is UNAVAILABLE when the connection ends', async () => {
    const peer = await startPeer({ onComplete: (_stream, connection) => connection.break() })
    const { error } = await toClient(transport, peer).unary('/a.B/C', 'x')
    expect(error?.code).toBe(status.UNAVAILABLE)
  })

  it('is UNAVAILABLE when there is no connection', async () => {
    const client = new TestClient(transport, '127.0.0.1:1')
    const { error } = await client.unary('/a.B/C', 'x')
    expect(error).toMatchObject({
      code: status.UNAVAILABLE,
      details: expect.stringMatching(/^No connection established\. Last error: .*ECONNREFUSED/),
    })
  })

  it('keeps a grpc-message that is malformed', async () => {
    const peer = await serve((stream) =>
      answer(stream, [], { 'grpc-status': '3', 'grpc-message': '100% of %zz' }),
    )
    const { error } = await toClient(transport, peer).unary('/a.B/C', 'x')
    expect(error).toMatchObject({ code: 3, details: '100% of %zz' })
  })

  it('comes from the trailers when both sections have one', async () => {
    const peer = await serve((stream) =>
      stream.respond({
        headers: { ...HEADERS, 'grpc-status': '5' },
        body: toFrame('a'),
        trailers: { 'grpc-status': '6' },
      }),
    )
    expect((await toClient(transport, peer).unary('/a.B/C', 'x')).error?.code).toBe(6)
  })
})

describe.each(TRANSPORTS)('messages › $name', (transport) => {
  it('are limited in both directions', async () => {
    const peer = await serve((stream) => answer(stream, [toFrame(Buffer.alloc(200))]))
    const client = toClient(transport, peer, {
      'grpc.max_receive_message_length': 100,
      'grpc.max_send_message_length': 50,
    })
    const received = await client.unary('/a.B/C', 'x')
    expect(received.error).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      details: 'Received message larger than max (200 vs 100)',
    })
    const sent = await client.unary('/a.B/C', Buffer.alloc(51))
    expect(sent.error).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      details: 'Attempted to send message with a size larger than 50',
    })
  })

  it('have 4 MiB by default, and any size with -1', async () => {
    const peer = await startServer((stream) => {
      stream.respond({ ':status': 200, ...HEADERS }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers(OK))
      stream.end(toFrame(Buffer.alloc(4_194_305)))
    })
    expect((await toClient(transport, peer).unary('/a.B/C', 'x')).error?.code).toBe(status.RESOURCE_EXHAUSTED)
    const any = toClient(transport, peer, { 'grpc.max_receive_message_length': -1 })
    expect((await any.unary('/a.B/C', 'x')).message?.length).toBe(4_194_305)
  })

  it('are limited when they are inflated, too', async () => {
    const peer = await serve((stream) =>
      stream.respond({
        headers: { ...HEADERS, 'grpc-encoding': 'gzip' },
        body: toFrame(gzipSync(Buffer.alloc(1_000)), 1),
        trailers: OK,
      }),
    )
    const limited = toClient(transport, peer, { 'grpc.max_receive_message_length': 100 })
    expect((await limited.unary('/a.B/C', 'x')).error).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      details: 'Received message that decompresses to a size larger than 100',
    })
    expect((await toClient(transport, peer).unary('/a.B/C', 'x')).message?.length).toBe(1_000)
  })

  it('keep their order where some are compressed', async () => {
    const peer = await serve((stream) =>
      stream.respond({
        headers: { ...HEADERS, 'grpc-encoding': 'gzip' },
        body: Buffer.concat([
          toFrame('a'),
          toFrame(gzipSync('b'), 1),
          toFrame('c'),
          toFrame(gzipSync('d'), 1),
        ]),
        trailers: OK,
      }),
    )
    const { messages, status: end } = await collect(toClient(transport, peer).serverStream('/a.B/C', 'x'))
    expect(messages.map(String)).toEqual(['a', 'b', 'c', 'd'])
    expect(end.code).toBe(status.OK)
  })

  it('aren’t compressed with flag 2', async () => {
    const flags: (number | undefined)[] = []
    const peer = await serve((stream) => {
      const body = stream.body
      for (let at = 0; at < body.length; at += 5 + body.readUInt32BE(at + 1)) flags.push(body[at])
      answer(stream, [])
    })
    const client = toClient(transport, peer, { 'grpc.default_compression_algorithm': 2 })
    const { call, heard } = begin(client)
    await new Promise<void>((resolve) =>
      call.sendMessageWithContext({ callback: () => resolve() }, Buffer.from('a')),
    )
    await new Promise<void>((resolve) =>
      call.sendMessageWithContext({ callback: () => resolve(), flags: 2 }, Buffer.from('b')),
    )
    call.halfClose()
    await heard.ended
    expect(flags).toEqual([1, 0])
  })

  it.each([
    'trailers',
    'a reset',
  ])('that came in one read with a failure are delivered before it: %s', async (end) => {
    const peer = await startPeer({
      onComplete(stream, connection) {
        connection.inOneSegment(() => {
          stream.head(200, HEADERS)
          for (const text of ['a', 'b', 'c']) void stream.data(toFrame(text))
          if (end === 'trailers') void stream.endWith({ 'grpc-status': '5' })
          else stream.reset('INTERNAL_ERROR')
        })
      },
    })
    const { messages, status: ended } = await collect(toClient(transport, peer).serverStream('/a.B/C', 'x'))
    expect(ended.code).toBe(end === 'trailers' ? 5 : status.INTERNAL)
    if (end === 'trailers' || transport.isOurs) expect(messages.map(String)).toEqual(['a', 'b', 'c'])
  })

  it('that nobody reads don’t hold up a failure', async () => {
    const peer = await serve((stream) => answer(stream, [toFrame('a'), toFrame('b')], { 'grpc-status': '5' }))
    const { call, heard } = begin(toClient(transport, peer))
    call.startRead()
    call.halfClose()
    expect((await heard.ended).code).toBe(5)
    expect(heard.messages.map(String)).toEqual(['a'])
  })

  it.each([
    20_000, 60_000, 2_000_000,
  ])('that nobody reads don’t hold up a failure, of %d bytes', async (size) => {
    // grpc-js waits in vain for the status of a response that doesn't fit into its windows.
    if (size > 65_535 && !transport.isOurs) return
    const peer = await startServer((stream) => {
      stream.respond({ ':status': 200, ...HEADERS }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '5' }))
      stream.end(Buffer.concat([toFrame('a'), toFrame(Buffer.alloc(size))]))
    })
    const { error } = await toClient(transport, peer).unary('/a.B/C', 'x')
    expect(error?.code).toBe(5)
  })

  it('are found wherever the response is cut', async () => {
    const { origin } = await startServer((stream) => {
      stream.respond({ ':status': 200, ...HEADERS }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers(OK))
      const body = Buffer.concat([toFrame('one'), toFrame(''), toFrame('three')])
      const writeFrom = (at: number): void => {
        if (at === body.length) stream.end()
        else stream.write(body.subarray(at, at + 1), () => setImmediate(writeFrom, at + 1))
      }
      writeFrom(0)
    })
    const { messages } = await collect(toClient(transport, { origin }).serverStream('/a.B/C', 'x'))
    expect(messages.map(String)).toEqual(['one', '', 'three'])
  })
})

describe.each(TRANSPORTS)('a channel › $name', (transport) => {
  it('checks the arguments of createCall()', async () => {
    const peer = await startPeer({})
    const channel = toClient(transport, peer).getChannel()
    expect(() => channel.createCall(1 as never, 1, null, null, null)).toThrow('method must be a string')
    expect(() => channel.createCall('/a/b', '1' as never, null, null, null)).toThrow(
      'deadline must be a number or Date',
    )
  })

  it('tells its target with a scheme', async () => {
    const peer = await startPeer({})
    const target = toTarget(peer)
    expect(toClient(transport, peer).getChannel().getTarget()).toBe(`dns:${target}`)
    const [host, port] = target.split(':')
    expect(new TestClient(transport, `ipv4:${host}:${port}`).getChannel().getTarget()).toBe(
      `ipv4:${host}:${port}`,
    )
  })

  it('goes from IDLE to READY, and to SHUTDOWN', async () => {
    const peer = await startPeer({})
    const client = toClient(transport, peer)
    const channel = client.getChannel()
    expect(channel.getConnectivityState(false)).toBe(State.IDLE)
    await new Promise<void>((resolve, reject) =>
      client.waitForReady(Date.now() + 20_000, (error) => (error ? reject(error) : resolve())),
    )
    expect(channel.getConnectivityState(false)).toBe(State.READY)
    client.close()
    expect(channel.getConnectivityState(false)).toBe(State.SHUTDOWN)
    expect(() => channel.watchConnectivityState(State.SHUTDOWN, Number.POSITIVE_INFINITY, () => {})).toThrow(
      'shut down',
    )
    expect(() => channel.createCall('/a/b', 1, null, null, null)).toThrow('shut down')
  })

  it('tells TRANSIENT_FAILURE, and waitForReady ends by its deadline', async () => {
    const client = new TestClient(transport, '127.0.0.1:1')
    const channel = client.getChannel()
    const late = new Promise((resolve) => client.waitForReady(Date.now() + 400, resolve))
    await expect.poll(() => channel.getConnectivityState(false)).toBe(State.TRANSIENT_FAILURE)
    expect(await late).toBeInstanceOf(Error)
  })

  it('calls back with an Error at the deadline of a watch', async () => {
    const peer = await startPeer({})
    const channel = toClient(transport, peer).getChannel()
    const watch = (deadline: number): Promise<unknown> =>
      new Promise((resolve) => channel.watchConnectivityState(State.IDLE, deadline, resolve))
    expect(await watch(Date.now() + 20)).toBeInstanceOf(Error)
    expect(await watch(Date.now() - 1)).toBeInstanceOf(Error)
    const changed = watch(Number.POSITIVE_INFINITY)
    channel.getConnectivityState(true)
    expect(await changed).toBe(undefined)
  })

  it('close() ends calls that haven’t begun, and lets the others go on', async () => {
    let respond: () => void = () => {}
    const peer = await startPeer({
      onComplete: (stream) => {
        respond = () => answer(stream, [toFrame('late')])
      },
    })
    const client = toClient(transport, peer)
    const running = client.unary('/a.B/C', 'x')
    await expect.poll(() => peer.connections[0]?.of('HEADERS').length).toBe(1)
    const { heard } = begin(new TestClient(transport, '10.255.255.1:1'))
    expect(heard.events).toEqual([])
    client.close()
    respond()
    expect(String((await running).message)).toBe('late')

    const unbegun = toClient(transport, peer)
    const late = unbegun.unary('/a.B/C', 'x')
    unbegun.close()
    expect((await late).error).toMatchObject({
      code: status.UNAVAILABLE,
      details: 'Channel closed before call started',
    })
  })

  it('lets a call with waitForReady wait for a server that comes later', async () => {
    const metadata = new grpc.Metadata({ waitForReady: true })
    const { origin, server } = await startServer(() => {})
    const { port } = new URL(origin)
    await new Promise((resolve) => server.close(resolve))
    const client = toClient(transport, { origin }, { 'grpc.initial_reconnect_backoff_ms': 100 })
    const answered = client.unary('/a.B/C', 'x', metadata)
    await expect.poll(() => client.getChannel().getConnectivityState(false)).toBe(State.TRANSIENT_FAILURE)
    server.on('stream', (stream: ServerHttp2Stream) => {
      stream.respond({ ':status': 200, ...HEADERS, 'grpc-status': '9' }, { endStream: true })
    })
    server.listen(Number(port), '127.0.0.1')
    expect((await answered).error?.code).toBe(9)
    onTestFinished(() => void server.close())
  })

  it('limits calls by the timeouts of its service config', async () => {
    const peer = await startPeer({})
    const client = toClient(transport, peer, {
      'grpc.service_config': JSON.stringify({
        loadBalancingConfig: [],
        methodConfig: [{ name: [{ service: 'a.B', method: 'C' }], timeout: '0.05s' }],
      }),
    })
    expect((await client.unary('/a.B/C', 'x')).error?.code).toBe(status.DEADLINE_EXCEEDED)
  })

  it('limits no call by a less specific name than the most specific one of its service config', async () => {
    const timeouts = new Map<string, string | undefined>()
    const peer = await serve((stream) => {
      timeouts.set(stream.path, stream.field('grpc-timeout'))
      answer(stream, [toFrame('a')])
    })
    const client = toClient(transport, peer, {
      'grpc.service_config': JSON.stringify({
        loadBalancingConfig: [],
        methodConfig: [
          { name: [{}], timeout: '3600s' },
          { name: [{ service: 'a.B', method: 'Long' }, { service: 'a.Long' }] },
          { name: [{ service: 'a.Long', method: 'Short' }], timeout: '7200s' },
        ],
      }),
    })
    for (const path of ['/a.B/C', '/a.B/Long', '/a.Long/C', '/a.Long/Short']) await client.unary(path, 'x')
    expect([...timeouts].map(([path, timeout]) => [path, timeout !== undefined])).toEqual([
      ['/a.B/C', true],
      ['/a.B/Long', false],
      ['/a.Long/C', false],
      ['/a.Long/Short', true],
    ])
  })
})

describe.each(OURS)('only of Dodici › $name', (transport) => {
  it('shares one connection between channels of one factory', async () => {
    const peer = await serve((stream) => answer(stream, [toFrame('a')]))
    const factory = transport.toFactory()
    const clients = [1, 2, 3].map(() => new TestClient(transport, toTarget(peer), undefined, {}, factory))
    for (const client of clients) await client.unary('/a.B/C', 'x')
    expect(peer.connections).toHaveLength(1)
    clients[0]?.close()
    await clients[1]?.unary('/a.B/C', 'x')
    expect(peer.connections).toHaveLength(1)
  })

  it('opens a second connection when the first is full', async () => {
    const held: FaultStream[] = []
    const peer = await startPeer({
      settings: { maxConcurrentStreams: 2 },
      onComplete: (stream) => (held.length < 2 ? held.push(stream) : answer(stream, [toFrame('a')])),
    })
    const client = toClient(transport, peer)
    await client.waitForReadyNow()
    void client.unary('/a.B/C', 'x')
    void client.unary('/a.B/C', 'x')
    await expect.poll(() => held.length).toBe(2)
    const { error } = await client.unary('/a.B/C', 'x', undefined, { deadline: Date.now() + 20_000 })
    expect(error).toBe(null)
    expect(peer.connections).toHaveLength(2)
  })

  it('isn’t sent once a watcher of the state has cancelled it', async () => {
    const peer = await serve((stream) => answer(stream, [toFrame('a')]))
    const client = toClient(transport, peer)
    const { call, heard } = begin(client)
    const cancel = () => call.cancelWithStatus(status.CANCELLED, 'enough')
    client.getChannel().watchConnectivityState(State.IDLE, Number.POSITIVE_INFINITY, cancel)
    expect(await heard.ended).toMatchObject({ code: status.CANCELLED, details: 'enough' })
    expect((await client.unary('/a.B/D', 'x')).error).toBe(null)
    expect(peer.requests.map(({ path }) => path)).toEqual(['/a.B/D'])
  })

  it('is INTERNAL when a response ends within a message', async () => {
    const peer = await serve((stream) => answer(stream, [toFrame('whole'), toFrame('cut').subarray(0, 6)]))
    const { status: end, messages } = await collect(toClient(transport, peer).serverStream('/a.B/C', 'x'))
    expect(messages.length).toBeLessThanOrEqual(1)
    expect(end).toMatchObject({ code: status.INTERNAL, details: 'The response ended within a message' })
  })

  it('makes a real channel for what it doesn’t serve', async () => {
    const factory = transport.toFactory()
    const insecure = grpc.credentials.createInsecure()
    const retrying = JSON.stringify({
      loadBalancingConfig: [],
      methodConfig: [
        {
          name: [{ service: 'a.B' }],
          retryPolicy: {
            maxAttempts: 2,
            initialBackoff: '1s',
            maxBackoff: '1s',
            backoffMultiplier: 1,
            retryableStatusCodes: [14],
          },
        },
      ],
    })
    const cases: [string, grpc.ChannelOptions, boolean][] = [
      ['localhost:1', {}, false],
      ['dns:///localhost:1', {}, false],
      ['unix:/tmp/x', {}, false],
      ['ipv4:127.0.0.1:1,127.0.0.1:2', {}, false],
      ['ipv6:[::1]:1', {}, false],
      ['dns://8.8.8.8/localhost:1', {}, true],
      ['localhost:1', { 'grpc.service_config': retrying }, true],
      ['localhost:1', { 'grpc.service_config': retrying, 'grpc.enable_retries': 0 }, false],
      ...[
        ['round_robin', {}, false] as const,
        ['pick_first', {}, false] as const,
        ['pick_first', { shuffleAddressList: true }, true] as const,
        ['outlier_detection', { childPolicy: [{ round_robin: {} }] }, true] as const,
      ].map(([name, config, isReal]): [string, grpc.ChannelOptions, boolean] => [
        'localhost:1',
        { 'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ [name]: config }] }) },
        isReal,
      ]),
    ]
    for (const [target, options, isReal] of cases) {
      const channel = factory?.(target, insecure, options)
      expect([target, channel instanceof grpc.Channel]).toEqual([target, isReal])
      channel?.close()
    }
    expect(() => factory?.(1 as never, insecure, {})).toThrow('Channel target must be a string')
    expect(() => factory?.('localhost:1', {} as never, {})).toThrow('ChannelCredentials')
  })
})
