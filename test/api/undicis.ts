/** What Dodici and each undici have in common, for tests that play a scene on all of them. */

import * as undici7 from 'undici'
import * as undici6 from 'undici-6'
import * as dodici from '../../src/index.ts'

export interface AnyDispatcher {
  destroy(): Promise<unknown>
  request(options: object): Promise<{ body: { text(): Promise<string>; dump(): Promise<unknown> } }>
}

export interface AnyLibrary {
  readonly Client: new (origin: string, options: object) => AnyDispatcher
  readonly Pool: new (origin: string, options: object) => AnyDispatcher
  readonly Agent: new (options: object) => AnyDispatcher
  readonly ProxyAgent: new (options: object) => AnyDispatcher
  readonly EnvHttpProxyAgent: new (options: object) => AnyDispatcher
}

export const ours = dodici as unknown as AnyLibrary

/** undici 8 doesn't load on Node 20. */
export const UNDICIS: readonly (readonly [string, AnyLibrary])[] = [
  ['undici 6', undici6 as unknown as AnyLibrary],
  ['undici 7', undici7 as unknown as AnyLibrary],
  ...(Number(process.versions.node.split('.')[0]) >= 22
    ? [['undici 8', (await import('undici-8')) as unknown as AnyLibrary] as const]
    : []),
]
