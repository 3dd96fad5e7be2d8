/** The classes of `src/`, as the users of undici's types see them. Compiled, never run. */

import type { Dispatcher as Dispatcher6 } from 'undici-types-6'
import type { Dispatcher as Dispatcher7 } from 'undici-types-7'
import type { Dispatcher as Dispatcher8, RequestInit as RequestInit8 } from 'undici-types-8'
import type { ClientOptions, Dispatcher } from '../../src/index.ts'
import { Client } from '../../src/index.ts'

const options: Client.Options = { engine: 'node' }
const same: ClientOptions = options
const client = new Client('http://localhost', same)

export const dispatchers: [Dispatcher6, Dispatcher7, Dispatcher8, Dispatcher] = [
  client,
  client,
  client,
  client,
]

const composed = client.compose()
export const composedDispatchers: [Dispatcher6, Dispatcher7, Dispatcher8] = [composed, composed, composed]

export const init8: RequestInit8 = { dispatcher: client }
export const answer: Promise<Response> = fetch('http://localhost', { dispatcher: client })

// @ts-expect-error: an engine that doesn't exist
export const wrong: Client.Options = { engine: 'steam' }
