/** The modules that make Requests: Node, and npm's undicis. Importing an undici may change the global dispatcher. */

import type { RequestLike } from '../../../types/fetch.ts'

/** The members of a FormData that the tests use, whichever module has made it. */
export interface FormLike {
  append(name: string, value: string): void
  append(name: string, value: Blob, fileName: string): void
}

/** A module that makes Requests, and its other classes. */
export interface RequestModule {
  readonly name: string
  readonly Request: new (url: string, init?: object) => RequestLike
  readonly FormData: new () => FormLike
  readonly Headers: new (init?: object) => Headers
}

/** Imported by a name that the compiler doesn't see: each module has types of its own. */
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
