/** Typos are heard: a warning for each unknown name, once. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Agent, Client, fetch, Pool } from '../../src/index.ts'
import type { Dispatcher as DispatcherType } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'

const ORIGIN = 'https://localhost:1'

const heard: string[] = []

beforeEach(() => {
  heard.length = 0
  vi.spyOn(process, 'emitWarning').mockImplementation((warning, options) => {
    if (Reflect.get(Object(options), 'code') === 'DODICI_UNKNOWN_OPTION') heard.push(String(warning))
  })
})

afterEach(() => {
  vi.restoreAllMocks()
})

function make(options: object): void {
  for (const dispatcher of [new Client(ORIGIN, options), new Pool(ORIGIN, options), new Agent(options)]) {
    void dispatcher.destroy()
  }
}

async function start(): Promise<{ client: Client; origin: string }> {
  const peer = await startPeer(SERVE)
  const client = destroyWithTest(new Client(peer.origin))
  return { client, origin: peer.origin }
}

async function send(dispatcher: DispatcherType, options: object): Promise<void> {
  const { body } = await dispatcher.request({ path: '/', method: 'GET', ...options })
  await body.dump()
}

describe('an unknown option of a constructor', () => {
  it('is warned of once, with the nearest name', () => {
    make({ keepAliveTimeot: 1 })
    expect(heard).toEqual([
      'Unknown dispatcher option: "keepAliveTimeot" has no effect. Did you mean "keepAliveTimeout"?',
    ])
  })

  it('is warned of where no name is near', () => {
    make({ colour: 'red' })
    expect(heard).toEqual(['Unknown dispatcher option: "colour" has no effect'])
  })

  it('is warned of within connect and h2Options', () => {
    make({ connect: { rejectUnauthorised: true }, h2Options: { pingIntervall: 1 } })
    expect(heard.toSorted()).toEqual([
      'Unknown connect option: "rejectUnauthorised" has no effect. Did you mean "rejectUnauthorized"?',
      'Unknown h2Options option: "pingIntervall" has no effect. Did you mean "pingInterval"?',
    ])
  })

  it('is not warned of when it is an option of undici', () => {
    make({
      ...{ pipelining: 10, allowH2: true },
      ...{ maxCachedSessions: 1, autoSelectFamily: true, localAddress: '::1' },
      ...{
        webSocket: {},
        eventSource: {},
        interceptors: {},
        maxRedirections: 0,
        useMilo: false,
      },
      connect: { allowH2: true, timeout: 1, maxCachedSessions: 1, keepAlive: true, ca: [] },
      h2Options: { maxSessionMemory: 1, useH2c: true },
    })
    expect(heard).toEqual([])
  })
})

describe('an unknown option of a request', () => {
  it('is warned of once, with the nearest name', async () => {
    const { client } = await start()
    await send(client, { headersTimeot: 1 })
    await send(client, { headersTimeot: 1, flavour: 'sweet' })
    expect(heard).toEqual([
      'Unknown request option: "headersTimeot" has no effect. Did you mean "headersTimeout"?',
      'Unknown request option: "flavour" has no effect',
    ])
  })

  it('is not warned of when it is an option of undici', async () => {
    const { client } = await start()
    await send(client, { blocking: true, reset: false, maxRedirections: 0, throwOnError: false, opaque: 1 })
    await send(client, { retryOptions: {}, typeOfService: 0, servername: null, highWaterMark: 1 })
    expect(heard).toEqual([])
  })

  it('may be an interceptor’s own, but not a typo', async () => {
    const { client } = await start()
    const composed = client.compose((dispatch) => (options, handler) => dispatch(options, handler))
    await send(composed, { cacheTags: ['a'], bodyTimeot: 1 })
    expect(heard).toEqual(['Unknown request option: "bodyTimeot" has no effect. Did you mean "bodyTimeout"?'])
  })

  it('may be one of an interceptor in front of an Agent, and a typo is warned of once', async () => {
    const { origin } = await start()
    const agent = destroyWithTest(new Agent({ h2c: true }))
    const composed = agent.compose((dispatch) => (options, handler) => dispatch(options, handler))
    await send(composed, { origin, cacheTagsOfAgent: ['a'], uploadTimeot: 1 })
    await send(agent, { origin, uploadTimeot: 1, requestTimeot: 1 })
    expect(heard).toEqual([
      'Unknown request option: "uploadTimeot" has no effect. Did you mean "uploadTimeout"?',
      'Unknown request option: "requestTimeot" has no effect. Did you mean "requestTimeout"?',
    ])
  })

  it('of fetch() is warned of only near a known name', async () => {
    const { client, origin } = await start()
    const init: object = { dispatcher: client, agent: null, redirects: 'follow' }
    await (await fetch(origin, init)).text()
    expect(heard).toEqual(['Unknown fetch() option: "redirects" has no effect. Did you mean "redirect"?'])
  })
})
