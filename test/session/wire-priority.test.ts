import { describe, expect, it } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import { Setting, Type, toContent } from '../../src/testing/frames.ts'
import type { DispatchController, DispatchOptions, EngineName, RequestPriority } from '../../types/index.ts'
import { UNDICIS } from '../interop/interceptors-undicis.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { ask, SERVE, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

/** RFC 9218 §7.1. */
const PRIORITY_UPDATE = 0x10
const EXTENDED_CONNECT: ConnectionScript = { settings: [[Setting.ENABLE_CONNECT_PROTOCOL, 1]] }

const COMBINATIONS: readonly { priority: RequestPriority | null; field: string | null }[] = [
  { priority: { urgency: 0 }, field: 'u=0' },
  { priority: { urgency: 7, incremental: false }, field: 'u=7' },
  { priority: { urgency: 1, incremental: true }, field: 'u=1, i' },
  { priority: { incremental: true }, field: 'i' },
  { priority: {}, field: null },
  { priority: null, field: null },
]

/** As JavaScript may call it. */
function reprioritize({ controller }: Recorder, priority: unknown): void {
  if (controller?.reprioritize === undefined) throw new Error('There is no such method')
  Reflect.apply(controller.reprioritize, controller, [priority])
}

function startClient(origin: string, engine: EngineName): Client {
  const client = destroyWithTest(new Client(origin, { engine }))
  return client
}

/** What came: `1: u=0` is a new priority for stream 1. The frame itself is of the connection, and has no flags. */
function toUpdates(connection: FaultConnection): string[] {
  return connection.of(PRIORITY_UPDATE).map(({ streamId, flags, payload }) => {
    expect([streamId, flags]).toEqual([0, 0])
    return `${payload.readUInt32BE(0)}: ${payload.toString('latin1', 4)}`
  })
}

/** The values of a field, stream by stream. */
function toFields(connection: FaultConnection, wanted = 'priority'): string[][] {
  return connection.streams.map(({ fields }) =>
    fields.filter(([name]) => name === wanted).map(([, value]) => value),
  )
}

describe.each(ENGINES)('a request with a priority, on engine %s,', (engine) => {
  const options = { engine, connections: 1 } as const

  it.each(COMBINATIONS)('that is $priority says $field in its header', async ({ priority, field }) => {
    const peer = await startPeer(SERVE)
    expect(await toOutcomes([ask(startHarness(peer, options), 'GET /', { priority })])).toEqual(['GET /'])
    expect(toFields(peer.connection(0))).toEqual([field === null ? [] : [field]])
    expect(peer.connection(0).of(PRIORITY_UPDATE)).toEqual([])
  })

  it('and a field of its own sends that one, as it is', async () => {
    const peer = await startPeer(SERVE)
    const headers = { Priority: 'u=5;x' }
    const call = ask(startHarness(peer, options), 'GET /', { headers, priority: { urgency: 0 } })
    expect(await toOutcomes([call])).toEqual(['GET /'])
    expect(toFields(peer.connection(0))).toEqual([['u=5;x']])
  })

  describe('when it is changed', () => {
    it.each<[RequestPriority, string[]]>([
      [{ urgency: 0, incremental: true }, ['u=0, i']],
      [{ incremental: true }, ['i']],
      [{}, []],
    ])('before there is a stream: the header says %j', async (priority, field) => {
      const peer = await startPeer(SERVE)
      const harness = startHarness(peer, options)
      const calls = [
        ask(harness, 'GET /option', { priority: { urgency: 6 } }),
        ask(harness, 'GET /field', { headers: ['priority', 'u=5', 'priority', 'u=4'] }),
        ask(harness, 'GET /none'),
      ]
      for (const call of calls) reprioritize(call, { urgency: 2 })
      for (const call of calls) reprioritize(call, priority)
      expect(await toOutcomes(calls)).toEqual(['GET /option', 'GET /field', 'GET /none'])
      expect(toFields(peer.connection(0))).toEqual([field, field, field])
      expect(toUpdates(peer.connection(0))).toEqual([])
    })

    it('and it is sent again: the header of the next attempt says it, and what is sensitive stays so', async () => {
      const peer = await startPeer([{}, SERVE])
      const harness = startHarness(peer, options)
      const request = { headers: { 'x-key': 'secret' }, sensitiveHeaders: ['x-key'] }
      const calls = [
        ask(harness, 'GET /a', { ...request, priority: { urgency: 6 } }),
        ask(harness, 'POST /b', request),
      ]
      await peer.waitFor(() => peer.requests.filter(({ isComplete }) => isComplete).length === calls.length)
      for (const call of calls) reprioritize(call, { urgency: 1 })
      await peer.connection(0).ping()
      peer.connection(0).goAway({ lastStreamId: 0, code: 0 })
      expect(await toOutcomes(calls)).toEqual(['GET /a', 'POST /b'])
      expect(toFields(peer.connection(0))).toEqual([['u=6'], []])
      expect(toFields(peer.connection(1))).toEqual([['u=1'], ['u=1']])
      // Over node:http2 there is no such frame.
      expect(toUpdates(peer.connection(0))).toEqual(engine === 'wire' ? ['1: u=1', '3: u=1'] : [])
      expect(toUpdates(peer.connection(1))).toEqual([])
      for (const connection of peer.connections)
        expect(toForms(connection, 'x-key')).toEqual([['never indexed'], ['never indexed']])
    })

    it('to what is none, it throws, and the call goes on as it was', async () => {
      const peer = await startPeer({})
      const call = ask(startHarness(peer, options), 'GET /', { priority: { urgency: 6 } })
      await peer.waitFor(() => peer.requests.length === 1)
      for (const priority of [{ urgency: -1 }, { incremental: 1 }, 'u=1', null, undefined])
        expect(() => reprioritize(call, priority)).toThrow(errors.InvalidArgumentError)
      await peer.connection(0).ping()
      peer.requests[0]?.respond('fine')
      expect(await toOutcomes([call])).toEqual(['fine'])
      expect(toUpdates(peer.connection(0))).toEqual([])
    })
  })
})

describe('a request whose priority changes while it is under way', () => {
  describe('on engine wire', () => {
    const options = { engine: 'wire', connections: 1 } as const

    it('tells the peer each time, by a frame of the connection', async () => {
      const peer = await startPeer({})
      const harness = startHarness(peer, options)
      const calls = ['GET /a', 'GET /b', 'GET /c'].map((what) => ask(harness, what))
      await peer.waitFor(() => peer.requests.length === calls.length)
      const changes: readonly (readonly [call: number, priority: RequestPriority])[] = [
        [1, { urgency: 0 }],
        [0, { urgency: 7, incremental: true }],
        [1, { incremental: true }],
        [1, {}],
        [1, {}],
      ]
      for (const [index, priority] of changes) reprioritize(calls[index] as Recorder, priority)
      await peer.connection(0).ping()
      expect(toUpdates(peer.connection(0))).toEqual(['3: u=0', '1: u=7, i', '3: i', '3: ', '3: '])
      for (const stream of peer.requests) stream.respond()
      expect(await toOutcomes(calls)).toEqual(['GET /a', 'GET /b', 'GET /c'])
    })

    it('tells it behind the header, where both go out together', async () => {
      const peer = await startPeer(SERVE)
      const harness = startHarness(peer, options)
      expect(await toOutcomes([ask(harness, 'GET /first')])).toEqual(['GET /first'])
      const recorder = new Recorder()
      const call = harness.dispatch({ path: '/second', method: 'GET' }, recorder)
      reprioritize(call, { urgency: 1 })
      expect(await toOutcomes([call])).toEqual(['GET /second'])
      expect(toUpdates(peer.connection(0))).toEqual(['3: u=1'])
      expect(toFields(peer.connection(0))).toEqual([[], []])
      const types = peer.connection(0).frames.map(({ type }) => type)
      expect(types.lastIndexOf(Type.HEADERS)).toBeLessThan(types.indexOf(PRIORITY_UPDATE))
    })

    it('tells it from within its handler while the stream is open, and not of the last piece', async () => {
      const peer = await startPeer({})
      const recorder = new Recorder()
      const onResponseData = recorder.onResponseData.bind(recorder)
      recorder.onResponseData = (controller: DispatchController, chunk: Buffer) => {
        onResponseData(controller, chunk)
        controller.reprioritize?.({ urgency: recorder.chunks.length })
      }
      startHarness(peer, options).dispatch({}, recorder)
      await peer.waitFor(() => peer.requests.length === 1)
      peer.request('/').head(200)
      for (const [i, text] of ['one, ', 'two, '].entries()) {
        peer.request('/').data(text)
        await peer.waitFor(() => toUpdates(peer.connection(0)).length === i + 1)
      }
      peer.request('/').end('three')
      expect(await toOutcomes([recorder])).toEqual(['one, two, three'])
      await peer.connection(0).ping()
      expect(toUpdates(peer.connection(0))).toEqual(['1: u=1', '1: u=2'])
    })

    it('says nothing once it has settled, by a response, an abort, or a tunnel', async () => {
      const peer = await startPeer(EXTENDED_CONNECT)
      const harness = startHarness(peer, options)
      const tunnel = Object.assign(new Recorder(), { onRequestUpgrade: () => tunnel.events.push('upgrade') })
      const calls = [ask(harness, 'GET /answered'), ask(harness, 'GET /aborted')]
      harness.dispatch({ path: '/tunnel', upgrade: 'websocket' }, tunnel)
      await peer.waitFor(() => peer.requests.length === 3)
      peer.request('/answered').respond()
      peer.request('/tunnel').head(200)
      calls[1]?.controller?.abort()
      for (const call of [...calls, tunnel]) {
        await (call === tunnel ? expect.poll(() => tunnel.events).toContain('upgrade') : call.settled)
        reprioritize(call, { urgency: 1 })
        reprioritize(call, {})
        expect(() => reprioritize(call, { urgency: 9 })).toThrow(errors.InvalidArgumentError)
      }
      await peer.connection(0).ping()
      expect(toUpdates(peer.connection(0))).toEqual([])
      tunnel.controller?.abort()
    })

    it('says nothing on a stream that was refused: the next one is told of by its header, and by frames of its own', async () => {
      const peer = await startPeer({})
      const call = ask(startHarness(peer, options), 'GET /')
      await peer.waitFor(() => peer.requests.length === 1)
      reprioritize(call, { urgency: 1 })
      await peer.connection(0).ping()
      peer.requests[0]?.reset(REFUSED_STREAM)
      await peer.waitFor(() => peer.requests.length === 2)
      reprioritize(call, { urgency: 2 })
      await peer.connection(0).ping()
      peer.requests[1]?.respond('at last')
      expect(await toOutcomes([call])).toEqual(['at last'])
      expect(toFields(peer.connection(0))).toEqual([[], ['u=1']])
      expect(toUpdates(peer.connection(0))).toEqual(['1: u=1', '3: u=2'])
    })
  })

  it.each(
    UNDICIS,
  )("needs a controller of ours: the redirect of $name hands it on, its retry doesn't", async (undici) => {
    const peer = await startPeer({})
    const client = startClient(peer.origin, 'wire')
    const request = { origin: peer.origin, path: '/', method: 'GET', priority: { urgency: 6 } }
    const [ours, theirs] = [new Recorder(), new Recorder()]
    client.compose(undici.interceptors.redirect()).dispatch(request, ours)
    client.compose(undici.interceptors.retry()).dispatch(request, theirs)
    await peer.waitFor(() => peer.requests.length === 2)
    reprioritize(ours, { urgency: 1 })
    expect(theirs.controller?.reprioritize).toBeUndefined()
    await peer.connection(0).ping()
    for (const stream of peer.requests) stream.respond()
    expect(await toOutcomes([ours, theirs])).toEqual(['GET /', 'GET /'])
    expect(toFields(peer.connection(0))).toEqual([['u=6'], ['u=6']])
    expect(toUpdates(peer.connection(0))).toEqual(['1: u=1'])
  })
})

/** How a field is represented in a header block. */
type Form = 'indexed' | 'put into the table' | 'not indexed' | 'never indexed'

/** RFC 7541 §6: what the first octet tells, the prefix of its integer, and its pattern. Null for what is no field. */
const FORMS: readonly [FormPattern, ...FormPattern[]] = [
  ['indexed', 0x7f, 0x80, 0x80],
  ['put into the table', 0x3f, 0x40, 0xc0],
  [null, 0x1f, 0x20, 0xe0],
  ['never indexed', 0x0f, 0x10, 0xf0],
  ['not indexed', 0x0f, 0x00, 0xf0],
]
type FormPattern = readonly [form: Form | null, prefix: number, pattern: number, mask: number]

/** Walks over a header block, and tells the fields apart by what they begin with. */
function toBlockForms(block: Buffer): Form[] {
  const forms: Form[] = []
  let at = 0
  /** RFC 7541 §5.1. */
  const take = (prefix: number): number => {
    let value = block.readUInt8(at++) & prefix
    if (value < prefix) return value
    for (let shift = 0; ; shift += 7) {
      const octet = block.readUInt8(at++)
      value += (octet & 0x7f) << shift
      if (octet < 0x80) return value
    }
  }
  while (at < block.length) {
    const first = block.readUInt8(at)
    const [form, prefix] = FORMS.find(([, , pattern, mask]) => (first & mask) === pattern) ?? FORMS[0]
    const literals = take(prefix) === 0 ? 2 : 1
    if (form !== null) forms.push(form)
    if (form === null || form === 'indexed') continue
    for (let i = 0; i < literals; i++) {
      const length = take(0x7f)
      at += length
    }
  }
  return forms
}

/** How the fields of a name were sent, request by request. */
function toForms(connection: FaultConnection, wanted: string): Form[][] {
  return connection.of(Type.HEADERS).map((frame, index) => {
    const fields = connection.streams[index]?.fields ?? []
    const forms = toBlockForms(toContent(frame))
    expect(forms).toHaveLength(fields.length)
    return forms.filter((_form, i) => fields[i]?.[0] === wanted)
  })
}

describe.each(ENGINES)('a request with sensitive headers, on engine %s,', (engine) => {
  const options = { engine, connections: 1 } as const

  /** One at a time; all of them get their responses. */
  async function send(...requests: readonly Partial<DispatchOptions>[]): Promise<FaultConnection> {
    const peer = await startPeer(SERVE)
    const harness = startHarness(peer, options)
    for (const request of requests)
      expect(await toOutcomes([ask(harness, 'GET /', request)])).toEqual(['GET /'])
    return peer.connection(0)
  }

  it('sends them never-indexed, each time, and others as ever', async () => {
    const headers = { 'X-Key': ['secret', 'other'], 'x-open': 'value' }
    const request = { headers, sensitiveHeaders: ['x-KEY', 'x-absent'] }
    const connection = await send(request, request)
    const never: Form[] = ['never indexed', 'never indexed']
    expect(toForms(connection, 'x-key')).toEqual([never, never])
    expect(toForms(connection, 'x-open')).toEqual([['put into the table'], ['indexed']])
  })

  it('does so although the field is in the table already, and has a name of the static one', async () => {
    const headers = { 'x-key': 'secret', from: 'me' }
    const connection = await send({ headers }, { headers, sensitiveHeaders: ['x-key', 'from'] }, { headers })
    for (const name of ['x-key', 'from'])
      expect(toForms(connection, name)).toEqual([['put into the table'], ['never indexed'], ['indexed']])
  })

  it('need not name what is a secret anyway, and may', async () => {
    // nghttp2 knows fewer of them than the engine of our own.
    const short = { authorization: 'Basic abc', cookie: 'a=1' }
    const all = { authorization: 'a', cookie: 'a='.padEnd(64, '1'), 'proxy-authorization': 'b' }
    const headers = engine === 'wire' ? all : short
    const named = { headers: all, sensitiveHeaders: Object.keys(all) }
    const connection = await send({ headers }, named, { headers })
    for (const [name, value] of Object.entries(all)) {
      const never: Form[] = Array(name in headers ? 3 : 1).fill('never indexed')
      expect(toForms(connection, name).flat()).toEqual(never)
      expect(toFields(connection, name)[1]).toEqual([value])
    }
  })
})
