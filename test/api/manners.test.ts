/** What `console.log()` shows of a dispatcher, `await using`, two copies of the package, the stack of the caller. */

import { inspect } from 'node:util'
import { describe, expect, it, vi } from 'vitest'
import { Agent, Client, Dispatcher, errors, fetch, Pool } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'

const ORIGIN = 'https://localhost:1'
const SECRET = 's3cret'

async function toError(promise: Promise<unknown>): Promise<Error> {
  const error: unknown = await promise.catch((reason: unknown) => reason)
  if (error instanceof Error) return error
  throw new Error('It has not failed')
}

describe('console.log()', () => {
  it.each([Client, Pool])('of %o shows origin, state and sessions', async (Class) => {
    const { origin } = await startPeer(SERVE)
    const dispatcher = new Class(origin, { connect: { passphrase: SECRET, key: SECRET } })
    const start = `${Class.name} { origin: '${origin}', state:`
    expect(inspect(dispatcher, { breakLength: 200 })).toBe(
      `${start} 'open', pending: 0, running: 0, sessions: [] }`,
    )
    const { body } = await dispatcher.request({
      path: `/${SECRET}`,
      method: 'GET',
      headers: { cookie: SECRET },
    })
    await body.text()
    expect(inspect(dispatcher, { breakLength: 200 })).toBe(
      `${start} 'open', pending: 0, running: 0, sessions: [ { state: 'ready', streams: 0 } ] }`,
    )
    expect(inspect(dispatcher, { depth: 9, showHidden: true, getters: true })).not.toContain(SECRET)
    expect(inspect([[[dispatcher]]], { depth: 2 })).toContain(`[${Class.name}]`)
    const closed = dispatcher.close()
    expect(inspect(dispatcher)).toContain("state: 'closing'")
    await closed
    expect(inspect(dispatcher)).toContain("state: 'destroyed'")
  })

  it('of an Agent and of a composed dispatcher shows those within', async () => {
    const { origin } = await startPeer(SERVE)
    const agent = destroyWithTest(new Agent({ h2c: true }))
    const composed = agent.compose((dispatch) => (options, handler) => dispatch(options, handler))
    const { body } = await composed.request({ origin, path: '/', method: 'GET' })
    await body.text()
    const counts = '{ pending: 0, running: 0, sessions: 1, streams: 0 }'
    const shown = `Agent { state: 'open', origins: { '${origin}': ${counts} } }`
    expect(inspect(agent, { breakLength: 200 })).toBe(shown)
    expect(inspect(composed, { breakLength: 200, depth: 5 })).toBe(shown)
  })
})

describe('Symbol.asyncDispose', () => {
  it.each([
    ['Client', () => new Client(ORIGIN)],
    ['Pool', () => new Pool(ORIGIN)],
    ['Agent', () => new Agent()],
    ['composed', () => new Client(ORIGIN).compose([])],
  ])('closes a dispatcher: %s', async (_name, make) => {
    let kept: Dispatcher
    {
      await using dispatcher = make()
      kept = dispatcher
      expect(kept.closed).toBe(false)
    }
    expect(kept.destroyed).toBe(true)
    await kept[Symbol.asyncDispose]()
  })
})

describe('another copy of the package', () => {
  it('knows the dispatchers and the errors of this one, and the other way round', async () => {
    vi.resetModules()
    const other = await import('../../src/index.ts')
    expect(other.Client).not.toBe(Client)
    const pairs = [
      [new Client(ORIGIN), new other.Client(ORIGIN), Client, other.Client],
      [new Pool(ORIGIN), new other.Pool(ORIGIN), Pool, other.Pool],
      [new Agent(), new other.Agent(), Agent, other.Agent],
    ] as const
    for (const [ours, theirs, Ours, Theirs] of pairs) {
      expect(ours).toBeInstanceOf(Theirs)
      expect(theirs).toBeInstanceOf(Ours)
      expect(ours).toBeInstanceOf(other.Dispatcher)
      expect(theirs).toBeInstanceOf(Dispatcher)
    }
    expect(pairs[0][0]).not.toBeInstanceOf(other.Pool)
    expect(pairs[0][0]).not.toBeInstanceOf(Agent)
    expect(new errors.SocketError('x')).toBeInstanceOf(other.errors.SocketError)
    expect(new other.errors.SocketError('x')).toBeInstanceOf(errors.DodiciError)
  })

  it('does not make an instance of a user’s own subclass', () => {
    class Own extends Client {}
    expect(new Own(ORIGIN)).toBeInstanceOf(Own)
    expect(new Own(ORIGIN)).toBeInstanceOf(Client)
    expect(new Client(ORIGIN)).not.toBeInstanceOf(Own)
  })
})

describe('captureStack', () => {
  /** Nothing listens there. */
  const dead = 'http://127.0.0.1:1'

  function callerOfRequest(client: Dispatcher, options: object = {}): Promise<Error> {
    return toError(client.request({ path: '/', method: 'GET', ...options }))
  }

  function callerOfFetch(client: Client): Promise<Error> {
    return toError(fetch(dead, { dispatcher: client }))
  }

  it.each([
    [{ captureStack: true }, {}, true],
    [{}, {}, false],
    [{}, { captureStack: true }, true],
    [{ captureStack: true }, { captureStack: false }, false],
    [{ captureStack: true }, { captureStack: null }, true],
  ])('%j and %j of a request', async (options, ofRequest, isShown) => {
    const client = destroyWithTest(new Client(dead, options))
    const { stack = '' } = await callerOfRequest(client, ofRequest)
    expect(stack.includes('callerOfRequest')).toBe(isShown)
    expect(stack.split('at the call:')).toHaveLength(isShown ? 2 : 1)
  })

  it('of a dispatcher in front of another one is shown once', async () => {
    const agent = destroyWithTest(
      new Agent({ h2c: true, captureStack: true, factory: (url, own) => new Pool(url, own) }),
    )
    const { stack = '' } = await callerOfRequest(agent, { origin: dead })
    expect(stack.split('at the call:')).toHaveLength(2)
    expect(stack).toContain('callerOfRequest')
  })

  it('gives the cause of a failed fetch() the frame of its caller', async () => {
    const client = destroyWithTest(new Client(dead, { captureStack: true }))
    const { cause } = await callerOfFetch(client)
    expect(Reflect.get(Object(cause), 'stack')).toContain('callerOfFetch')
  })

  it('leaves the reason of a signal as it is', async () => {
    const client = destroyWithTest(new Client(dead, { captureStack: true }))
    const reason = new Error('mine')
    const { stack } = reason
    expect(await callerOfRequest(client, { signal: AbortSignal.abort(reason) })).toBe(reason)
    expect(reason.stack).toBe(stack)
  })
})
