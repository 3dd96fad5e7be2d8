/** The calls of a round: their API, their body, how the response is read, and when the call ends. */

import type { Random } from '../../protocol/hpack/support.ts'

/** How a response's body is read. */
export const READERS = [
  ...['text', 'json', 'bytes', 'arrayBuffer', 'blob', 'formData', 'iterate', 'iterate and stop', 'events'],
  ...['readable', 'pipe slowly', 'pipe', 'pause', 'destroy', 'destroy with an error', 'dump', 'dump little'],
  ...['dump until aborted', 'web', 'web and cancel', 'never', 'only listen', 'text later', 'events later'],
  ...['encoding', 'read twice'],
] as const satisfies readonly string[] as readonly [string, ...string[]]

/** How a Response of fetch is read. */
export const FETCH_READERS = [
  ...['text', 'json', 'arrayBuffer', 'blob', 'formData', 'reader', 'reader and cancel', 'cancel', 'clone'],
  ...['tee and cancel one', 'iterate', 'pipeTo', 'never', 'text later', 'byob'],
] as const satisfies readonly string[] as readonly [string, ...string[]]

/** How a tunnel is used, besides listening for its end. */
export const TUNNEL_READERS = [
  ...['events', 'echo', 'iterate', 'pause', 'never', 'destroy', 'destroy with an error', 'end at once'],
  ...['pipe slowly'],
] as const satisfies readonly string[] as readonly [string, ...string[]]

/** The body of a request. */
export interface BodyPlan {
  readonly kind:
    | 'none'
    | 'string'
    | 'bytes'
    | 'readable'
    | 'generator'
    | 'web'
    | 'factory'
    | 'blob'
    | 'form'
    | 'search'
  readonly chunks: number
  /** Bytes. */
  readonly size: number
  /** Milliseconds between two chunks. */
  readonly gap: number
  /** How a source ends. */
  readonly end: 'well' | 'fails' | 'never'
}

/** One call. */
export interface CallPlan {
  readonly api:
    | 'request'
    | 'callback'
    | 'stream'
    | 'stream callback'
    | 'pipeline'
    | 'connect'
    | 'upgrade'
    | 'fetch'
    | 'dispatch'
    | 'legacy'
  readonly method: string
  /** Milliseconds from the round's begin. */
  readonly at: number
  readonly body: BodyPlan
  readonly reader: string
  /** Whether the harness listens for the end, too. */
  readonly listens: boolean
  /** Milliseconds that a slow reader takes for a piece, and a late one before it begins. */
  readonly pace: number
  /** When its signal fires: null for never, 0 for before it begins. Milliseconds. */
  readonly abortAt: number | null
  readonly hasEmitter: boolean
  readonly options: Readonly<Record<string, unknown>>
  /** The method in which a handler of `dispatch()` throws; null for none. */
  readonly throwsIn: string | null
}

/** One call of a plan. */
export function toCallPlan(random: Random): CallPlan {
  const api = random.pick([
    ...(['request', 'request', 'request', 'callback', 'stream', 'stream callback', 'pipeline'] as const),
    ...(['connect', 'upgrade', 'fetch', 'fetch', 'dispatch', 'legacy'] as const),
  ] as [CallPlan['api'], ...CallPlan['api'][]])
  const isTunnel = api === 'connect' || api === 'upgrade'
  const method = random.pick(['GET', 'GET', 'GET', 'HEAD', 'POST', 'POST', 'PUT', 'DELETE'])
  return {
    api,
    method,
    at: random.below(3) === 0 ? random.below(60) : 0,
    body: toBodyPlan(random, method, api),
    reader: random.pick(isTunnel ? TUNNEL_READERS : api === 'fetch' ? FETCH_READERS : READERS),
    listens: random.below(4) > 0,
    pace: random.pick([1, 5, 20]),
    abortAt: random.below(5) === 0 ? random.pick([0, 1, 2, random.below(50), random.below(400)]) : null,
    hasEmitter: random.below(4) === 0,
    options: toCallOptions(random, api),
    throwsIn:
      random.below(8) === 0
        ? random.pick(['onRequestStart', 'onResponseStart', 'onResponseData', 'onResponseEnd'])
        : null,
  }
}

function toBodyPlan(random: Random, method: string, api: string): BodyPlan {
  const isAllowed = api === 'fetch' ? method !== 'GET' && method !== 'HEAD' : random.below(8) === 0
  const hasBody = isAllowed || method === 'POST' || method === 'PUT'
  return {
    kind:
      !hasBody || random.below(5) === 0
        ? 'none'
        : random.pick([
            ...(['string', 'bytes', 'readable', 'generator', 'web', 'factory', 'blob', 'form'] as const),
            'search',
          ] as [BodyPlan['kind'], ...BodyPlan['kind'][]]),
    chunks: random.below(5),
    size: random.pick([0, 1, 10, 1_000, 16_384, 40_000, 100_000]),
    gap: random.pick([0, 0, 1, 30]),
    end: random.pick(['well', 'well', 'well', 'well', 'fails', 'never']),
  }
}

function toCallOptions(random: Random, api: string): Record<string, unknown> {
  const options: Record<string, unknown> = {}
  const maybe = (name: string, value: unknown): void => {
    if (random.below(10) === 0) options[name] = value
  }
  if (api === 'fetch') {
    options.redirect = random.pick(['follow', 'follow', 'manual', 'error'])
    return options
  }
  maybe('expectContinue', true)
  maybe('trailers', { 'x-sum': '1' })
  maybe('idempotent', random.below(2) === 0)
  maybe('headersTimeout', random.pick([50, 100]))
  maybe('bodyTimeout', random.pick([50, 100]))
  maybe('requestTimeout', random.pick([30, 200]))
  maybe('queueTimeout', random.pick([20, 100]))
  maybe('maxResponseSize', random.pick([0, 100]))
  maybe('responseHeaders', 'raw')
  maybe('highWaterMark', random.pick([0, 1, 1_000]))
  maybe('priority', { urgency: 1 })
  maybe('sensitiveHeaders', ['x-call'])
  return options
}
