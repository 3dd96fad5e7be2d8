/** The WebSockets that the running Node has. */

import { WebSocket as WebSocket7 } from 'undici'
import { WebSocket as WebSocket6 } from 'undici-6'
import { onTestFinished } from 'vitest'
import { Agent, install, uninstall } from '../../src/index.ts'
import type { AgentOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { Stage } from './websocket-scenes.ts'
import type { EchoServer, ServerKind } from './websocket-servers.ts'
import type { SocketClass } from './websocket-talk.ts'

export interface Client {
  readonly client: string
  readonly socketClass: SocketClass
}

const major = Number(process.versions.node.split('.')[0])

/** undici 8 doesn't load on Node 20. */
const undici8: Client[] =
  major >= 22 ? [{ client: 'undici 8', socketClass: (await import('undici-8')).WebSocket }] : []

/** Node 20 has one behind a flag: see websocket-builtin.test.ts. */
const builtin: Client[] =
  globalThis.WebSocket === undefined ? [] : [{ client: 'Node', socketClass: globalThis.WebSocket }]

export const CLIENTS: readonly Client[] = [
  ...builtin,
  { client: 'undici 6', socketClass: WebSocket6 },
  { client: 'undici 7', socketClass: WebSocket7 },
  ...undici8,
]

export const KINDS: readonly { readonly kind: ServerKind; readonly over: string }[] = [
  { kind: 'h2', over: 'HTTP/2 with extended CONNECT' },
  { kind: 'h1', over: 'HTTP/1.1 alone' },
  { kind: 'h2-without', over: 'HTTP/2 without extended CONNECT, and HTTP/1.1' },
  { kind: 'plain', over: 'HTTP/1.1 without TLS' },
]

/** An Agent that ends with the test, for one server. */
export function toStage(server: EchoServer, socketClass: SocketClass, options: AgentOptions = {}): Stage {
  const agent = destroyWithTest(new Agent({ connect: { ca: server.ca }, ...options }))
  return { url: server.url, socketClass, agent, isInstalled: false }
}

/** Likewise, and the sockets find it by themselves. */
export function toInstalledStage(server: EchoServer, socketClass: SocketClass): Stage {
  const stage = toStage(server, socketClass)
  install(stage.agent)
  onTestFinished(uninstall)
  return { ...stage, isInstalled: true }
}

/** By which way a server was reached, and what of RFC 6455's handshake it has seen. */
export function toWays({ visits }: EchoServer): { ways: string[]; keys: number } {
  const ways = new Set(visits.map(({ way }) => way))
  return { ways: [...ways], keys: visits.filter(({ headers }) => 'sec-websocket-key' in headers).length }
}

/** What {@link toWays} has to be. */
export function toExpectedWays(kind: ServerKind, visits: number): { ways: string[]; keys: number } {
  return kind === 'h2'
    ? { ways: ['stream of HTTP/2'], keys: 0 }
    : { ways: ['socket of HTTP/1.1'], keys: visits }
}
