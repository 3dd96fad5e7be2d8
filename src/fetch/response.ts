/**
 * The Response that fetch returns.
 *
 * @module
 */

import { Readable } from 'node:stream'
import type { ConnectionInfo } from '../../types/connection.ts'
import type { DispatchController } from '../../types/handler.ts'
import { readArrayBuffer, readBytes, readText, toJson, toJsonError } from '../core/body-bytes.ts'
import { KeptPieces } from '../core/kept-pieces.ts'
import { noop } from '../core/noop.ts'
import { withoutSecrets } from '../core/validate.ts'
import type { RawHeadersSource } from '../request/headers.ts'
import { readAll } from './read-all.ts'
import type { ResponseBody } from './response-body.ts'
import { toFetchHeaders } from './response-headers.ts'

/** A response without its body, known when its header section has arrived. */
export interface ResponseResult {
  readonly type: 'basic' | 'cors' | 'opaque'
  /** Without fragment. */
  readonly url: string
  readonly redirected: boolean
  readonly status: number
  readonly statusText: string
  readonly headers: RawHeadersSource
  /**
   * Has the fields as they arrived; they are read when the caller reads them, because `headers` lacks some
   * duplicates. Null for none.
   */
  readonly controller: Pick<DispatchController, 'rawHeaders' | 'connection'> | null
}

/**
 * Cancels the branches of garbage-collected clones: an unreachable branch would hold everything that the other one
 * reads.
 */
const unread = new FinalizationRegistry((branch: WeakRef<ReadableStream>) => {
  const stream = branch.deref()
  if (stream === undefined || stream.locked || isDisturbed(stream)) return
  stream.cancel('The Response was garbage-collected before its body was read').catch(noop)
})

/** The name of the method that `util.inspect()` calls. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/** A response without a body can be read any number of times: this stays empty. */
const NOTHING = Promise.resolve(new KeptPieces())

/** The message in Node's fetch: programs compare it. */
const SPENT = 'Body is unusable: Body has already been read'

/**
 * The response from `fetch()`. It is an `instanceof Response` because of its prototype. undici's constructor hasn't
 * run, so a request doesn't pay for a Headers and a stream that are never read. Code that reads undici's private
 * state gets undici's error; on Node 20 and 22, where symbols hide the state, it gets the state of a Response created
 * from this one.
 */
export class FetchResponse {
  readonly #result: ResponseResult
  /** Null until they are read. */
  #headers: Headers | null = null
  /** Null without a body, and once its stream was teed. */
  #body: ResponseBody | null
  /** Null until it is read. */
  #stream: ReadableStream<Uint8Array> | null = null
  /** Whether the stream is a branch that only this object has. */
  #isBranch = false
  /** Whether text() or a similar method was called. */
  #isConsumed = false
  /** A Response of the global class; null until a member is read that only such a Response has. */
  #builtin: Response | null = null

  constructor(result: ResponseResult, body: ResponseBody | null) {
    this.#result = result
    this.#body = body
    body?.belongTo(this)
  }

  get type(): string {
    return this.#result.type
  }

  get url(): string {
    return this.#result.url
  }

  get redirected(): boolean {
    return this.#result.redirected
  }

  get status(): number {
    return this.#result.status
  }

  get ok(): boolean {
    const { status } = this.#result
    return status >= 200 && status <= 299
  }

  get statusText(): string {
    return this.#result.statusText
  }

  get headers(): Headers {
    const { controller, headers } = this.#result
    this.#headers ??= toFetchHeaders(controller?.rawHeaders ?? headers)
    return this.#headers
  }

  get body(): ReadableStream<Uint8Array> | null {
    if (this.#stream === null && this.#body !== null) {
      this.#stream = this.#body.toStream()
      // `text()` or its like has the body: the stream is locked.
      if (this.#isConsumed) this.#stream.getReader()
    }
    // From now on the caller has the stream, too.
    if (this.#isBranch) unread.unregister(this)
    this.#isBranch = false
    return this.#stream
  }

  get bodyUsed(): boolean {
    return this.#isConsumed || (this.#stream !== null && isDisturbed(this.#stream))
  }

  text(): Promise<string> {
    return this.#read(readText)
  }

  json(): Promise<unknown> {
    return this.#read(FetchResponse.#parse)
  }

  static #parse(kept: KeptPieces, response: FetchResponse): unknown {
    const bytes = kept.join()
    try {
      return toJson(bytes)
    } catch (thrown) {
      const { status, url } = response
      throw toJsonError(thrown, bytes, {
        target: toTarget(url),
        status,
        contentType: response.headers.get('content-type'),
      })
    }
  }

  arrayBuffer(): Promise<ArrayBuffer> {
    return this.#read(readArrayBuffer)
  }

  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#read(readBytes)
  }

  blob(): Promise<Blob> {
    return this.#read((kept) => this.#toTyped(kept).blob())
  }

  formData(): Promise<FormData> {
    return this.#read((kept) => this.#toTyped(kept).formData())
  }

  textStream(): ReadableStream<string> {
    if (this.#isUnusable) throw new TypeError(SPENT)
    const body = this.body ?? new Blob([]).stream()
    return body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
  }

  clone(): Response {
    if (this.#isUnusable) throw new TypeError('Response.clone: Body has already been consumed.')
    const copy = makeOwn(this.#result, null)
    const { body } = this
    if (body !== null) {
      const [own, other] = body.tee()
      this.#body = null
      this.#have(own)
      copy.#have(other)
    }
    return asResponse(copy)
  }

  /** What `util.inspect()` and `console.log()` show: the same as for Node's own Response, without the URL's query. */
  [INSPECT](_depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
    const { status, statusText, headers, body, bodyUsed, ok, redirected, type } = this
    const url = withoutSecrets(this.url)
    const shown = { status, statusText, headers, body, bodyUsed, ok, redirected, type, url }
    return `Response ${inspect(shown, options)}`
  }

  /** Uses a branch of the teed stream as its body. */
  #have(branch: ReadableStream<Uint8Array>): void {
    this.#stream = branch
    this.#isBranch = true
    unread.register(this, new WeakRef(branch), this)
  }

  /**
   * A Response of the global class with the same content, for code that reads undici's private state through a
   * symbol.
   */
  static toBuiltin(response: FetchResponse): Response {
    const { body, status, statusText, headers } = response
    response.#builtin ??= new Response(body, { status, statusText, headers })
    return response.#builtin
  }

  /** Whether `fetch()` has created it: `instanceof` is true for any Response. */
  static isOwn(value: object): value is FetchResponse {
    return #result in value
  }

  /** What carried the response; null if no call did. The standard's Response has no such member. */
  static toConnection(response: FetchResponse): ConnectionInfo | null {
    return response.#result.controller?.connection ?? null
  }

  get #isUnusable(): boolean {
    return this.bodyUsed || this.#stream?.locked === true
  }

  /** Node's own Response knows the types of forms and blobs. */
  #toTyped(kept: KeptPieces): Response {
    const type = this.headers.get('content-type')
    return new Response(kept.joinOwn(), type === null ? {} : { headers: { 'content-type': type } })
  }

  /** Reads the body without a web stream, unless the body is a branch of a teed stream. */
  #read<T>(convert: (kept: KeptPieces, response: FetchResponse) => T | PromiseLike<T>): Promise<T> {
    const body = this.#body
    if (this.#isUnusable) return Promise.reject(new TypeError(SPENT))
    if (body === null) {
      const all = this.#stream === null ? NOTHING : readAll(this.#stream)
      return all.then((kept) => convert(kept, this))
    }
    this.#isConsumed = true
    this.#stream?.getReader()
    return body.read(convert, this) as Promise<T>
  }
}

/** The path of a URL. An opaque response shows none. */
function toTarget(url: string): string {
  return url === '' ? url : new URL(url).pathname
}

/** Node's own function accepts web streams, too, but its types omit them. */
function isDisturbed(stream: ReadableStream): boolean {
  return Readable.isDisturbed(stream as unknown as Readable)
}

type ResponseClass = new (result: ResponseResult, body: ResponseBody | null) => FetchResponse

/** The current global `Response`, and the class for it; null before the first response. */
let current: { readonly global: typeof Response; readonly own: ResponseClass } | null = null

/** Creates the Response that `fetch()` returns. */
export function makeResponse(result: ResponseResult, body: ResponseBody | null): Response {
  return asResponse(makeOwn(result, body))
}

/** It has all members of the type, through its prototype. */
function asResponse(response: FetchResponse): Response {
  return response as unknown as Response
}

function makeOwn(result: ResponseResult, body: ResponseBody | null): FetchResponse {
  const global = globalThis.Response
  if (current === null || current.global !== global) current = { global, own: makeClass(global) }
  return new current.own(result, body)
}

/**
 * A class whose instances are `instanceof` the global class. It is created for the first response, not earlier,
 * because reading `Response` loads undici. It is created again if the global class was replaced.
 */
function makeClass(global: typeof Response): ResponseClass {
  const own = class extends FetchResponse {}
  const { prototype } = own
  const members = Object.getOwnPropertyDescriptors(FetchResponse.prototype)
  for (const [name, member] of Object.entries(members)) {
    Object.defineProperty(prototype, name, { ...member, enumerable: name in global.prototype })
  }
  Object.defineProperty(prototype, INSPECT, { value: FetchResponse.prototype[INSPECT] })
  Object.setPrototypeOf(prototype, global.prototype)
  Object.defineProperty(prototype, 'constructor', { value: global, enumerable: false })
  // undici 6 has its state behind symbols, and reads it without a check.
  for (const symbol of Object.getOwnPropertySymbols(new global())) {
    Object.defineProperty(prototype, symbol, {
      get(this: FetchResponse): unknown {
        return Reflect.get(FetchResponse.toBuiltin(this), symbol)
      },
      configurable: true,
    })
  }
  return own
}
