/** What `compose()` returns is the dispatcher with another `dispatch()`: it has all members of its class. */

import { once } from 'node:events'
import { inspect } from 'node:util'
import * as undici7 from 'undici'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import * as dodici from '../../src/index.ts'
import * as entry from '../../src/undici/all.ts'
import type { Dispatcher, DispatcherComposeInterceptor } from '../../types/index.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'

const ORIGIN = 'http://a.test:8080'

/** Notes what passes through it. */
class Noting {
  readonly paths: string[] = []
  readonly origins: unknown[] = []

  get interceptor(): DispatcherComposeInterceptor {
    return (dispatch, origin) => {
      this.origins.push(origin)
      return (options, handler) => {
        this.paths.push(options.path)
        return dispatch(options, handler)
      }
    }
  }
}

const pass: DispatcherComposeInterceptor = (dispatch) => (options, handler) => dispatch(options, handler)

type AnyDispatcher = InstanceType<typeof dodici.Dispatcher>

const CLASSES: readonly [name: string, make: () => AnyDispatcher][] = [
  ['Client', () => new dodici.Client(ORIGIN)],
  ['Pool', () => new dodici.Pool(ORIGIN)],
  ['Agent', () => new dodici.Agent()],
  ['ProxyAgent', () => new dodici.ProxyAgent('http://proxy.test:3128')],
  ['Socks5ProxyAgent', () => new dodici.Socks5ProxyAgent('socks5://proxy.test:1080')],
  ['EnvHttpProxyAgent', () => new dodici.EnvHttpProxyAgent()],
  ['UpstreamPool', () => new dodici.UpstreamPool([ORIGIN])],
  ['the entry’s Client', () => new (entry.Client as typeof dodici.Client)(ORIGIN)],
  ['the entry’s Pool', () => new (entry.Pool as typeof dodici.Pool)(ORIGIN)],
]

/** All members that an object has and inherits, but for those of Object.prototype. */
function toMembers(object: object): (string | symbol)[] {
  const names = new Set<string | symbol>()
  for (let at: object | null = object; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Reflect.ownKeys(at)) names.add(name)
  return [...names]
}

function start<TDispatcher extends Dispatcher>(dispatcher: TDispatcher): TDispatcher {
  onTestFinished(() => dispatcher.destroy())
  return dispatcher
}

describe.each(CLASSES)('a composed %s', (_name, make) => {
  it.each([1, 2, 3])('has all its members, composed %d times', (times) => {
    const dispatcher = start(make())
    let composed = dispatcher
    for (let i = 0; i < times; i++) composed = composed.compose(pass)
    expect(composed).not.toBe(dispatcher)
    const members = toMembers(dispatcher)
    expect(members.length).toBeGreaterThan(20)
    for (const name of members) {
      const value: unknown = Reflect.get(dispatcher, name)
      const its: unknown = Reflect.get(composed, name)
      expect(name in composed, String(name)).toBe(true)
      if (typeof value === 'function') expect(its, String(name)).toBeTypeOf('function')
      else expect(its, String(name)).toEqual(value)
      // The same at each read.
      if (typeof value === 'function') expect(Reflect.get(composed, name)).toBe(its)
    }
  })

  it('is an instance of its class, and shown as it', () => {
    const dispatcher = start(make())
    const composed = dispatcher.compose(pass)
    expect(composed).toBeInstanceOf(dispatcher.constructor)
    expect(composed).toBeInstanceOf(dodici.Dispatcher)
    expect(composed.constructor).toBe(dispatcher.constructor)
    expect(inspect(composed)).toBe(inspect(dispatcher))
    expect(inspect(composed, { depth: -1 })).toBe(inspect(dispatcher, { depth: -1 }))
  })

  it.each([
    ['close()', (it: AnyDispatcher) => it.close()],
    ['close({ timeout })', (it: AnyDispatcher) => it.close({ timeout: 1_000 })],
    ['close(callback)', (it: AnyDispatcher) => new Promise<void>((resolve) => it.close(resolve))],
    ['destroy()', (it: AnyDispatcher) => it.destroy()],
    ['destroy(error)', (it: AnyDispatcher) => it.destroy(new Error('mine'))],
    ['destroy(null, callback)', (it: AnyDispatcher) => new Promise<void>((done) => it.destroy(null, done))],
    ['Symbol.asyncDispose', (it: AnyDispatcher) => it[Symbol.asyncDispose]()],
  ])('ends with it by %s', async (what, end) => {
    // As in undici, destroy() alone doesn't count as closed.
    const isClosed = !what.startsWith('destroy')
    const dispatcher = start(make())
    const composed = dispatcher.compose(pass).compose(pass)
    await end(composed)
    for (const each of [dispatcher, composed]) expect([each.closed, each.destroyed]).toEqual([isClosed, true])
  })

  it('has its events: a listener on one is a listener on both', async () => {
    const dispatcher = start(make())
    const composed = dispatcher.compose(pass)
    const heard: unknown[] = []
    expect(composed.on('drain', (url) => heard.push(url.href))).toBe(composed)
    const waited = once(composed, 'drain')
    expect(dispatcher.listenerCount('drain')).toBe(2)
    dispatcher.emit('drain', new URL(ORIGIN), [dispatcher])
    await waited
    composed.emit('drain', new URL(ORIGIN), [dispatcher])
    expect(heard).toEqual([`${ORIGIN}/`, `${ORIGIN}/`])
    expect(composed.removeAllListeners('drain')).toBe(composed)
    expect(dispatcher.listenerCount('drain')).toBe(0)
  })
})

describe('the members of a class', () => {
  it('stats are those of now', async () => {
    const { origin } = await startPeer(SERVE)
    const agent = start(new dodici.Agent({ h2c: true }))
    const noting = new Noting()
    const composed = agent.compose(noting.interceptor)
    const { body } = await composed.request({ origin, path: '/a', method: 'GET' })
    await body.dump()
    expect(Object.keys(composed.stats)).toEqual([origin])
    expect(noting.paths).toEqual(['/a'])
  })

  it('methods that change it do', () => {
    const pool = start(new dodici.UpstreamPool([ORIGIN]))
    const composed = pool.compose(pass)
    composed.addUpstream('http://b.test')
    expect(pool.upstreams).toEqual([ORIGIN, 'http://b.test'])
    expect(composed.getUpstream('http://b.test')).toBe(pool.getUpstream('http://b.test'))
    composed.removeUpstream(ORIGIN)
    expect(composed.upstreams).toEqual(['http://b.test'])
  })

  it('all APIs of the composed one pass through its interceptors, those of the inner one do not', async () => {
    const { origin } = await startPeer(SERVE)
    const client = start(new dodici.Client(origin))
    const [first, second] = [new Noting(), new Noting()]
    const composed = client.compose(first.interceptor)
    const twice = composed.compose(second.interceptor)
    for (const [path, dispatcher] of Object.entries({ '/0': client, '/1': composed, '/2': twice }))
      await (await dispatcher.request({ path, method: 'GET' })).body.dump()
    await (await dodici.request(`${origin}/3`, { dispatcher: twice })).body.dump()
    await (await dodici.fetch(`${origin}/4`, { dispatcher: twice })).text()
    const handler = new Recorder()
    twice.dispatch({ path: '/5', method: 'GET' }, handler)
    await handler.settled
    const { dispatch } = twice
    const detached = new Recorder()
    dispatch({ path: '/6', method: 'GET' }, detached)
    await detached.settled
    expect(first.paths).toEqual(['/1', '/2', '/3', '/4', '/5', '/6'])
    expect(second.paths).toEqual(['/2', '/3', '/4', '/5', '/6'])
  })

  it('an interceptor is told the origin, as by undici 8', () => {
    const noting = new Noting()
    start(new dodici.Client(ORIGIN)).compose(noting.interceptor)
    start(new dodici.Agent()).compose(noting.interceptor)
    start(new dodici.UpstreamPool([ORIGIN]))
      .compose(noting.interceptor)
      .compose(noting.interceptor)
    expect(noting.origins).toEqual([ORIGIN, undefined, null, null])
  })
})

describe('a subclass of the caller', () => {
  class Api extends dodici.Agent {
    ends: string[] = []
    token = 'a'
    readonly #own = 'own'

    get own(): string {
      return this.#own
    }

    get shout(): string {
      return this.token.toUpperCase()
    }

    set shout(value: string) {
      this.token = value
    }

    async getUser(origin: string): Promise<number> {
      const { statusCode, body } = await this.request({ origin, path: '/user', method: 'GET' })
      await body.dump()
      return statusCode
    }

    override close(...args: never[]): Promise<void> {
      this.ends.push(this.#own)
      return super.close(...args)
    }
  }

  it('keeps what it adds, and what that sends passes through the interceptors', async () => {
    const { origin } = await startPeer(SERVE)
    const noting = new Noting()
    const api = start(new Api({ h2c: true }))
    const composed = api.compose(noting.interceptor)
    expect(await composed.getUser(origin)).toBe(200)
    expect(noting.paths).toEqual(['/user'])
    expect([composed.own, composed.shout]).toEqual(['own', 'A'])
    composed.shout = 'b'
    expect([api.token, composed.shout]).toEqual(['b', 'B'])
    await composed.close()
    expect([api.ends, api.closed]).toEqual([['own'], true])
  })

  it('of Dispatcher itself ends, private fields and all', async () => {
    class Own extends dodici.Dispatcher {
      #state = 'open'
      get closed() {
        return this.#state !== 'open'
      }
      get destroyed() {
        return this.#state === 'destroyed'
      }
      dispatch(_options: unknown, _handler: unknown): boolean {
        return this.#state === 'open'
      }
      override close(): Promise<void> {
        this.#state = 'closed'
        return Promise.resolve()
      }
      override destroy(): Promise<void> {
        this.#state = 'destroyed'
        return Promise.resolve()
      }
    }
    const composed = new Own().compose(pass)
    expect(composed.dispatch({ path: '/', method: 'GET' }, new Recorder())).toBe(true)
    await composed.close()
    expect([composed.closed, composed.destroyed]).toEqual([true, false])
    await composed.destroy()
    expect(composed.destroyed).toBe(true)
  })
})

describe('a dispatch() that is replaced', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('of the composed one: the inner one keeps its own', async () => {
    const { origin } = await startPeer(SERVE)
    const client = start(new dodici.Client(origin))
    const composed = client.compose(pass)
    const spy = vi.spyOn(composed, 'dispatch')
    await (await composed.request({ path: '/', method: 'GET' })).body.dump()
    expect(spy).toHaveBeenCalledTimes(1)
    await (await client.request({ path: '/', method: 'GET' })).body.dump()
    expect(spy).toHaveBeenCalledTimes(1)
    spy.mockRestore()
    await (await composed.request({ path: '/', method: 'GET' })).body.dump()
    expect(spy).toHaveBeenCalledTimes(0)
  })

  it('of the inner one: the composed one uses it', async () => {
    const { origin } = await startPeer(SERVE)
    const client = start(new dodici.Client(origin))
    const composed = client.compose(pass)
    const spy = vi.spyOn(client, 'dispatch')
    await (await composed.request({ path: '/', method: 'GET' })).body.dump()
    expect(spy).toHaveBeenCalledTimes(1)
  })

  it('by undici’s BalancedPool, whose factory makes composed ones', async () => {
    const { origin } = await startPeer(SERVE)
    const noting = new Noting()
    const BalancedPool = entry.BalancedPool as typeof undici7.BalancedPool
    const factory = (): undici7.Dispatcher =>
      start(new dodici.Client(origin)).compose(noting.interceptor) as unknown as undici7.Dispatcher
    const pool = new BalancedPool(origin, { factory })
    onTestFinished(() => pool.destroy())
    const { statusCode, body } = await pool.request({ origin, path: '/', method: 'GET' })
    await body.dump()
    expect([statusCode, noting.paths]).toEqual([200, ['/']])
  })
})

type Mocking = typeof undici7.MockAgent

const MOCKS: readonly [name: string, MockAgent: Mocking, options: () => object][] = [
  ['undici’s', undici7.MockAgent, () => ({})],
  ['the entry’s', entry.MockAgent as Mocking, () => ({})],
  [
    'the entry’s, over an Agent of ours',
    entry.MockAgent as Mocking,
    () => ({ agent: start(new dodici.Agent()) }),
  ],
  [
    'the entry’s SnapshotAgent',
    entry.SnapshotAgent as Mocking,
    () => ({ mode: 'playback', snapshotPath: '/nowhere/a.json', agent: start(new dodici.Agent()) }),
  ],
]

describe.each(MOCKS)('a composed MockAgent: %s', (name, MockAgent, toGiven) => {
  it('mocks, and has the members of its class', async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const agent = new MockAgent({ ...toGiven(), enableCallHistory: true } as never)
    vi.restoreAllMocks()
    onTestFinished(() => agent.close())
    const paths: string[] = []
    const composed = agent.compose((dispatch) => (options, handler) => {
      paths.push(options.path)
      return dispatch(options, handler)
    }) as unknown as undici7.MockAgent
    expect(composed).toBeInstanceOf(MockAgent)
    composed.disableNetConnect()
    composed.get('http://mocked.test').intercept({ path: '/a' }).reply(200, 'mocked')
    expect(composed.pendingInterceptors()).toHaveLength(1)
    expect(agent.pendingInterceptors()).toHaveLength(1)
    // A SnapshotAgent asks its file first.
    if (name.includes('Snapshot')) return
    const fetching = dodici.fetch('http://mocked.test/a', { dispatcher: composed as never })
    expect(await (await fetching).text()).toBe('mocked')
    expect(paths).toEqual(['/a'])
    composed.assertNoPendingInterceptors()
    expect(
      composed
        .getCallHistory()
        ?.calls()
        .map(({ path }) => path),
    ).toEqual(['/a'])
  })
})
