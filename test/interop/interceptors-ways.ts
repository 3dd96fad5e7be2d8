/** The ways to send a request through a dispatcher, each with the same response. */

import { Writable } from 'node:stream'
import { fetch as ownFetch, request } from '../../src/index.ts'
import type { Dispatcher } from '../../types/index.ts'
import { read } from '../support/servers/server.ts'
import type { Asked, ResponseScript, Undici } from './interceptors-undicis.ts'
import { toResponse } from './interceptors-undicis.ts'

export interface Way {
  readonly name: string
  readonly isFetch: boolean
  ask(undici: Undici, dispatcher: Dispatcher, url: string, asked?: Asked): Promise<ResponseScript>
}

function toOptions(url: string, asked: Asked) {
  const { origin, pathname, search } = new URL(url)
  return { origin, path: pathname + search, method: 'GET', ...asked }
}

const REQUEST: Way = {
  name: 'request()',
  isFetch: false,
  async ask(_undici, dispatcher, url, asked = {}) {
    const { statusCode, headers, body } = await dispatcher.request(toOptions(url, asked))
    return { status: statusCode, headers, text: await body.text() }
  },
}

const STREAM: Way = {
  name: 'stream()',
  isFetch: false,
  async ask(_undici, dispatcher, url, asked = {}) {
    const chunks: Buffer[] = []
    let head: Omit<ResponseScript, 'text'> = { status: 0, headers: {} }
    await dispatcher.stream(toOptions(url, asked), ({ statusCode, headers }) => {
      head = { status: statusCode, headers }
      return new Writable({
        write(chunk: Buffer, _encoding, onWritten) {
          chunks.push(chunk)
          onWritten()
        },
      })
    })
    return { ...head, text: Buffer.concat(chunks).toString() }
  },
}

/** Its request has a body, a stream that is empty here: that is neither retried nor redirected. */
export const PIPELINE: Way = {
  name: 'pipeline()',
  isFetch: false,
  async ask(_undici, dispatcher, url, asked = {}) {
    let head: Omit<ResponseScript, 'text'> = { status: 0, headers: {} }
    const duplex = dispatcher.pipeline(toOptions(url, asked), ({ statusCode, headers, body }) => {
      head = { status: statusCode, headers }
      return body
    })
    duplex.end()
    return { text: await read(duplex), ...head }
  },
}

const TOP_LEVEL: Way = {
  name: 'the top-level request()',
  isFetch: false,
  async ask(_undici, dispatcher, url, asked = {}) {
    const { statusCode, headers, body } = await request(url, { ...asked, dispatcher })
    return { status: statusCode, headers, text: await body.text() }
  },
}

export const BUILTIN_FETCH: Way = {
  name: 'the built-in fetch',
  isFetch: true,
  ask: async (_undici, dispatcher, url, asked = {}) => toResponse(await fetch(url, { ...asked, dispatcher })),
}

export const OWN_FETCH: Way = {
  name: 'our fetch',
  isFetch: true,
  ask: async (_undici, dispatcher, url, asked = {}) =>
    toResponse(await ownFetch(url, { ...asked, dispatcher })),
}

/** Those of the undici whose interceptors they are. */
export const UNDICI_WAYS: readonly Way[] = [
  {
    name: "undici's request()",
    isFetch: false,
    ask: (undici, dispatcher, url, asked = {}) => undici.request(url, dispatcher, asked),
  },
  {
    name: "undici's fetch",
    isFetch: true,
    ask: (undici, dispatcher, url, asked = {}) => undici.fetch(url, dispatcher, asked),
  },
]

/** All but `pipeline()`. */
export const WAYS: readonly Way[] = [
  ...[REQUEST, STREAM, TOP_LEVEL, OWN_FETCH, BUILTIN_FETCH],
  ...UNDICI_WAYS,
]

/** Each undici with each of the ways. */
export function toCases<TUndici extends Undici>(undicis: readonly TUndici[], ways: readonly Way[]) {
  return undicis.flatMap((undici) => ways.map((way) => ({ undici, way, from: undici.name, what: way.name })))
}

/** What a fetch wraps an error in; both where its name is AbortError. */
const WRAPPINGS: ReadonlySet<string> = new Set(['fetch failed', 'Request was cancelled.'])

/** The error of the interceptor or the dispatcher. */
export async function toReason(promise: Promise<unknown>): Promise<unknown> {
  let error: unknown = await promise.then(
    () => new Error('it succeeded'),
    (thrown) => thrown,
  )
  while (error instanceof Error && WRAPPINGS.has(error.message)) error = error.cause
  return error
}
