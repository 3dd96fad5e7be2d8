import type { LookupAddress } from 'node:dns'
import { describe, expect, it } from 'vitest'
import { dns } from '../../src/index.ts'
import type { DnsOptions, UpstreamAnswer, UpstreamInit, UpstreamResolverContext } from '../../types/index.ts'
import type { RecordData, RecordType } from '../support/servers/dns-server.ts'
import { DnsServer } from '../support/servers/dns-server.ts'

const ORIGIN = 'https://api.test:8443'

/** One question to `dns()`, and what came of it. */
async function ask(
  options: DnsOptions,
  given: Partial<UpstreamResolverContext> = {},
  resolver = dns(ORIGIN, options),
): Promise<{ upstreams: string[]; ttl: number | null | undefined; reports: string[] }> {
  const reports: string[] = []
  const context: UpstreamResolverContext = {
    signal: new AbortController().signal,
    lookup: null,
    family: 0,
    report: (error) => reports.push(toCode(error)),
    ...given,
  }
  const { upstreams, ttl } = (await resolver(context)) as UpstreamAnswer
  return { upstreams: (upstreams as UpstreamInit[]).map(show), ttl, reports }
}

function show({ origin, address, weight, priority }: UpstreamInit): string {
  const rest = priority === undefined ? '' : ` w${weight} p${priority}`
  return `${origin}#${address}${rest}`
}

function toCode(error: unknown): string {
  return String(Reflect.get(Object(error), 'code'))
}

type Answers = Partial<Record<`${RecordType} ${string}`, Parameters<DnsServer['set']>[2]>>

async function start(answers: Answers, ttl = 60): Promise<DnsServer> {
  const server = await DnsServer.start()
  for (const [question, answer] of Object.entries(answers) as [string, Parameters<DnsServer['set']>[2]][]) {
    const [type, name = ''] = question.split(' ')
    server.set(name, type as RecordType, answer, ttl)
  }
  return server
}

function srv(name: string, port: number, weight = 1, priority = 0): RecordData {
  return { name, port, weight, priority }
}

describe('dns() with name servers', () => {
  it('makes an upstream of each address, A and AAAA, by the name', async () => {
    const server = await start({
      'A api.test': ['10.0.0.1', '10.0.0.2'],
      'AAAA api.test': ['fd00::1', '::1'],
    })
    const { upstreams, ttl } = await ask({ servers: [server.address] })
    expect(upstreams).toEqual([
      ...[`${ORIGIN}#10.0.0.1`, `${ORIGIN}#10.0.0.2`, `${ORIGIN}#[fd00::1]`, `${ORIGIN}#[::1]`],
    ])
    expect(ttl).toBe(30_000)
    expect(server.questions.sort()).toEqual(['A api.test', 'AAAA api.test'])
  })

  it.each([
    [7, {}, 7_000],
    [1, {}, 5_000],
    [0, {}, 5_000],
    [3_600, {}, 30_000],
    [3_600, { interval: 60_000 }, 60_000],
    [45, { interval: 60_000 }, 45_000],
    [7, { interval: 6_000 }, 6_000],
  ])('with a TTL of %d s and %j: it holds for %d ms', async (ttl, options, expected) => {
    const server = await start({ 'A api.test': ['10.0.0.1'] }, ttl)
    expect((await ask({ servers: [server.address], ...options })).ttl).toBe(expected)
  })

  it('takes the shortest TTL of all', async () => {
    const server = await start({ 'A api.test': ['10.0.0.1'] }, 20)
    server.set('api.test', 'AAAA', ['fd00::1'], 10)
    expect((await ask({ servers: [server.address] })).ttl).toBe(10_000)
  })

  it('asks again over TCP when an answer is truncated', async () => {
    const server = await start({})
    const many = Array.from({ length: 200 }, (_, index) => `10.0.1.${index}`)
    server.set('api.test', 'A', many, 60, true)
    const { upstreams } = await ask({ servers: [server.address], family: 4 })
    expect(upstreams).toHaveLength(200)
    expect(server.questions).toEqual(['A api.test', 'A api.test (TCP)'])
  })

  it.each([
    [{}, 'ENOTFOUND'],
    [{ 'A api.test': [], 'AAAA api.test': [] }, 'ENODATA'],
    [{ 'A api.test': 'SERVFAIL', 'AAAA api.test': 'SERVFAIL' }, 'ESERVFAIL'],
    [{ 'A api.test': 'REFUSED', 'AAAA api.test': 'REFUSED' }, 'EREFUSED'],
    [{ 'A api.test': 'drop', 'AAAA api.test': 'drop' }, 'ETIMEOUT'],
    [{ 'A api.test': [], 'AAAA api.test': 'SERVFAIL' }, 'ESERVFAIL'],
    [{ 'A api.test': 'SERVFAIL', 'AAAA api.test': 'NXDOMAIN' }, 'ESERVFAIL'],
  ] satisfies [Answers, string][])('fails when the answers are %j: %s', async (answers, code) => {
    const server = await start(answers)
    const asked = ask({ servers: [server.address], timeout: 50 })
    await expect(asked).rejects.toMatchObject({ code, message: expect.stringContaining('api.test') })
  })

  it('goes on with one family when the other fails, says so, and keeps what the other has said', async () => {
    const server = await start({ 'A api.test': ['10.0.0.1'], 'AAAA api.test': ['fd00::1'] })
    const resolver = dns(ORIGIN, { servers: [server.address] })
    await ask({}, {}, resolver)
    server.set('api.test', 'AAAA', 'SERVFAIL')
    server.set('api.test', 'A', ['10.0.0.2'])
    const { upstreams, reports } = await ask({}, {}, resolver)
    expect(upstreams).toEqual([`${ORIGIN}#10.0.0.2`, `${ORIGIN}#[fd00::1]`])
    expect(reports).toEqual(['ESERVFAIL'])
    // An empty answer isn't a failed one.
    server.set('api.test', 'AAAA', [])
    expect(await ask({}, {}, resolver)).toMatchObject({ upstreams: [`${ORIGIN}#10.0.0.2`], reports: [] })
    server.set('api.test', 'AAAA', 'SERVFAIL')
    expect((await ask({}, {}, resolver)).upstreams).toEqual([`${ORIGIN}#10.0.0.2`])
  })

  it.each([
    [{ family: 4 }, 0, ['A api.test']],
    [{ family: 6 }, 0, ['AAAA api.test']],
    [{}, 4, ['A api.test']],
    [{}, 6, ['AAAA api.test']],
    [{ family: 4 }, 4, ['A api.test']],
  ] as const)('with %j, and family %d of the pool, asks %j', async (options, family, questions) => {
    const server = await start({ 'A api.test': ['10.0.0.1'], 'AAAA api.test': ['fd00::1'] })
    await ask({ servers: [server.address], ...options }, { family })
    expect(server.questions).toEqual(questions)
  })

  it('with a family that the pool can’t use, fails', async () => {
    const asked = ask({ servers: ['127.0.0.1'], family: 6 }, { family: 4 })
    await expect(asked).rejects.toThrow(
      'Invalid dns() family: got 6, expected 4, the only one that connect.family or localAddress allows, or 0',
    )
  })

  it('ends the questions when the signal is aborted, before or after', async () => {
    const server = await start({ 'A api.test': 'hold', 'AAAA api.test': 'hold' })
    const abort = new AbortController()
    const asked = ask({ servers: [server.address], timeout: 60_000 }, { signal: abort.signal })
    await expect.poll(() => server.questions.length).toBe(2)
    abort.abort()
    await expect(asked).rejects.toMatchObject({ code: 'ECANCELLED' })
    const late = ask({ servers: [server.address], timeout: 60_000 }, { signal: abort.signal })
    await expect(late).rejects.toMatchObject({ code: 'ECANCELLED' })
  })

  it('asks no server for an address', async () => {
    const server = await start({})
    const resolver = dns('http://127.0.0.1:80', { servers: [server.address] })
    expect((await ask({}, {}, resolver)).upstreams).toEqual([
      'http://127.0.0.1:80#127.0.0.1'.replace(':80', ''),
    ])
    const six = dns('http://[::1]:81', { servers: [server.address] })
    expect((await ask({}, {}, six)).upstreams).toEqual(['http://[::1]:81#[::1]'])
    expect(server.questions).toEqual([])
  })
})

describe('dns() with srv', () => {
  const NAME = '_https._tcp.api.test'

  it('takes hosts, ports, weights and priorities from there', async () => {
    const server = await start({
      [`SRV ${NAME}`]: [srv('a.test', 1001, 10), srv('b.test', 1002, 30), srv('c.test', 1003, 5, 1)],
      'A a.test': ['10.0.0.1'],
      'A b.test': ['10.0.0.2', '10.0.0.3'],
      'AAAA c.test': ['fd00::1'],
    })
    const { upstreams } = await ask({ srv: NAME, servers: [server.address] })
    expect(upstreams).toEqual([
      `${ORIGIN}#10.0.0.1:1001 w10 p0`,
      // The addresses of a host share its weight.
      `${ORIGIN}#10.0.0.2:1002 w15 p0`,
      `${ORIGIN}#10.0.0.3:1002 w15 p0`,
      `${ORIGIN}#[fd00::1]:1003 w5 p1`,
    ])
  })

  it.each([
    [
      [0, 0],
      [1, 1],
    ],
    [
      [0, 10],
      [0.1, 10],
    ],
  ])('with weights of %j: %j', async ([one = 0, two = 0], expected) => {
    const server = await start({
      [`SRV ${NAME}`]: [srv('a.test', 1, one), srv('b.test', 2, two)],
      'A a.test': ['10.0.0.1'],
      'A b.test': ['10.0.0.2'],
    })
    const { upstreams } = await ask({ srv: NAME, servers: [server.address] })
    expect(upstreams.map((text) => Number(/w([\d.]+)/.exec(text)?.[1])).sort()).toEqual(expected)
  })

  it('with a host on two ports, asks for its addresses once', async () => {
    const server = await start({
      [`SRV ${NAME}`]: [srv('a.test', 1), srv('a.test', 2)],
      'A a.test': ['10.0.0.1'],
    })
    const { upstreams } = await ask({ srv: NAME, servers: [server.address] })
    expect(upstreams).toEqual([`${ORIGIN}#10.0.0.1:1 w1 p0`, `${ORIGIN}#10.0.0.1:2 w1 p0`])
    expect(server.questions.filter((question) => question.endsWith(' a.test'))).toHaveLength(2)
  })

  it('with one host that has no address, goes on with the others, and says so', async () => {
    const server = await start({
      [`SRV ${NAME}`]: [srv('a.test', 1), srv('gone.test', 2)],
      'A a.test': ['10.0.0.1'],
    })
    const { upstreams, reports } = await ask({ srv: NAME, servers: [server.address] })
    expect(upstreams).toEqual([`${ORIGIN}#10.0.0.1:1 w1 p0`])
    expect(reports).toEqual(['ENOTFOUND'])
  })

  it.each([
    'SERVFAIL',
    'drop',
  ] as const)('keeps the addresses of a host whose questions fail: %s', async (trouble) => {
    const server = await start({
      [`SRV ${NAME}`]: [srv('a.test', 1), srv('b.test', 2)],
      'A a.test': ['10.0.0.1'],
      'A b.test': ['10.0.0.2'],
    })
    const resolver = dns(ORIGIN, { srv: NAME, servers: [server.address], timeout: 50 })
    await ask({}, {}, resolver)
    server.set('b.test', 'A', trouble)
    server.set('b.test', 'AAAA', trouble)
    const { upstreams, reports } = await ask({}, {}, resolver)
    expect(upstreams).toEqual([`${ORIGIN}#10.0.0.1:1 w1 p0`, `${ORIGIN}#10.0.0.2:2 w1 p0`])
    expect(reports.length).toBeGreaterThan(0)
    // A host that was gone meanwhile is asked anew.
    server.set(NAME, 'SRV', [srv('a.test', 1)])
    await ask({}, {}, resolver)
    server.set(NAME, 'SRV', [srv('a.test', 1), srv('b.test', 2)])
    expect((await ask({}, {}, resolver)).upstreams).toEqual([`${ORIGIN}#10.0.0.1:1 w1 p0`])
  })

  it('leaves out a record with the port 0, and says so; with no other one, fails', async () => {
    const server = await start({
      [`SRV ${NAME}`]: [srv('a.test', 1), srv('b.test', 0)],
      'A a.test': ['10.0.0.1'],
      'A b.test': ['10.0.0.2'],
    })
    const { upstreams, reports } = await ask({ srv: NAME, servers: [server.address] })
    expect(upstreams).toEqual([`${ORIGIN}#10.0.0.1:1 w1 p0`])
    expect(reports).toHaveLength(1)
    server.set(NAME, 'SRV', [srv('b.test', 0)])
    await expect(ask({ srv: NAME, servers: [server.address] })).rejects.toThrow('has port 0, for b.test')
  })

  it.each([
    [{ [`SRV ${NAME}`]: [srv('.', 0)] }, 'ENODATA', 'the service isn’t available'],
    [{}, 'ENOTFOUND', NAME],
    [{ [`SRV ${NAME}`]: 'SERVFAIL' }, 'ESERVFAIL', NAME],
    [{ [`SRV ${NAME}`]: [] }, 'ENODATA', NAME],
    [{ [`SRV ${NAME}`]: [srv('gone.test', 1)] }, 'ENOTFOUND', 'gone.test'],
  ] satisfies [Answers, string, string][])('fails when there is %j: %s', async (answers, code, text) => {
    const server = await start(answers)
    const asked = ask({ srv: NAME, servers: [server.address] })
    await expect(asked).rejects.toMatchObject({
      code,
      message: expect.stringContaining(text.replace('’', "'")),
    })
  })
})

describe('dns() with the system’s look-up', () => {
  it('finds localhost, for 30 seconds', async () => {
    const { upstreams, ttl } = await ask({}, {}, dns('http://localhost:8080', { family: 4 }))
    expect(upstreams).toEqual(['http://localhost:8080#127.0.0.1'])
    expect(ttl).toBe(30_000)
  })

  it('uses the lookup function of the pool', async () => {
    const asked: unknown[] = []
    const lookup = (
      name: string,
      options: object,
      callback: (error: null, found: LookupAddress[]) => void,
    ) => {
      asked.push([name, options])
      callback(null, [
        { address: '10.0.0.1', family: 4 },
        { address: 'fd00::1', family: 6 },
      ])
    }
    const { upstreams } = await ask({}, { lookup: lookup as never })
    expect(upstreams).toEqual([`${ORIGIN}#10.0.0.1`, `${ORIGIN}#[fd00::1]`])
    expect(asked).toEqual([['api.test', { all: true, family: 0, hints: expect.any(Number) }]])
  })

  it('takes a single address from a function that gives no list', async () => {
    const lookup = (_name: string, _options: object, callback: Callback) => callback(null, 'fd00::1', 6)
    expect((await ask({}, { lookup: lookup as never })).upstreams).toEqual([`${ORIGIN}#[fd00::1]`])
  })

  it.each([
    [
      'an error',
      (callback: Callback) => callback(Object.assign(new Error('no'), { code: 'EAI_AGAIN' })),
      'EAI_AGAIN',
    ],
    ['no address', (callback: Callback) => callback(null, []), 'ENOTFOUND'],
  ])('fails when that gives %s', async (_title, give, code) => {
    const lookup = (_name: string, _options: object, callback: Callback) => give(callback)
    await expect(ask({}, { lookup: lookup as never })).rejects.toMatchObject({ code })
  })
})

type Callback = (error: Error | null, found?: LookupAddress[] | string, family?: number) => void

describe('the options of dns()', () => {
  it.each([
    ['x', undefined, 'Invalid origin'],
    ['https://a.test/path', undefined, 'Invalid origin'],
    [ORIGIN, 7, 'Invalid options: got 7, expected an object'],
    [ORIGIN, { interval: 4_999 }, 'Invalid interval'],
    [ORIGIN, { using: 'dns' }, "Invalid using: got \"dns\", expected 'lookup' or 'resolve'"],
    [
      ORIGIN,
      { using: 'lookup', srv: 'x' },
      'Invalid using: got "lookup", expected \'resolve\' when srv or servers is set',
    ],
    [ORIGIN, { srv: '' }, 'Invalid srv'],
    [ORIGIN, { family: 5 }, 'Invalid family: got 5, expected 4, 6, or 0 for both'],
    [ORIGIN, { servers: [] }, 'Invalid servers'],
    [ORIGIN, { servers: 'x' }, 'Invalid servers'],
    [ORIGIN, { servers: ['a.test'] }, 'Invalid servers: got "a.test"'],
    [ORIGIN, { servers: [7] }, 'Invalid servers: got 7'],
    [ORIGIN, { timeout: 0 }, 'Invalid timeout'],
  ])('refuses %j with %j', (origin, options, message) => {
    expect(() => dns(origin, options as DnsOptions)).toThrow(message)
  })

  it('takes null for each', () => {
    const nothing = { interval: null, using: null, srv: null, family: null, servers: null, timeout: null }
    expect(dns(new URL(ORIGIN), nothing).name).toBe(`dns(${ORIGIN})`)
  })
})
