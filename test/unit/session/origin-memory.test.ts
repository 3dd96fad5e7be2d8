import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { MAX_AGES, OriginMemory } from '../../../src/session/origin-memory.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'

type What = keyof typeof MAX_AGES

const page = readFileSync(new URL('../../../docs/connections.md', import.meta.url), 'utf8')

/** How each thing is learned, and what is known then. */
const TAUGHT: Readonly<Record<What, readonly [teach: (memory: OriginMemory) => void, known: unknown]>> = {
  protocol: [(memory) => memory.onHttp1('alpn'), 'http/1.1'],
  streamLimit: [(memory) => memory.onStreamLimit(5), 5],
  tlsTicket: [(memory) => memory.tlsTicket.learn(Buffer.from('t'), undefined), Buffer.from('t')],
  pingFactor: [(memory) => memory.onTooManyPings(), 2],
  isGrpc: [(memory) => memory.onResponse('application/grpc'), true],
  resetBurst: [(memory) => memory.onGoaway(2, 400), 200],
}

/** Getters that follow from the things that are learned. */
const DERIVED = ['http1Reason', 'isPingShy', 'mayChooseHttp2']

const WHATS = Object.keys(MAX_AGES) as What[]

function setUp() {
  const clock = new FakeClock()
  return { clock, memory: new OriginMemory(clock) }
}

/** What is known, as the next session finds it. */
function look(memory: OriginMemory): Record<What, unknown> {
  memory.expire()
  const { protocol, streamLimit, tlsTicket, pingFactor, isGrpc, resetBurst } = memory
  return {
    protocol,
    streamLimit,
    tlsTicket: tlsTicket.get(undefined) ?? null,
    pingFactor,
    isGrpc,
    resetBurst,
  }
}

const NOTHING = look(setUp().memory)

describe('OriginMemory', () => {
  it('knows nothing at first', () => {
    expect(NOTHING).toEqual({
      protocol: 'unknown',
      streamLimit: null,
      tlsTicket: null,
      pingFactor: 1,
      isGrpc: null,
      resetBurst: Number.POSITIVE_INFINITY,
    })
  })

  it('has no getter for something that is learned and has no age', () => {
    const all = Object.entries(Object.getOwnPropertyDescriptors(OriginMemory.prototype))
    const getters = all.flatMap(([name, { get }]) => (get === undefined ? [] : name))
    expect(getters.toSorted()).toEqual([...WHATS, ...DERIVED].toSorted())
  })

  describe.each(WHATS)('%s', (what) => {
    const [teach, known] = TAUGHT[what]

    it('is believed until its age is reached, and forgotten then', () => {
      const { clock, memory } = setUp()
      teach(memory)
      expect(look(memory)).toEqual({ ...NOTHING, [what]: known })
      clock.advance(MAX_AGES[what] - 1)
      expect(look(memory)).toEqual({ ...NOTHING, [what]: known })
      clock.advance(1)
      expect(look(memory)).toEqual(NOTHING)
    })

    it('is as new as when it was last learned', () => {
      const { clock, memory } = setUp()
      teach(memory)
      clock.advance(MAX_AGES[what] - 1)
      // A response in gRPC isn't noted anew before the first one is forgotten: there is no look at the clock for each.
      if (what === 'isGrpc') clock.advance(1)
      look(memory)
      teach(memory)
      clock.advance(MAX_AGES[what] - 1)
      expect(look(memory)[what]).not.toEqual(NOTHING[what])
    })

    it('has its row in docs/connections.md, with its age', () => {
      const rows = page.split('\n').filter((line) => line.startsWith(`| \`${what}\` |`))
      expect(rows).toHaveLength(1)
      expect(rows[0]?.split('|')[3]?.trim()).toBe(MAX_AGES[what].toLocaleString('en-US').replaceAll(',', '_'))
      // Its way out.
      expect(rows[0]?.split('|')[4]?.trim()).not.toBe('')
    })
  })

  it('has no row in docs/connections.md for anything else', () => {
    const table = page.slice(page.indexOf('### What Dodici remembers about an origin'))
    const rows = table.slice(0, table.indexOf('\n\n', table.indexOf('| --- |'))).match(/^\| `\w+` \|/gm)
    expect(rows?.map((row) => row.slice(3, -3))).toEqual(WHATS)
  })

  it('keeps HTTP/1.1 that the caller has chosen', () => {
    const clock = new FakeClock()
    const memory = new OriginMemory(clock, 'http/1.1')
    memory.onHttp2()
    memory.onNoHttp1()
    clock.advance(10 * MAX_AGES.protocol)
    expect(memory.protocol).toBe('http/1.1')
    expect(memory.mayChooseHttp2).toBe(false)
  })

  it('forgets HTTP/1.1 that a connection chose when another one chooses HTTP/2', () => {
    const { memory } = setUp()
    memory.onHttp1('alpn')
    expect(memory.mayChooseHttp2).toBe(true)
    memory.onHttp2()
    expect(memory.protocol).toBe('unknown')
  })

  it('keeps HTTP/1.1 that a server of HTTP/2 requires, until none can be had', () => {
    const { memory } = setUp()
    memory.onHttp1('required')
    memory.onHttp1('alpn')
    memory.onHttp2()
    expect([memory.protocol, memory.mayChooseHttp2]).toEqual(['http/1.1', false])
    memory.onNoHttp1()
    expect(memory.protocol).toBe('unknown')
  })

  it('doubles the factor of the PING interval with each complaint, up to 64', () => {
    const { memory } = setUp()
    const factors = Array.from({ length: 10 }, () => {
      memory.onTooManyPings()
      return memory.pingFactor
    })
    expect(factors).toEqual([2, 4, 8, 16, 32, 64, 64, 64, 64, 64])
  })

  it('remembers that the peer has complained of PINGs', () => {
    const { memory } = setUp()
    expect(memory.isPingShy).toBe(false)
    memory.onTooManyPings()
    expect(memory.isPingShy).toBe(true)
  })

  it('gives a ticket to the identity that has got it alone', () => {
    const { memory } = setUp()
    const secureContext = createSecureContext()
    const { tlsTicket } = memory
    tlsTicket.learn(Buffer.from('t'), secureContext)
    expect(tlsTicket.get(undefined)).toBeUndefined()
    expect(tlsTicket.get(secureContext)).toEqual(Buffer.from('t'))
    tlsTicket.clear()
    expect(tlsTicket.get(secureContext)).toBeUndefined()
  })

  it('knows nothing of gRPC before the first response, and keeps to the first one in gRPC', () => {
    const { memory } = setUp()
    const known = [undefined, 'text/html', 'application/grpc', undefined].map((contentType) => {
      memory.onResponse(contentType)
      return memory.isGrpc
    })
    expect(known).toEqual([false, false, true, true])
  })
})
