import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { AddressInfo, LookupFunction } from 'node:net'
import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Agent, Pool } from '../../src/index.ts'
import { SessionBroker } from '../../src/session/sharing/session-broker.ts'
import { askAgent, toAgent } from '../support/clients/agents.ts'
import { ENGINES, Harness } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { PATIENT } from '../support/peers/peer-rig.ts'
import type { NamesServer } from '../support/servers/shared-names.ts'
import { startNames, toNamesCertificate, toNamesLookup } from '../support/servers/shared-names.ts'
import type { Rig } from './coalescing-rig.ts'
import { ask, dispatch, HERE, NAMES, nextTurn, toRig } from './coalescing-rig.ts'

/**
 * Ten times as slow: on a busy machine the first handshake may take a second, for which the other origins would wait no longer
 * (a test below has that limit, by a clock of its own).
 */
vi.mock('../../src/core/clock.ts', async (load) => {
  const original = await load<typeof import('../../src/core/clock.ts')>()
  const { PacedClock } = await import('../support/clocks/paced-clock.ts')
  return { ...original, systemClock: new PacedClock(original.systemClock, 0.1) }
})

function finish({ held }: NamesServer): void {
  for (const stream of held.splice(0)) {
    stream.respond({ ':status': 200 })
    stream.end('late')
  }
}

/** Why the sessions of each origin take no more calls. */
function toReasons({ harnesses }: Rig) {
  return harnesses.map(({ scheduler }) => scheduler.toSessionStats().map(({ endedFor }) => endedFor))
}

describe.each(ENGINES)('a session of several origins on engine %s', (engine) => {
  it('is replaced for its age for all of them, also for those that came late', async () => {
    const rig = await toRig(engine, { maxSessionAge: 1_000 })
    const { server, clock, harnesses } = rig
    const [a, b] = harnesses
    await ask(a)
    clock.advance(800)
    await ask(b)
    // b's calls go on, so that the session isn't just closed for its idleness.
    const held = dispatch(b, '/held')
    await expect.poll(() => server.held.length).toBe(1)
    clock.advance(201)
    await expect.poll(() => server.sessions.length).toBe(2)
    // Each set opens a successor: that is one connection. b's old share lives until its stream has ended, and a's with it.
    await expect.poll(() => toReasons(rig)).toEqual([['age', null], ['age', null], []])
    await ask(b)
    await ask(a)
    expect(server.sessions).toHaveLength(2)
    expect(server.seen.slice(-2).map(({ connection }) => connection)).toEqual([1, 1])
    finish(server)
    await held.settled
    expect(held.text).toBe('late')
  })

  it.each([
    ['', {}],
    [', once a PING has shown that it is there', { pingInterval: 1_500, pingTimeout: 60_000 }],
  ])('takes over at once from an old one, although it is idle%s', async (_how, options) => {
    const limits = { maxConcurrentStreams: 1 }
    const rig = await toRig(engine, { maxSessionAge: 10_000, ...options }, { settings: limits })
    const { server, clock, harnesses } = rig
    const [a, b] = harnesses
    const held = dispatch(a, '/held')
    await expect.poll(() => server.held.length).toBe(1)
    clock.advance(8_000)
    // a's session is full, so b opens its own.
    await ask(b)
    await nextTurn()
    clock.advance(2_001)
    await expect.poll(() => toReasons(rig)).toEqual([['age', null], [null], []])
    await ask(a)
    expect(server.seen.map(({ connection }) => connection)).toEqual([0, 1, 1])
    finish(server)
    await held.settled
  })

  it('has sessionGracePeriod for the streams of all of them', async () => {
    const { server, clock, harnesses } = await toRig(engine, {
      ...{ maxSessionAge: 1_000, sessionGracePeriod: 5_000, replaySafe: false },
    })
    const [a, b] = harnesses
    await ask(a)
    const held = dispatch(b, '/held')
    await expect.poll(() => server.held.length).toBe(1)
    // a has no stream on it when it is replaced.
    await ask(a)
    clock.advance(1_001)
    await expect.poll(() => server.sessions.length).toBe(2)
    await expect.poll(async () => (await ask(a), server.seen.at(-1)?.connection)).toBe(1)
    clock.advance(5_001)
    await held.settled
    expect(held.error).toMatchObject({
      message: expect.stringContaining('sessionGracePeriod (5000 ms) has passed'),
    })
  })

  it('has maxSessionRequests for all of them together', async () => {
    const { server, harnesses } = await toRig(engine, { maxSessionRequests: 8 })
    for (let i = 0; i < 24; i++) await ask(harnesses[i % 3])
    const counts = server.sessions.map(
      (_, at) => server.seen.filter(({ connection }) => connection === at).length,
    )
    for (const count of counts) expect(count).toBeLessThanOrEqual(8)
    expect(server.sessions.length).toBeLessThanOrEqual(5)
  })

  it('is closed when none of them has used it for keepAliveTimeout', async () => {
    const rig = await toRig(engine, { keepAliveTimeout: 1_000 })
    const { server, clock, harnesses } = rig
    const [a, b] = harnesses
    await ask(a)
    await ask(b)
    clock.advance(900)
    await ask(b)
    clock.advance(900)
    expect(server.sessions[0]?.closed).toBe(false)
    clock.advance(200)
    await expect.poll(() => server.sessions[0]?.destroyed).toBe(true)
    await expect.poll(() => [a, b].map((each) => each?.scheduler.toSessionEnds().idle)).toEqual([1, 1])
    await ask(b)
    await ask(a)
    expect(server.sessions).toHaveLength(2)
  })

  it('takes no further origin once its certificate has expired', async () => {
    let isLate = false
    const certificate = await toNamesCertificate(NAMES, { to: new Date(Date.now() + 3_600_000) })
    const wallClock = (): number => Date.now() + (isLate ? 3_700_000 : 0)
    const { server, harnesses } = await toRig(engine, {}, { certificate }, wallClock)
    const [a, b, c] = harnesses
    await ask(a)
    await ask(b)
    expect(server.sessions).toHaveLength(1)
    isLate = true
    await ask(c)
    await ask(b)
    expect(server.seen.map(({ connection }) => connection)).toEqual([0, 0, 1, 0])
  })

  it('counts connectTimeout once for a look-up that hangs', async () => {
    const lookup: LookupFunction = () => {}
    const { clock, harnesses } = await toRig(engine, { connect: { lookup }, connectTimeout: 1_000 })
    const call = dispatch(harnesses[0], '/')
    clock.advance(1_001)
    await call.settled
    expect(call.error).toMatchObject({ name: 'ConnectTimeoutError' })
  })

  it('to a server that is silent to all of them is given up by each after connectTimeout', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const clock = new FakeClock()
    const broker = new SessionBroker({ origins: 'both', skipDns: false }, clock)
    const connect = { lookup: toNamesLookup(HERE) }
    const calls = NAMES.map((name) => {
      const options = { ...PATIENT, engine, connect, connectTimeout: 1_000 }
      const harness = new Harness(`https://${name}:${port}`, options, clock, broker.toSession)
      onTestFinished(() => harness.scheduler.destroy(null))
      return harness.dispatch()
    })
    onTestFinished(() => void silent.close())
    await once(silent, 'connection')
    clock.advance(1_001)
    await Promise.all(calls.map(({ settled }) => settled))
    expect(calls.map(({ error }) => error.name)).toEqual(Array(3).fill('ConnectTimeoutError'))
  })

  it.each([
    { connectTimeout: 2_000, patience: 500 },
    { connectTimeout: 10_000, patience: 1_000 },
    { connectTimeout: 0, patience: 1_000 },
  ])('whose handshake stalls holds the others up for $patience ms of $connectTimeout', async (times) => {
    const { connectTimeout, patience } = times
    const rig = await toRig(engine, { connectTimeout }, { stalled: ['a.shared.test'] })
    const { server, clock, harnesses } = rig
    const [a, b, c] = harnesses
    let connections = 0
    server.server.on('connection', () => connections++)
    const stalled = dispatch(a, '/')
    await expect.poll(() => connections).toBe(1)
    const second = dispatch(b, '/')
    // They have looked their names up, and wait.
    await expect.poll(() => server.lookup.asked).toEqual(['a.shared.test', 'b.shared.test'])
    await nextTurn()
    clock.advance(patience - 1)
    await nextTurn()
    expect(connections).toBe(1)
    clock.advance(1)
    await second.settled
    expect(second.text).toBe(`b.shared.test:${server.port}`)
    // One that comes later waits no more for it.
    expect((await ask(c)).text).toBe(`c.shared.test:${server.port}`)
    expect(connections).toBe(2)
    expect(stalled.statuses).toEqual([])
  })

  it.each([
    'before',
    'after',
  ])('whose end comes while the next one connects does not fail connectAhead(): called %s it', async (order) => {
    const { server, harnesses } = await toRig(engine)
    const [a, b] = harnesses
    // The session is opened for b: a has no ticket, and so its own handshake can be stalled.
    await ask(b)
    const held = dispatch(a, '/held')
    await expect.poll(() => server.held.length).toBe(1)
    server.stalled.add('a.shared.test')
    server.sessions[0]?.goaway(0, 2 ** 31 - 1)
    await expect.poll(() => a?.scheduler.toSessionStats()[0]?.state).toBe('draining')
    const settled: string[] = []
    const connect = async (): Promise<string> => {
      const result = (await a?.scheduler.connectAhead().catch(({ message }: Error) => message)) ?? ''
      settled.push(result)
      return result
    }
    const first = order === 'before' ? connect() : null
    finish(server)
    await held.settled
    const ahead = first ?? connect()
    server.sessions[0]?.destroy()
    await expect.poll(() => a?.scheduler.toSessionStats().map(({ state }) => state)).toEqual(['connecting'])
    expect(settled).toEqual([])
    server.resume()
    expect(await ahead).toBe('h2')
  })

  it('is left at a 421 with all others that the origin shares', async () => {
    const settings = { maxConcurrentStreams: 2 }
    const { server, harnesses } = await toRig(engine, { connections: 4 }, { settings })
    const [a, b] = harnesses
    await ask(a)
    await ask(b)
    // For each session that it joins, though no connection is made.
    expect(b?.connections).toEqual(['connect'])
    // Two streams fill the first session; so a opens a second one, which b joins as well.
    const held = [dispatch(a, '/held'), dispatch(a, '/held'), dispatch(a, '/held')]
    await expect.poll(() => server.held.length).toBe(3)
    await ask(b)
    expect(server.seen.at(-1)?.connection).toBe(1)
    finish(server)
    await Promise.all(held.map(({ settled }) => settled))
    server.misdirected.add('b.shared.test')
    server.server.once('secureConnection', () => server.misdirected.clear())
    expect((await ask(b)).statuses).toEqual([200])
    expect(server.seen.at(-1)?.connection).toBe(2)
    await ask(b)
    expect(server.seen.at(-1)?.connection).toBe(2)
    await expect.poll(() => b?.scheduler.toSessionEnds().misdirected).toBe(2)
    expect(b?.connections.filter((event) => event === 'disconnect')).toHaveLength(2)
    // The other origin goes on with both.
    expect((await ask(a)).statuses).toEqual([200])
    expect(server.sessions).toHaveLength(3)
  })

  it('is told of on its channel, with the session and the origin', async () => {
    const server = await startNames({ names: NAMES })
    const messages: unknown[] = []
    const listen = (message: unknown): void => void messages.push(message)
    subscribe('dodici:session:coalesced', listen)
    onTestFinished(() => void unsubscribe('dodici:session:coalesced', listen))
    const agent = toAgent({ coalesce: true, engine, connect: { ca: server.ca, lookup: toNamesLookup(HERE) } })
    for (const name of NAMES.slice(0, 2)) await askAgent(agent, server.toOrigin(name))
    const [first = '', second = ''] = NAMES.map(server.toOrigin)
    const session = { id: 1, origin: first, openedFor: 'cold', protocol: 'h2' }
    expect(messages).toEqual([{ session, origin: second, sessionId: 1 }])
  })

  it('takes no new origin while it is full, and none that is opened for its own', async () => {
    const { server, harnesses } = await toRig(engine, {}, { settings: { maxConcurrentStreams: 1 } })
    const [a, b] = harnesses
    const first = dispatch(a, '/held')
    await expect.poll(() => server.held.length).toBe(1)
    expect((await ask(b)).text).toBe(`b.shared.test:${server.port}`)
    expect(server.seen.map(({ connection }) => connection)).toEqual([0, 1])
    finish(server)
    await first.settled
  })
})

describe('an option coalesce that can have no effect', () => {
  it.each([
    { what: 'a connect function', make: () => new Agent({ coalesce: true, connect: () => {} }) },
    { what: 'socketPath', make: () => new Agent({ coalesce: true, socketPath: '/tmp/none.sock' }) },
    { what: 'the factory', make: () => new Agent({ coalesce: true, factory: () => new Agent() }) },
    {
      what: 'connect.servername',
      make: () => new Agent({ coalesce: true, connect: { servername: 'a.test' } }),
    },
    { what: 'one origin', make: () => new Pool('https://a.test', { ...{ coalesce: true }, connections: 1 }) },
  ])('is warned of, once: $what', async ({ what, make }) => {
    const texts: string[] = []
    const listen = ({ message }: Error): void => void texts.push(message)
    process.on('warning', listen)
    onTestFinished(() => void process.off('warning', listen))
    await make().close()
    await make().close()
    await new Promise((resolve) => setImmediate(resolve))
    expect(texts).toEqual([expect.stringMatching(/^The Agent option coalesce has no effect: /)])
    expect(texts[0]).toContain(what)
  })
})
