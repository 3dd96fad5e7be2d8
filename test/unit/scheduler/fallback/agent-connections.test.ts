import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { Agent as Undici7 } from 'undici'
import { Agent as Undici6 } from 'undici-6'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { BuiltinTarget } from '../../../../src/scheduler/fallback/builtin.ts'
import { AgentConnections } from '../../../../src/scheduler/fallback/fallback-events.ts'
import { listen } from '../../../support/servers/listen.ts'

type Callback = (error: Error | null, socket: Socket | null) => void

/** The part that both versions have in common. */
interface TheirAgent extends BuiltinTarget {
  request(options: { origin: string; path: string; method: 'GET' }): Promise<{
    body: { text(): Promise<string> }
  }>
}

interface TheirOptions {
  readonly connections: number
  readonly connect: (options: object, callback: Callback) => void
}

/** A server, and an Agent whose connections open, or fail, when the test says so. */
async function start(toAgent: (options: TheirOptions) => TheirAgent) {
  const server = createServer((_request, response) => response.end('hello'))
  const { port } = await listen(server)
  const dials: Callback[] = []
  const agent = toAgent({ connections: 2, connect: (_options, callback) => void dials.push(callback) })
  onTestFinished(() => agent.destroy(null))
  const events: string[] = []
  const listener = {
    onConnect: () => void events.push('connect'),
    onDisconnect: () => void events.push('disconnect'),
    onConnectionError: ({ message }: Error) => void events.push(message),
  }
  const connections = new AgentConnections(agent as never, listener, () => false)
  const ask = async (): Promise<string> => {
    const { body } = await agent.request({ origin: `http://localhost:${port}`, path: '/', method: 'GET' })
    return body.text()
  }
  const open = async (): Promise<Socket> => {
    const socket = connect(port, 'localhost')
    await once(socket, 'connect')
    dials.shift()?.(null, socket)
    return socket
  }
  return { dials, events, connections, ask, open }
}

describe.each([
  { name: 'undici 6', toAgent: (options: object): TheirAgent => new Undici6(options) },
  { name: 'undici 7', toAgent: (options: object): TheirAgent => new Undici7(options) },
])('the connections of an Agent of $name', ({ toAgent }) => {
  it('end with it, even one that its Pool has forgotten', async () => {
    const { dials, events, connections, ask, open } = await start(toAgent)
    const [first, second, queued] = [ask(), ask(), ask()]
    await expect.poll(() => dials).toHaveLength(2)
    dials.pop()?.(new Error('of the connect function'), null)
    await expect(second).rejects.toThrow('of the connect function')
    // The Pool has just forgotten the second Client, and gives it the third request.
    await expect.poll(() => dials).toHaveLength(2)
    const sockets = [await open(), await open()]
    expect(await Promise.all([first, queued])).toEqual(['hello', 'hello'])
    await connections.destroy(null)
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, true])
    expect(events.toSorted()).toEqual([
      ...['connect', 'connect', 'disconnect', 'disconnect'],
      'of the connect function',
    ])
  })

  it('end with it, even one that opens later', async () => {
    const { dials, events, connections, ask, open } = await start(toAgent)
    const outcomes = [ask(), ask(), ask()].map((text) => text.catch(({ message }: Error) => message))
    await expect.poll(() => dials).toHaveLength(2)
    dials.pop()?.(new Error('of the connect function'), null)
    await expect.poll(() => dials).toHaveLength(2)
    const [first] = dials.splice(0, 1)
    await connections.destroy(null)
    const late = await open()
    await expect.poll(() => events).toEqual(['of the connect function', 'connect', 'disconnect'])
    expect(late.destroyed).toBe(true)
    first?.(new Error('too late'), null)
    expect(await Promise.all(outcomes)).toEqual([
      expect.any(String),
      'of the connect function',
      'The client is destroyed',
    ])
  })
})
