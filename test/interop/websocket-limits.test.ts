/** What a WebSocket and an EventSource may receive: they read it off their dispatcher. */

import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, install, uninstall } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { CLIENTS, KINDS, toStage } from './websocket-clients.ts'
import { startEchoServer } from './websocket-servers.ts'
import { Talk } from './websocket-talk.ts'

const LIMIT = 1_000

describe.each(CLIENTS)('WebSocket of $client', ({ socketClass }) => {
  describe.each(KINDS)('when the server speaks $over', ({ kind }) => {
    it.each([
      { how: 'given', isInstalled: false },
      { how: 'installed', isInstalled: true },
    ])('over an agent that is $how, receives as much as that allows', async ({ isInstalled }) => {
      const server = await startEchoServer(kind)
      const { url, agent } = toStage(server, socketClass, { webSocket: { maxPayloadSize: LIMIT } })
      if (isInstalled) {
        install(agent)
        onTestFinished(uninstall)
      }
      const talk = new Talk(socketClass, `${url}/echo`, isInstalled ? {} : { dispatcher: agent })
      await talk.opened
      expect(await talk.echo('a'.repeat(LIMIT))).toHaveLength(LIMIT)
      talk.socket.send('a'.repeat(LIMIT + 1))
      expect(await talk.closed).toMatchObject({ wasClean: false })
      expect(talk.events).toEqual(['open', 'error', 'close'])
    })
  })
})

describe('the limits of what Node has built in', () => {
  const symbol = Symbol.for('undici.globalDispatcher.1')

  it('are there after install() as before it', async () => {
    // Node makes its own dispatcher with the first request.
    await fetch('data:,')
    const toLimits = (dispatcher: Partial<Agent> | undefined) => ({
      ...dispatcher?.webSocketOptions,
      ...dispatcher?.eventSourceOptions,
    })
    const before = toLimits(Reflect.get(globalThis, symbol))
    const agent = destroyWithTest(new Agent())
    install(agent)
    onTestFinished(uninstall)
    const installed: Partial<Agent> = Reflect.get(globalThis, symbol)
    expect(installed).not.toBe(undefined)
    expect(toLimits(installed)).toEqual(before)
  })
})
