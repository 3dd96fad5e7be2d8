/** A request handler for the clients of the AWS SDK for JavaScript, version 3. All of them share the dispatcher's connections. */

// @ts-check

/** @typedef {{ protocol: string, hostname: string, port?: number, path: string, method: string, query?: Record<string, string | string[] | null>, headers: Record<string, string>, body?: unknown }} AwsRequest */

/** Both sides of an event stream may be silent, so no timeout ends it. Milliseconds. */
const NO_CLOCKS = { headersTimeout: 0, bodyTimeout: 0, uploadTimeout: 0 }

/** @param {string} text */
const toEscaped = (text) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

/** @param {AwsRequest['query']} query */
function toSearch(query = {}) {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === null ? [toEscaped(name)] : [value].flat().map((one) => `${toEscaped(name)}=${toEscaped(one)}`),
  )
  return pairs.length > 0 ? `?${pairs.join('&')}` : ''
}

/** For `requestHandler` of any client, such as `new KinesisClient({ requestHandler: new DodiciHandler(agent) })`. */
export class DodiciHandler {
  /** What the SDK signs, and whether it offers event streams in both directions. */
  metadata = { handlerProtocol: 'h2' }
  #dispatcher
  /** Of each request, such as `headersTimeout`. @type {Record<string, unknown>} */
  #options

  /** @param {import('dodici').Dispatcher} dispatcher an Agent @param {Record<string, unknown>} [options] of each request */
  constructor(dispatcher, options = {}) {
    this.#dispatcher = dispatcher
    this.#options = options
  }

  /** @param {AwsRequest} request @param {{ abortSignal?: AbortSignal, requestTimeout?: number }} [options] */
  async handle(request, { abortSignal, requestTimeout } = {}) {
    const { protocol, hostname, port, path, query, method, body } = request
    const { ':authority': authority, expect, ...headers } = request.headers
    if (authority !== undefined) headers.host = authority
    const isEventStream = headers['content-type'] === 'application/vnd.amazon.eventstream'
    try {
      const response = await this.#dispatcher.request({
        ...this.#options,
        ...(isEventStream ? NO_CLOCKS : {}),
        ...(requestTimeout === undefined ? {} : { requestTimeout }),
        origin: `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`,
        path: `${path}${toSearch(query)}`,
        method,
        headers,
        body: /** @type {import('dodici').RequestBody} */ (
          method === 'GET' || method === 'HEAD' ? null : (body ?? null)
        ),
        expectContinue: expect !== undefined,
        signal: abortSignal,
      })
      const flat = Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(', ')])
      return {
        response: { statusCode: response.statusCode, headers: Object.fromEntries(flat), body: response.body },
      }
    } catch (error) {
      throw toAwsError(error)
    }
  }

  /** @param {string | symbol} name @param {unknown} value */
  updateHttpClientConfig(name, value) {
    // The SDK's own marks are symbols.
    if (typeof name === 'string') this.#options = { ...this.#options, [name]: value }
  }

  httpHandlerConfigs() {
    return this.#options
  }

  /** The dispatcher is the caller's: another client may use it. */
  destroy() {}
}

/** The SDK retries by the names and codes of Node's errors. @param {unknown} error */
function toAwsError(error) {
  if (!(error instanceof Error)) return error
  const { code } = /** @type {Error & { code?: unknown }} */ (error)
  if (code === 'UND_ERR_SOCKET')
    return Object.assign(new Error(error.message, { cause: error }), { code: 'ECONNRESET' })
  if (/TIMEOUT$/.test(String(code)))
    return Object.assign(new Error(error.message, { cause: error }), { name: 'TimeoutError' })
  return error
}
