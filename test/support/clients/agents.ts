/** Clients, pools and agents that end with the test. */

import { onTestFinished } from 'vitest'
import { Agent, Client } from '../../../src/index.ts'
import type { AgentOptions, ClientOptions } from '../../../types/index.ts'
import type { ServerOptions, StreamListener, TestServer } from '../servers/server.ts'
import { startServer } from '../servers/server.ts'

/** @returns that dispatcher, which the test destroys when it ends */
export function destroyWithTest<T extends { destroy(): Promise<unknown> }>(dispatcher: T): T {
  onTestFinished(async () => void (await dispatcher.destroy()))
  return dispatcher
}

/** A server of Node's and a client of it, both until the test ends. Over TLS the client trusts the server's certificate. */
export async function startClient(
  onStream: StreamListener,
  options: ClientOptions = {},
  serving: ServerOptions = {},
): Promise<{ server: TestServer; client: Client }> {
  const server = await startServer(onStream, serving)
  const trusted = serving.tls === true ? { connect: { ca: server.ca } } : {}
  return { server, client: destroyWithTest(new Client(server.origin, { ...trusted, ...options })) }
}

export function toAgent(options: AgentOptions): Agent {
  return destroyWithTest(new Agent({ h2c: true, ...options }))
}

/** The response to a GET of `/`. */
export async function askAgent(agent: Agent, origin: string): Promise<string> {
  const { body } = await agent.request({ path: '/', method: 'GET', origin })
  return body.text()
}
