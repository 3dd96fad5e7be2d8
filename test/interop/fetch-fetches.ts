/** Every fetch: our own, Node's, and those of npm's undici. */

import type { Blob, File } from 'node:buffer'
import type { ReadableStream } from 'node:stream/web'
import type { Agent } from '../../src/index.ts'
import * as dodici from '../../src/index.ts'

/** The members of a FormData that the tests use, whichever module has made it. */
export interface AnyFormData {
  append(name: string, value: string): void
  append(name: string, value: Blob, fileName: string): void
  get(name: string): string | File | null
  getAll(name: string): unknown[]
}

export type AnyBody =
  | string
  | Uint8Array
  | ArrayBuffer
  | Blob
  | URLSearchParams
  | AnyFormData
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>

export interface AnyInit {
  readonly dispatcher: Agent
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: AnyBody
  readonly duplex?: 'half'
  readonly redirect?: 'follow' | 'manual' | 'error'
  readonly signal?: AbortSignal
}

/** The members of a response that the tests use. */
export interface AnyResponse {
  readonly status: number
  readonly url: string
  readonly redirected: boolean
  readonly headers: { get(name: string): string | null; getSetCookie(): string[] }
  readonly body: ReadableStream<Uint8Array> | null
  text(): Promise<string>
  arrayBuffer(): Promise<ArrayBuffer>
  formData(): Promise<AnyFormData>
}

/** A Request of the same module as its fetch; of Node's for our own. */
export interface AnyRequest {
  readonly url: string
}

/** A fetch, and the FormData that it takes: undici 7 and 8 take no other's. */
export interface FetchModule {
  fetch(input: string | AnyRequest, init: AnyInit): Promise<AnyResponse>
  readonly FormData: new () => AnyFormData
  readonly Request: new (url: string, init: Omit<AnyInit, 'dispatcher'>) => AnyRequest
}

export interface NamedFetch extends FetchModule {
  readonly name: string
}

/** By a name that the compiler doesn't see: each has types of its own, and all of them serve the same tests. */
async function load(name: string): Promise<NamedFetch> {
  const { fetch, FormData, Request }: FetchModule = await import(name)
  return { name: `${name}'s fetch`, fetch, FormData, Request }
}

function toBuiltin(): NamedFetch {
  const { fetch, FormData, Request }: FetchModule = Object(globalThis)
  return { name: 'built-in fetch', fetch, FormData, Request }
}

/** It takes Node's FormData. */
function toOwn(): NamedFetch {
  const { fetch }: FetchModule = Object(dodici)
  return { ...toBuiltin(), name: 'our own fetch', fetch }
}

/** undici 8 doesn't load on Node 20. */
export const UNDICIS: readonly string[] =
  process.versions.node.split('.')[0] === '20' ? ['undici-6', 'undici'] : ['undici-6', 'undici', 'undici-8']

export const FETCHES: readonly NamedFetch[] = [
  toOwn(),
  toBuiltin(),
  ...(await Promise.all(UNDICIS.map(load))),
]
