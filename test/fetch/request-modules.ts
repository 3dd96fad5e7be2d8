/** Those who make Requests: Node, and npm's undicis. Importing the latter changes what dispatcher is global. */

import type { RequestLike } from '../../types/fetch.ts'

/** What the tests use of a FormData, of whomever's making. */
export interface FormLike {
  append(name: string, value: string): void
  append(name: string, value: Blob, fileName: string): void
}

/** Who makes Requests, and what else belongs to them. */
export interface RequestModule {
  readonly name: string
  readonly Request: new (url: string, init?: object) => RequestLike
  readonly FormData: new () => FormLike
  readonly Headers: new (init?: object) => Headers
}

/** By a name that the compiler doesn't see: each has types of its own. */
async function load(name: string): Promise<RequestModule> {
  const { Request, FormData, Headers }: RequestModule = await import(name)
  return { name, Request, FormData, Headers }
}

/** undici 8 doesn't load on Node 20. */
const UNDICIS: readonly string[] =
  process.versions.node.split('.')[0] === '20' ? ['undici-6', 'undici'] : ['undici-6', 'undici', 'undici-8']

const { Request, FormData, Headers }: RequestModule = Object(globalThis)

/** Node's own, and npm's. */
export const MODULES: readonly RequestModule[] = [
  { name: 'Node', Request, FormData, Headers },
  ...(await Promise.all(UNDICIS.map(load))),
]
