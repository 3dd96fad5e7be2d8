import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Agent, Client } from '../../src/index.ts'
import type { Connector } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { FakeDispatcher } from '../support/clients/fake-dispatcher.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { SERVE, startPeer, toConnector, toSocketConnector } from '../support/peers/peer-rig.ts'

const GET = { path: '/', method: 'GET' } as const

describe('dispatch() that returns false', () => {
  it.each([
    ['a socket', toSocketConnector],
    ['a Duplex', toConnector],
  ])('when a call is aborted as it starts, and only a repeated one waits, over %s › is followed by drain', async (_what, toConnectorOf) => {
    // The first connection retires before it has taken a request. The next one is made when the test lets it, and
    // serves.
    const peer = await startPeer([
      { onRequest: (_, connection) => connection.goAway({ lastStreamId: 0, code: 0 }) },
      SERVE,
    ])
    const toPeer = toConnectorOf(peer)
    const asked: (() => void)[] = []
    let onAskedAgain = (): void => {}
    const askedAgain = new Promise<void>((resolve) => {
      onAskedAgain = resolve
    })
    const connect: Connector = (options, callback) => {
      if (asked.push(() => toPeer(options, callback)) === 1) toPeer(options, callback)
      else onAskedAgain()
    }
    const client = destroyWithTest(new Client(peer.origin, { connect, fallback: null }))
    const repeated = new Recorder()
    const drained = once(client, 'drain')
    expect(client.dispatch(GET, repeated)).toBe(false)
    await drained
    await askedAgain
    const aborted = new Recorder()
    aborted.onRequestStart = (controller) => controller.abort(new Error('enough'))
    const drainedAgain = once(client, 'drain')
    expect(client.dispatch(GET, aborted)).toBe(false)
    asked[1]?.()
    await drainedAgain
    await repeated.settled
    expect(repeated.events.at(-1)).toBe('end')
  })
})

describe('close() and destroy() with a callback', () => {
  it.each([
    'close',
    'destroy',
  ] as const)('when a dispatcher that a factory made rejects %s() › call it back with the reason', async (verb) => {
    const reason = new Error('will not go')
    const made = new FakeDispatcher()
    made[verb] = () => Promise.reject(reason)
    const agent = new Agent({ h2c: true, factory: () => made })
    agent.dispatch({ ...GET, origin: 'http://one.example' }, new Recorder())
    const heard = await new Promise((resolve) => agent[verb](resolve as () => void))
    expect(heard).toBe(reason)
  })
})
