/** A case of the Fetch standard, and what it is given. */

import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Protocol, Servers } from './standard-servers.ts'

export interface Case {
  /** Of the Fetch standard, and the step in words. */
  readonly section: string
  readonly what: string
  /** Throws when the case fails. */
  run(scene: Scene): Promise<unknown>
}

/** Makes the cases of a section; its step in words comes after the colon. */
export function inSection(section: string): (what: string, run: Case['run']) => Case {
  return (what, run) => ({ section, what, run })
}

/** Whatever a caller may pass, right or wrong. */
export type Fetch = (input?: unknown, init?: unknown) => Promise<Response>

export type Fields = readonly (readonly [string, string])[]

/** What a server is to respond. */
export interface ResponseScript {
  /** @default 200 */
  readonly status?: number
  /** Over HTTP/1.1. */
  readonly reason?: string
  readonly headers?: Fields
  /** A string is UTF-8. */
  readonly body?: string | Uint8Array
  /** How often that comes. @default 1 */
  readonly repeat?: number
  /** In how many writes the body comes. @default 1 */
  readonly pieces?: number
  /**
   * How the response ends: 'end', well; 'open', not at all after the header and the body; 'reset', by a failure after
   * these; 'hold', not at all, without a header; 'refuse', by a failure without a header.
   *
   * @default 'end'
   */
  readonly end?: 'end' | 'open' | 'reset' | 'hold' | 'refuse'
  /** Of the exchange, so that `happened` can tell of it. */
  readonly name?: string
  /** Doesn't wait for the request's body. */
  readonly early?: boolean
  /** Fields of a 103 that comes first. */
  readonly hints?: Readonly<Record<string, string>>
}

/** A request as the server got it. */
export interface Seen {
  readonly method: string
  /** With the query. */
  readonly path: string
  /** By their names in lower case, as often as they came. */
  readonly headers: Fields
  /** In base64. */
  readonly body: string
}

/** A URL at which the server sends that response. */
export function toUrl(origin: string, wanted: ResponseScript): string {
  const { status = 200, headers = [], body = '', repeat = 1, pieces = 1, end = 'end' } = wanted
  const bytes = Buffer.from(body).toString('base64')
  const script = JSON.stringify({ ...wanted, status, headers, body: bytes, repeat, pieces, end })
  return `${origin}/respond?${Buffer.from(script).toString('base64url')}`
}

/** The servers of a protocol, and one fetch. */
export class Scene {
  readonly fetch: Fetch
  readonly isHttp2: boolean
  readonly origin: string
  /** Another one of the same protocol. */
  readonly other: string
  /** Responds with bytes that no server of Node's would send. */
  readonly raw: string

  constructor(fetch: Fetch, protocol: Protocol, servers: Servers) {
    this.fetch = (...args) => handled(fetch(...args))
    this.isHttp2 = protocol === 'HTTP/2'
    const [origin, other] = servers.origins[protocol]
    this.origin = origin
    this.other = other
    this.raw = servers.raw
  }

  get inspectUrl(): string {
    return `${this.origin}/inspect`
  }

  url(script: ResponseScript, origin = this.origin): string {
    return toUrl(origin, script)
  }

  ask(script: ResponseScript, init?: unknown): Promise<Response> {
    return this.fetch(this.url(script), init)
  }

  /** The request that this call makes, which succeeds. */
  inspect(init?: unknown, input: unknown = this.inspectUrl): Promise<Seen> {
    return handled(this.fetch(input, init).then(toSeen))
  }

  redirect(status: number, location: string, init?: unknown, headers: Fields = []): Promise<Response> {
    return this.ask({ status, headers: [['location', location], ...headers] }, init)
  }

  toName(): string {
    return randomUUID()
  }

  /** Settles once the server has `seen` or `ended` the exchange of this name. */
  async happened(what: 'seen' | 'ended', name: string): Promise<void> {
    const response = await this.fetch(`${this.origin}/happened?${encodeURIComponent(`${what} ${name}`)}`)
    expect(await response.text()).toBe(`${what} ${name}`)
  }

  /** A call that must fail with a TypeError, by a promise. */
  async refuse(input: unknown, init?: unknown): Promise<TypeError> {
    return await toTypeError(this.fetch(input, init))
  }
}

/** A case that has failed already waits for no promise. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

export async function toSeen(response: Response): Promise<Seen> {
  expect(response.status).toBe(200)
  const text = await response.text()
  const seen: Seen = JSON.parse(text === '' ? decodeURIComponent(response.headers.get('x-seen') ?? '') : text)
  return seen
}

/** Null when there is none; several are combined. */
export function fieldOf(seen: Seen, name: string): string | null {
  const values = seen.headers.filter(([key]) => key === name).map(([, value]) => value)
  return values.length === 0 ? null : values.join(', ')
}

export function bodyOf(seen: Seen): string {
  return Buffer.from(seen.body, 'base64').toString()
}

/** What a promise is rejected with. */
export async function toReason(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => expect.fail('This is fulfilled, and should be rejected'),
    (reason: unknown) => reason,
  )
}

export async function toTypeError(promise: Promise<unknown>): Promise<TypeError> {
  const reason = await toReason(promise)
  expect(reason).toBeInstanceOf(TypeError)
  return reason instanceof TypeError ? reason : expect.fail()
}

export async function toDomException(promise: Promise<unknown>, name: string): Promise<void> {
  const reason = await toReason(promise)
  expect(reason).toBeInstanceOf(DOMException)
  expect(reason).toHaveProperty('name', name)
}
