import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { LookupFunction } from 'node:net'
import { text } from 'node:stream/consumers'
import { createSecureContext } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Pool } from '../../src/index.ts'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import type { DodiciChannels } from '../../types/index.ts'
import { askAgent, toAgent } from '../support/clients/agents.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { startNames, toNamesCertificate, toNamesLookup } from '../support/servers/shared-names.ts'
import { ask, dispatch, HERE, NAMES, nextTurn, toRig } from './coalescing-rig.ts'

const [A, B] = ['a.shared.test', 'b.shared.test']

/** The names of the origins that each session of an origin serves. */
function toServed(harness: Harness | undefined): string[][] {
  const sessions = harness?.scheduler.toSessionStats() ?? []
  return sessions.map(({ origins }) => origins.map((origin) => new URL(origin).hostname))
}

/** Calls back for what happens on a channel, until the test ends. */
function listenTo<K extends keyof DodiciChannels>(
  channel: K,
  onMessage: (told: DodiciChannels[K]) => void,
): void {
  const listen = (message: unknown): void => onMessage(message as DodiciChannels[K])
  subscribe(channel, listen)
  onTestFinished(() => void unsubscribe(channel, listen))
}

describe.each(ENGINES)("the caller's code within a search for a session, on engine %s", (engine) => {
  it.each([
    false,
    true,
  ])('checkServerIdentity that destroys the searching origin joins nothing: skipDns %s', async (skipDns) => {
    const checkServerIdentity = (host: string): undefined => {
      if (host === B) void b?.scheduler.destroy(null)
    }
    const rules = { origins: 'both', skipDns } as const
    const origins = skipDns ? NAMES : null
    const { server, harnesses } = await toRig(
      engine,
      { connect: { checkServerIdentity } },
      { origins },
      undefined,
      rules,
    )
    const [a, b] = harnesses
    await ask(a)
    const call = await ask(b)
    await nextTurn()
    expect(call.error).toMatchObject({ code: 'UND_ERR_DESTROYED' })
    expect(toServed(a)).toEqual([[A]])
    expect(b?.events).toEqual([])
    expect(server.sessions).toHaveLength(1)
  })

  it('checkServerIdentity that ends the session leads to a connection for its own origin', async () => {
    const checkServerIdentity = (host: string): undefined => {
      if (host === B && server.sessions.length === 1) void a?.scheduler.destroy(null)
    }
    const { server, harnesses } = await toRig(engine, { connect: { checkServerIdentity } })
    const [a, b] = harnesses
    await ask(a)
    expect((await ask(b)).text).toBe(`${B}:${server.port}`)
    expect(server.seen.map(({ connection }) => connection)).toEqual([0, 1])
  })

  it.each([
    { skipDns: false, throws: false },
    { skipDns: true, throws: false },
    { skipDns: false, throws: true },
  ])('secureContext that destroys the searching origin connects nothing: %o', async ({ skipDns, throws }) => {
    const { cert } = await toNamesCertificate(NAMES)
    const secureContext = () => {
      void a?.scheduler.destroy(null)
      if (throws) throw new Error('no')
      return createSecureContext({ ca: cert })
    }
    const rules = { origins: 'both', skipDns } as const
    const { server, harnesses } = await toRig(engine, { connect: { secureContext } }, {}, undefined, rules)
    let connections = 0
    server.server.on('connection', () => connections++)
    const [a] = harnesses
    const call = await ask(a)
    await nextTurn()
    expect(call.error).toMatchObject({ code: 'UND_ERR_DESTROYED' })
    expect([connections, server.lookup.asked]).toEqual([0, []])
    expect(toServed(a)).toEqual([])
  })

  it('a lookup function that calls back and throws fails the call, whatever is being opened', async () => {
    const good = toNamesLookup(HERE)
    const lookup: LookupFunction = (hostname, options, callback) => {
      good(hostname, options, callback)
      if (hostname === B) throw new Error('no look-up')
    }
    const { server, harnesses } = await toRig(engine, { connect: { lookup } }, { stalled: [A] })
    const [a, b] = harnesses
    const first = dispatch(a, '/')
    await expect.poll(() => good.asked).toEqual([A])
    await nextTurn()
    const second = await ask(b)
    expect(second.error).toMatchObject({ message: expect.stringContaining('no look-up') })
    server.resume()
    await first.settled
    expect(first.statuses).toEqual([200])
  })

  it('a subscriber that is told of the join, and destroys the origin: it never connects, nor disconnects', async () => {
    const { server, harnesses } = await toRig(engine)
    const [a, b] = harnesses
    listenTo('dodici:session:coalesced', () => void b?.scheduler.destroy(null))
    await ask(a)
    const call = await ask(b)
    expect(call.error).toMatchObject({ code: 'UND_ERR_DESTROYED' })
    await expect.poll(() => toServed(a)).toEqual([[A]])
    expect(b?.events).toEqual([])
    expect((await ask(a)).statuses).toEqual([200])
    expect(server.sessions).toHaveLength(1)
  })

  it('a subscriber that destroys both ends the session at once', async () => {
    const { server, harnesses } = await toRig(engine)
    const [a, b] = harnesses
    let gone: Promise<unknown> | null = null
    listenTo('dodici:session:coalesced', () => {
      gone = Promise.all([a?.scheduler.destroy(null), b?.scheduler.destroy(null)])
    })
    await ask(a)
    await ask(b)
    await gone
    await expect.poll(() => server.sessions[0]?.destroyed).toBe(true)
    expect([a?.connections, b?.connections]).toEqual([['connect', 'disconnect'], []])
  })
})

describe.each(ENGINES)('a look-up that takes long, on engine %s', (engine) => {
  /** @returns what lets the look-up of {@link B} end */
  function toSlowLookup() {
    const good = toNamesLookup(HERE)
    const waiting: (() => void)[] = []
    const lookup: LookupFunction = (hostname, options, callback) => {
      const goOn = (): void => good(hostname, options, callback)
      if (hostname === B) waiting.push(goOn)
      else goOn()
    }
    return { lookup, waiting }
  }

  it.each([
    { what: 'the session is gone', isDestroyed: false, connections: 2 },
    { what: 'its origin was destroyed', isDestroyed: true, connections: 1 },
  ])('ends when $what', async ({ isDestroyed, connections }) => {
    const { lookup, waiting } = toSlowLookup()
    const { server, harnesses } = await toRig(engine, { connect: { lookup } })
    const [a, b] = harnesses
    await ask(a)
    const call = dispatch(b, '/')
    await expect.poll(() => waiting.length).toBe(1)
    server.sessions[0]?.destroy()
    await expect.poll(() => toServed(a)).toEqual([])
    if (isDestroyed) await b?.scheduler.destroy(null)
    for (const goOn of waiting) goOn()
    await call.settled
    await nextTurn()
    await nextTurn()
    expect(call.statuses).toEqual(isDestroyed ? [] : [200])
    expect(server.sessions).toHaveLength(connections)
  })

  it('joins a session that was opened meanwhile', async () => {
    const { lookup, waiting } = toSlowLookup()
    const { server, harnesses } = await toRig(engine, { connect: { lookup } })
    const [a, b] = harnesses
    const call = dispatch(b, '/')
    await expect.poll(() => waiting.length).toBe(1)
    await ask(a)
    for (const goOn of waiting) goOn()
    await call.settled
    expect(call.statuses).toEqual([200])
    expect(server.sessions).toHaveLength(1)
  })
})

describe.each(ENGINES)('the end of origins that share a session, on engine %s', (engine) => {
  it.each([
    'idle',
    'busy',
  ])('destroy() of an Agent settles when the connection is gone: %s', async (state) => {
    const sockets = new Set<unknown>()
    listenTo('dodici:session:ready', ({ socket }) => sockets.add(socket))
    const server = await startNames({ names: NAMES })
    const lookup = toNamesLookup(HERE)
    const agent = toAgent({ coalesce: true, engine, connect: { ca: server.ca, lookup } })
    for (const name of NAMES) await askAgent(agent, server.toOrigin(name))
    const calls = (state === 'busy' ? NAMES : []).map((name) =>
      agent.request({ origin: server.toOrigin(name), path: '/held', method: 'GET' }),
    )
    const failed = Promise.allSettled(calls)
    await expect.poll(() => server.held.length).toBe(calls.length)
    await agent.destroy()
    expect([...sockets]).toEqual([expect.objectContaining({ destroyed: true })])
    for (const outcome of await failed)
      expect(outcome).toMatchObject({ reason: { code: 'UND_ERR_DESTROYED' } })
  })

  it.each([
    { order: 'destroyed, then closed', isFirst: true },
    { order: 'closed, then destroyed', isFirst: false },
  ])('close() of one waits for its tunnel, whenever the other one is destroyed: $order', async ({
    isFirst,
  }) => {
    const server = await startNames({ names: NAMES })
    const lookup = toNamesLookup(HERE)
    const agent = toAgent({ coalesce: true, engine, connect: { ca: server.ca, lookup } })
    const pools: Pool[] = []
    agent.on('connect', (_origin, targets) => pools.push(targets[1] as Pool))
    await askAgent(agent, server.toOrigin(A))
    await askAgent(agent, server.toOrigin(B))
    const opened = agent.connect({ origin: server.toOrigin(B), path: 'held.test:1' })
    await expect.poll(() => server.held.length).toBe(1)
    server.held[0]?.respond({ ':status': 200 })
    const { socket } = await opened
    const [first, second] = pools
    const destroyed = isFirst ? first?.destroy() : null
    const closed = second?.close()
    await (destroyed ?? first?.destroy())
    server.held[0]?.end('late')
    expect(await text(socket)).toBe('late')
    socket.end()
    await closed
    await expect.poll(() => server.sessions[0]?.destroyed).toBe(true)
    expect(server.sessions).toHaveLength(1)
  })

  it('one that is destroyed as its call waits for the connection of another one leaves nothing', async () => {
    const { server, harnesses } = await toRig(engine, {}, { stalled: [A] })
    const [a, b, c] = harnesses
    const first = dispatch(a, '/')
    await expect.poll(() => server.lookup.asked).toEqual([A])
    const second = dispatch(b, '/')
    const third = dispatch(c, '/')
    await expect.poll(() => server.lookup.asked).toHaveLength(3)
    await nextTurn()
    await b?.scheduler.destroy(null)
    await second.settled
    expect(second.error).toMatchObject({ code: 'UND_ERR_DESTROYED' })
    server.resume()
    await Promise.all([first.settled, third.settled])
    expect(toServed(a)).toEqual([[A, 'c.shared.test']])
    expect(server.sessions).toHaveLength(1)
  })

  it('the one that connects is destroyed as others wait: they connect by one connection of their own', async () => {
    const { server, harnesses } = await toRig(engine, {}, { stalled: [A] })
    const [a, b, c] = harnesses
    const first = dispatch(a, '/')
    await expect.poll(() => server.lookup.asked).toEqual([A])
    const others = [dispatch(b, '/'), dispatch(c, '/')]
    await expect.poll(() => server.lookup.asked).toHaveLength(3)
    await nextTurn()
    await a?.scheduler.destroy(null)
    await Promise.all([first, ...others].map(({ settled }) => settled))
    expect(first.error).toMatchObject({ code: 'UND_ERR_DESTROYED' })
    expect(others.map(({ statuses }) => statuses)).toEqual([[200], [200]])
    expect(server.sessions.length).toBeLessThanOrEqual(2)
  })
})

describe.each(
  ENGINES,
)('the first request of an origin on a session of another one, on engine %s', (engine) => {
  const misdirect = (stream: FaultStream): void => {
    stream.head(421)
    stream.end('elsewhere')
  }

  it.each<{
    what: string
    respond: (stream: FaultStream, connection: FaultConnection) => void
    connections: readonly number[]
  }>([
    {
      what: '421 and GOAWAY',
      respond: (stream, connection) => {
        misdirect(stream)
        connection.goAway()
      },
      connections: [0, 0, 1, 1],
    },
    {
      what: 'GOAWAY and 421',
      respond: (stream, connection) => {
        connection.goAway()
        misdirect(stream)
      },
      connections: [0, 0, 1, 1],
    },
    {
      what: 'a GOAWAY that leaves it out',
      respond: (_, connection) => connection.goAway({ lastStreamId: 1 }),
      connections: [0, 0, 1, 1],
    },
    {
      what: 'REFUSED_STREAM',
      respond: (stream) => stream.reset('REFUSED_STREAM'),
      connections: [0, 0, 0, 0],
    },
  ])('is sent again after $what in one read, and the other one goes on', async ({ respond, connections }) => {
    const { key, cert } = await toNamesCertificate(NAMES)
    const taken: number[] = []
    const script: ConnectionScript = {
      onComplete: (stream, connection) => {
        taken.push(connection.index)
        if (taken.length === 2) connection.inOneSegment(() => respond(stream, connection))
        else stream.respond({ body: stream.field(':authority') ?? '' })
      },
    }
    const peer = await startPeer(script, { key, cert })
    const { port } = new URL(peer.origin)
    const agent = toAgent({ coalesce: true, engine, connect: { ca: cert, lookup: toNamesLookup(HERE) } })
    for (const name of [A, B, A])
      expect(await askAgent(agent, `https://${name}:${port}`)).toBe(`${name}:${port}`)
    expect(taken).toEqual(connections)
  })
})
