import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Agent } from '../../../src/dispatcher/agent.ts'
import { Client } from '../../../src/dispatcher/client.ts'
import type { Dispatcher } from '../../../src/dispatcher/dispatcher.ts'
import { Pool } from '../../../src/dispatcher/pool.ts'
import { ClientDestroyedError, InvalidArgumentError } from '../../../src/errors/errors.ts'
import { checkTunnelHandler, isFit } from '../../../src/handler/check-handler.ts'
import { toNativeHandler } from '../../../src/handler/legacy-handler.ts'
import type { DispatchHandler } from '../../../types/index.ts'
import { FakeFallback, respondTo } from '../../support/clients/fallback-fake.ts'
import { Recorder } from '../../support/clients/recorder.ts'

vi.mock('../../../src/handler/check-handler.ts', { spy: true })
vi.mock('../../../src/handler/legacy-handler.ts', { spy: true })

afterEach(() => {
  vi.clearAllMocks()
})

const GET = { origin: 'http://a.example', path: '/', method: 'GET' } as const

function use<T extends Dispatcher>(dispatcher: T): T {
  onTestFinished(() => dispatcher.destroy())
  return dispatcher
}

/** How often a handler was checked, by each kind of check. */
function countChecks(): number[] {
  return [isFit, checkTunnelHandler, toNativeHandler].map((check) => vi.mocked(check).mock.calls.length)
}

describe('dispatch() checks its handler once', () => {
  it.each([
    ['a Client', () => new Client('http://a.example', { connect: () => {} })],
    ['a Pool', () => new Pool('http://a.example', { connect: () => {} })],
    ['an Agent with h2c', () => new Agent({ h2c: true, connect: () => {} })],
    ['an Agent, for an origin of HTTP/1.1', () => new Agent({ fallback: new FakeFallback(() => {}) })],
  ])('by %s', (_what, make) => {
    const dispatcher = use(make())
    vi.clearAllMocks()
    for (const times of [1, 2]) {
      dispatcher.dispatch(GET, new Recorder())
      expect(countChecks()).toEqual([times, times, times])
    }
  })

  it("and once more when the caller's factory made the dispatcher: it may override dispatch()", () => {
    const dispatched: unknown[] = []
    class OwnPool extends Pool {
      override dispatch(...args: Parameters<Pool['dispatch']>): boolean {
        dispatched.push(args[1])
        return super.dispatch(...args)
      }
    }
    const factory = (origin: URL): Pool => new OwnPool(origin, { connect: () => {} })
    const agent = use(new Agent({ h2c: true, factory }))
    const recorder = new Recorder()
    agent.dispatch(GET, recorder)
    expect(dispatched).toEqual([recorder])
    expect(countChecks()).toEqual([2, 2, 2])
  })
})

describe('an error in a request is reported once by an Agent', () => {
  it('when the options are invalid', () => {
    const agent = use(new Agent({ fallback: null, h2c: true }))
    const recorder = new Recorder()
    expect(agent.dispatch({ ...GET, path: 'no path' }, recorder)).toBe(false)
    expect(recorder.error).toBeInstanceOf(InvalidArgumentError)
  })

  it('when the handler throws while that error is reported to it', () => {
    const agent = use(new Agent({ fallback: null, h2c: true }))
    const errors: Error[] = []
    const handler: DispatchHandler = Object.assign(new Recorder(), {
      onResponseError(_controller: unknown, error: Error) {
        errors.push(error)
        throw new Error('thrown by the handler')
      },
    })
    expect(() => agent.dispatch({ ...GET, path: 'no path' }, handler)).toThrow('thrown by the handler')
    expect(errors).toEqual([expect.any(InvalidArgumentError)])
  })

  it('when the caller has destroyed its Pool', async () => {
    const agent = use(new Agent({ fallback: new FakeFallback(respondTo), h2c: true, connect: refuse }))
    const targets = new Promise<readonly unknown[]>((resolve) => {
      agent.once('connectionError', (_origin, all) => resolve(all))
    })
    agent.dispatch(GET, new Recorder())
    const [, pool] = await targets
    await (pool as Pool).destroy()
    const recorder = new Recorder()
    expect(agent.dispatch(GET, recorder)).toBe(false)
    expect(recorder.error).toBeInstanceOf(ClientDestroyedError)
  })
})

function refuse(_options: unknown, callback: (error: Error, socket: null) => void): void {
  callback(new Error('no connection'), null)
}
