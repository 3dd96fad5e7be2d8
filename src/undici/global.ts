/**
 * What is global, with undici's meaning: one dispatcher for Dodici's functions, undici's, and Node's own.
 *
 * @module
 */

import type { Dispatcher as DispatcherType } from '../../types/dispatcher.ts'
import type { FetchInit } from '../../types/fetch.ts'
import {
  errors,
  getGlobalDispatcher as getOwnDispatcher,
  Dispatcher as OwnDispatcher,
  connect as ownConnect,
  fetch as ownFetch,
  pipeline as ownPipeline,
  request as ownRequest,
  stream as ownStream,
  upgrade as ownUpgrade,
  install as putIntoSlots,
  setGlobalDispatcher as setOwnDispatcher,
} from '../index.ts'
import { Dispatcher } from './dispatcher.ts'
import { installed, toMajor, toName } from './installed.ts'
import { isInstance } from './symbols.ts'

/**
 * Sets the dispatcher for all: Dodici's functions, the installed undici, and Node's own fetch, WebSocket and
 * EventSource. The previous one is neither closed nor destroyed.
 *
 * @throws InvalidArgumentError if it can't dispatch
 */
export function setGlobalDispatcher(dispatcher: DispatcherType): void {
  setOwnDispatcher(dispatcher)
  putIntoUndici(dispatcher)
  known = readTheirs()
}

function putIntoUndici(dispatcher: DispatcherType): void {
  // Dispatchers of undici 6 take its own handlers alone, and those of undici 8 need a wrapper for older handlers: its
  // own function knows how. Dodici's dispatchers, and those of undici 7, take the handlers of each.
  const isOurs = dispatcher instanceof OwnDispatcher
  if (!isOurs && installed.state === 'loaded' && toMajor(installed.names, installed.version) !== 7) {
    Reflect.apply(Reflect.get(installed.names, 'setGlobalDispatcher'), undefined, [dispatcher])
  } else {
    putWhereThereAreSlots(dispatcher)
  }
}

/** The dispatcher that undici's functions use; undefined without undici. */
function readTheirs(): unknown {
  if (installed.state !== 'loaded') return undefined
  return Reflect.apply(Reflect.get(installed.names, 'getGlobalDispatcher'), undefined, [])
}

/** The first result of {@link readTheirs}, or the one after our last {@link setGlobalDispatcher}. */
let known = readTheirs()

/**
 * The dispatcher that other code has set with undici's own function; null for none. Node sets its own as it loads its
 * fetch: that one is an instance of neither package's classes.
 */
function findTheirs(): DispatcherType | null {
  const present = readTheirs()
  if (present === known || !(present instanceof Dispatcher) || installed.state !== 'loaded') return null
  const { Dispatcher: theirs }: { Dispatcher?: unknown } = installed.names
  return isInstance(present, theirs) || present instanceof OwnDispatcher ? present : null
}

/** Returns the dispatcher for all: the last one that was set, with this entry's function or with undici's. */
export function getGlobalDispatcher(): DispatcherType {
  return findTheirs() ?? getOwnDispatcher()
}

/** Whether options name their own dispatcher, or are invalid: then they are left as they are. */
function isSettled(options: unknown): boolean {
  if (typeof options !== 'object' || options === null) return true
  const { dispatcher }: { dispatcher?: unknown } = options
  return dispatcher !== undefined && dispatcher !== null
}

/**
 * The arguments of a call, using the dispatcher that other code has set with undici's own function, unless the call
 * names one.
 */
function withTheirs(given: unknown[]): unknown[] {
  const dispatcher = findTheirs()
  if (dispatcher === null) return given
  const add = (options: unknown): unknown =>
    isSettled(options) ? options : { ...(options as object), dispatcher }
  const [url, ...rest] = given
  // As in undici, the options may be missing.
  const [options, ...others] = typeof rest[0] === 'function' ? [null, ...rest] : rest
  if (options !== undefined && options !== null) return [url, add(options), ...others]
  // A single argument may contain both the parts of the URL and the options.
  const isUrl = typeof url !== 'object' || Object.prototype.toString.call(url) === '[object URL]'
  return isUrl ? [url, { dispatcher }, ...others] : [add(url), null, ...others]
}

/** One of Dodici's functions, using the dispatcher for all. */
function toGlobal<TFunction extends (...args: never[]) => unknown>(send: TFunction): TFunction {
  return new Proxy(send, {
    apply: (target, self, given: unknown[]) => Reflect.apply(target, self, withTheirs(given)),
  })
}

/**
 * Adds the global dispatcher to a `fetch()` init. A copy would lose members that the init inherits: a Request inherits
 * all of its own.
 */
function toInit(init: FetchInit | null | undefined): FetchInit | null | undefined {
  const dispatcher = findTheirs()
  if (dispatcher === null) return init
  if (init === undefined || init === null) return { dispatcher }
  if (isSettled(init)) return init
  return new Proxy(init, {
    get: (target, name): unknown => (name === 'dispatcher' ? dispatcher : Reflect.get(target, name)),
  })
}

export const request = toGlobal(ownRequest)
export const stream = toGlobal(ownStream)
export const pipeline = toGlobal(ownPipeline)
export const connect = toGlobal(ownConnect)
export const upgrade = toGlobal(ownUpgrade)

/** The fetch in Bun and Deno accepts no dispatcher: there, only Dodici's functions use it. */
function putWhereThereAreSlots(dispatcher: DispatcherType): void {
  try {
    putIntoSlots(dispatcher)
  } catch (error) {
    if (!(error instanceof errors.NotSupportedError)) throw error
  }
}

/** Where undici stores it. */
const GLOBAL_ORIGIN = Symbol.for('undici.globalOrigin.1')

/** Returns the base URL for relative URLs in `fetch()`; undefined for none. */
export function getGlobalOrigin(): URL | undefined {
  const origin: unknown = Reflect.get(globalThis, GLOBAL_ORIGIN)
  return origin instanceof URL ? origin : undefined
}

/**
 * Sets the base URL for relative URLs in `fetch()`, here and in undici.
 *
 * @param origin undefined for none
 * @throws TypeError if it isn't an http: or https: URL
 */
export function setGlobalOrigin(origin: string | URL | undefined): void {
  const value = origin === undefined ? undefined : new URL(origin)
  if (value !== undefined && value.protocol !== 'http:' && value.protocol !== 'https:') {
    throw new TypeError(`Only http & https urls are allowed, received ${value.protocol}`)
  }
  // The attributes are those of undici: it may define the property itself before or after.
  Object.defineProperty(globalThis, GLOBAL_ORIGIN, {
    value,
    writable: true,
    enumerable: false,
    configurable: false,
  })
}

/**
 * Dodici's fetch. It resolves a relative URL against {@link getGlobalOrigin}. As in undici, an error's stack leads to
 * the code that called fetch.
 */
export async function fetch(
  input: Parameters<typeof ownFetch>[0],
  init: FetchInit | undefined = undefined,
): Promise<Response> {
  const origin = getGlobalOrigin()
  const isRelative = origin !== undefined && typeof input === 'string' && URL.canParse(input, origin)
  try {
    return await ownFetch(isRelative ? new URL(input, origin) : input, toInit(init))
  } catch (thrown) {
    // Fetch's own error. The reason of a signal is the caller's.
    if (thrown instanceof TypeError) Error.captureStackTrace(thrown)
    throw thrown
  }
}

/** The classes that undici's `install()` makes global, in addition to fetch and its classes. */
const EVENTS = ['WebSocket', 'CloseEvent', 'ErrorEvent', 'MessageEvent', 'EventSource'] as const

/**
 * Makes Dodici's fetch global, with Node's classes that it uses, and the WebSocket and EventSource of the installed
 * undici. Without one, Node's own stay.
 */
export function install(): void {
  Object.assign(globalThis, { fetch, Headers, Response, Request, FormData })
  if (installed.state !== 'loaded') return
  for (const name of EVENTS) Reflect.set(globalThis, name, toName(name, installed))
}
