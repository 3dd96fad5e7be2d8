/**
 * The APIs as functions that take a URL, over the global dispatcher or the one in the options.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { Callback } from '../../types/api-methods.ts'
import type { AnyDispatchHandler } from '../../types/handler.ts'
import type {
  ConnectOptions,
  DispatchOptions,
  HeaderForm,
  PipelineOptions,
  RequestOptions,
  UpgradeOptions,
} from '../../types/request.ts'
import type {
  ConnectData,
  PipelineHandler,
  ResponseData,
  StreamData,
  StreamFactory,
  UpgradeData,
} from '../../types/response.ts'
import type {
  ConnectFunction,
  PipelineFunction,
  RequestFunction,
  RequestUrl,
  StreamFunction,
  TopLevelOptions,
  UpgradeFunction,
} from '../../types/top-level.ts'
import type { Dispatching } from '../api/api-handler.ts'
import { connect as connectBy } from '../api/connect.ts'
import { pipeline as pipelineBy } from '../api/pipeline.ts'
import { request as requestBy } from '../api/request.ts'
import { stream as streamBy } from '../api/stream.ts'
import { upgrade as upgradeBy } from '../api/upgrade.ts'
import { isUrl } from '../core/realms.ts'
import { invalid, invalidKind, showTarget, toInvalid } from '../core/validate.ts'
import { Dispatcher, isDispatcher } from '../dispatcher/dispatcher.ts'
import { toTwoShapedHandler } from '../handler/legacy-handler.ts'
import { toOrigin } from '../options/options.ts'
import { toUrl, withoutUrlPieces, withSlash } from '../options/url-object.ts'
import { getGlobalDispatcher } from './global.ts'

/** The dispatcher and the options of one call. */
interface Aim {
  readonly dispatcher: Dispatching
  /** The caller's options, with origin, path and method. */
  readonly options: RequestOptions<unknown>
}

function toTarget(url: unknown): URL {
  try {
    return url instanceof URL ? url : toUrl(url)
  } catch {
    const accepted = 'an http: or https: URL: a string, a URL, or an object that url.format() takes'
    throw toInvalid('url', showTarget(url), accepted)
  }
}

/**
 * The dispatcher from the option; by default the global one.
 *
 * @throws InvalidArgumentError for a value that can't dispatch
 */
export function toDispatcher(dispatcher: unknown): Dispatching {
  const given = dispatcher ?? getGlobalDispatcher()
  if (!isDispatcher(given)) throw invalid('dispatcher', given, 'an object with a dispatch() method')
  if (given instanceof Dispatcher) return given
  return new ForeignDispatcher(given)
}

/** A dispatcher from another package. Those from undici 6, such as MockAgent, only know handlers of the older shape. */
class ForeignDispatcher implements Dispatching {
  readonly #given: object & Dispatching

  constructor(given: object & Dispatching) {
    this.#given = given
  }

  /**
   * For fetch: whether it is an active MockAgent that sends a form as it was encoded. undici 6 and 7, which have no
   * `eventSourceOptions`, would encode the form again, with a boundary other than the one in `content-type`.
   */
  get isMockActive(): boolean {
    return Reflect.get(this.#given, 'isMockActive') === true && 'eventSourceOptions' in this.#given
  }

  dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean {
    return this.#given.dispatch(options, toTwoShapedHandler(options, handler))
  }
}

type GivenOptions = TopLevelOptions & { path?: unknown; body?: unknown }

/** A single argument may contain both: the parts of the URL, and the options. */
function toOptions(url: unknown, given: GivenOptions | null | undefined): GivenOptions {
  if (given !== undefined && given !== null) {
    if (typeof given !== 'object') throw invalidKind('options', given, 'an object')
    return given
  }
  return typeof url === 'object' && url !== null && !isUrl(url) ? withoutUrlPieces(url) : {}
}

/** As in undici: the option `path` replaces the URL's path; the default method is PUT with a body, else GET. */
function aim(url: RequestUrl, given: GivenOptions | null | undefined): Aim {
  const { dispatcher, ...options } = toOptions(url, given)
  const { origin, pathname, search } = toTarget(url)
  const { path } = options
  if (path !== undefined && path !== null && typeof path !== 'string') throw invalid('path', path, 'a string')
  const own = toOrigin(origin)
  // As in undici, it is a part of a URL: it may have spaces, steps such as `..`, or a fragment.
  const target =
    path === undefined || path === null ? { pathname, search } : new URL(origin + withSlash(path))
  // An empty string is no body here.
  const method = options.method || (options.body ? 'PUT' : 'GET')
  return {
    dispatcher: toDispatcher(dispatcher),
    options: {
      ...(options as RequestOptions<unknown>),
      origin: own.href,
      path: target.pathname + target.search,
      method,
    },
  }
}

/** Invalid arguments reject the promise. With a callback, they throw, as in undici. */
function attempt<T>(callback: unknown, start: () => T): T | Promise<never> {
  if (callback !== undefined) return start()
  try {
    return start()
  } catch (thrown) {
    return Promise.reject(thrown)
  }
}

/** As in undici, the options may be missing before a function. */
function toArguments(rest: readonly unknown[]): readonly unknown[] {
  return typeof rest[0] === 'function' ? [null, ...rest] : rest
}

/** The options that all overloads of a function share. The overloads are in types/. */
type Given<TOptions> = (TopLevelOptions & Partial<TOptions>) | null

/**
 * Sends a request and resolves when the response's header section has arrived. It follows no redirects and
 * decompresses nothing, and a status of 400 or more is no error.
 *
 * @example
 * const { statusCode, headers, body } = await request('https://localhost:12443/users', { query: { page: 2 } })
 * console.log(statusCode, await body.json())
 * @param url where to send it: a string, a URL, or an object with the parts of the URL and the options
 * @param options the options of a dispatcher's `request()`. `method` is `'GET'` by default, or `'PUT'` with a body.
 *   `path` replaces the URL's path. `dispatcher` is the global dispatcher by default.
 * @param callback called instead of returning a promise
 * @returns the status, the headers and the body. Read the body to its end, `dump()` it, or destroy it.
 * @throws one of `errors`; its `processed` says whether the server may have acted on the request
 */
export const request = ((
  url: RequestUrl,
  given?: Given<RequestOptions<unknown>> | Callback<ResponseData<unknown, HeaderForm>>,
  callback?: Callback<ResponseData<unknown, HeaderForm>>,
): unknown => {
  // As in undici, the options may be missing before a callback.
  if (typeof given === 'function') return request(url, null, given)
  return attempt(callback, () => {
    const { dispatcher, options } = aim(url, given)
    return requestBy(dispatcher, options, callback)
  })
}) as RequestFunction

/**
 * Sends a request and writes the response body to the Writable that `factory` returns. It resolves when the Writable
 * has finished. It has the same options as {@link request}.
 *
 * @example
 * await stream('https://localhost:12443/file', { opaque: 'file.bin' }, ({ opaque }) => createWriteStream(opaque))
 */
export const stream = ((url: RequestUrl, ...rest: unknown[]): unknown => {
  const [given, factory, callback] = toArguments(rest)
  return attempt(callback, () => {
    const { dispatcher, options } = aim(url, given as Given<RequestOptions<unknown>>)
    return streamBy(
      dispatcher,
      options,
      factory as StreamFactory<unknown, HeaderForm>,
      callback as Callback<StreamData<unknown, HeaderForm>> | undefined,
    )
  })
}) as StreamFunction

/**
 * Returns a Duplex. Write the request body to it, and read the stream that `handler` returns, such as the response
 * body, from it. It has the same options as {@link request}.
 */
export const pipeline = ((url: RequestUrl, ...rest: unknown[]): Duplex => {
  const [given, handler] = toArguments(rest)
  const { dispatcher, options } = aim(url, given as Given<PipelineOptions<unknown>>)
  return pipelineBy(dispatcher, options, handler as PipelineHandler<unknown, HeaderForm>)
}) as PipelineFunction

/**
 * Opens a tunnel through the server at `url` with CONNECT (RFC 9113 §8.5). The other options are the same as for
 * {@link request}.
 *
 * @param options `path` is the authority to connect to. Without it, the tunnel leads to the server itself.
 */
export const connect = ((
  url: RequestUrl,
  given?: Given<ConnectOptions<unknown>> | Callback<ConnectData<unknown, HeaderForm>>,
  callback?: Callback<ConnectData<unknown, HeaderForm>>,
): unknown => {
  if (typeof given === 'function') return connect(url, null, given)
  return attempt(callback, () => {
    // In one argument the path isn't part of the URL either.
    const path: unknown = Reflect.get(given ?? (typeof url === 'object' && !isUrl(url) ? url : {}), 'path')
    const isApart = given !== undefined && given !== null
    const { dispatcher, options } = aim(url, isApart ? { ...given, path: null } : given)
    return connectBy(dispatcher, { ...options, path: (path ?? '/') as string }, callback)
  })
}) as ConnectFunction

/**
 * Switches to another protocol, such as WebSocket: on a stream (extended CONNECT, RFC 8441), or on an HTTP/1.1
 * connection. The other options are the same as for {@link request}.
 */
export const upgrade = ((
  url: RequestUrl,
  given?: Given<UpgradeOptions<unknown>> | Callback<UpgradeData<unknown, HeaderForm>>,
  callback?: Callback<UpgradeData<unknown, HeaderForm>>,
): unknown => {
  if (typeof given === 'function') return upgrade(url, null, given)
  return attempt(callback, () => {
    const { dispatcher, options } = aim(url, given)
    return upgradeBy(dispatcher, options as UpgradeOptions<unknown>, callback)
  })
}) as UpgradeFunction
