/** The classes of `src/`, as the users of undici's types see them. Compiled, never run. */

import type { Dispatcher as Dispatcher6 } from 'undici-types-6'
import type { Dispatcher as Dispatcher7 } from 'undici-types-7'
import type * as undici8 from 'undici-types-8'
import type { Dispatcher as Dispatcher8, RequestInit as RequestInit8 } from 'undici-types-8'
import type { ClientOptions, Dispatcher } from '../../../src/index.ts'
import { Agent, Client, Pool } from '../../../src/index.ts'

const options: Client.Options = { engine: 'node' }
const same: ClientOptions = options
const client = new Client('http://localhost', same)

export const dispatchers: [Dispatcher6, Dispatcher7, Dispatcher8, Dispatcher] = [
  client,
  client,
  client,
  client,
]

const pool = new Pool('http://localhost', {
  connections: null,
  h2Options: { settings: { maxFrameSize: 32_768 } },
})
const agent = new Agent({ maxOrigins: 2, factory: (origin, given) => new Pool(origin, given) })
export const others: [Dispatcher6, Dispatcher7, Dispatcher8, Dispatcher][] = [
  [pool, pool, pool, pool],
  [agent, agent, agent, agent],
]
export const poolStats8: undici8.Pool['stats'] = pool.stats
export const agentStats8: undici8.Agent['stats'] = agent.stats
export const closings: Promise<void>[] = [pool.close(), pool.close({ timeout: 5_000 }), agent.close({})]

// @ts-expect-error: a timeout is a number
export const wrongTimeout = pool.close({ timeout: '5s' })

const composed = client.compose()
export const composedDispatchers: [Dispatcher6, Dispatcher7, Dispatcher8] = [composed, composed, composed]

export const init8: RequestInit8 = { dispatcher: client }
export const response: Promise<Response> = fetch('http://localhost', { dispatcher: client })

// @ts-expect-error: an engine that doesn't exist
export const wrong: Client.Options = { engine: 'steam' }
