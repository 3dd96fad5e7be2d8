/**
 * One request and its response, over HTTP/2 or HTTP/1.1, and what routes do with them.
 *
 * @module
 */

/** The part of node:http's and node:http2's requests that routes use. */
export interface IncomingRequest extends AsyncIterable<Buffer> {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly httpVersion: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The trailers that have arrived, once the body was read. */
  readonly trailers: Readonly<Record<string, string | string[] | undefined>>
  resume(): unknown
}

/** Fields of a header section or a trailer section. */
export type Fields = Readonly<Record<string, string | number>>

/** The part of node:http's and node:http2's responses that routes use. */
export interface OutgoingResponse {
  readonly statusCode: number
  readonly headersSent: boolean
  writeHead(status: number, fields: Record<string, string | number>): unknown
  write(bytes: Uint8Array): boolean
  addTrailers(fields: Record<string, string>): void
  end(): unknown
  end(bytes: Uint8Array): unknown
  destroy(error?: Error): unknown
  on(event: 'close' | 'drain', listener: () => void): unknown
  off(event: 'close' | 'drain', listener: () => void): unknown
}

/** Serves one request. A rejection becomes a 500, or aborts the response. */
export type Route = (exchange: Exchange) => Promise<void> | void

/** One request and its response. */
export class Exchange {
  readonly request: IncomingRequest
  readonly method: string
  /** Encoded, as it arrived, without the query; for a target that isn't in origin form (RFC 9112 §3.2), all of it. */
  readonly path: string
  readonly query: URLSearchParams
  /** How many bytes of the body the response was given. */
  sent = 0
  readonly #response: OutgoingResponse
  #isOver = false

  constructor(request: IncomingRequest, response: OutgoingResponse) {
    const target = request.url ?? ''
    const end = target.indexOf('?')
    this.request = request
    this.method = request.method ?? ''
    this.path = end === -1 ? target : target.slice(0, end)
    this.query = new URLSearchParams(end === -1 ? '' : target.slice(end + 1))
    this.#response = response
    response.on('close', () => {
      this.#isOver = true
    })
  }

  /** The status that was sent. */
  get status(): number {
    return this.#response.statusCode
  }

  get hasResponded(): boolean {
    return this.#response.headersSent
  }

  /** Whether the response has ended, or the client has left. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Settles when the response has ended, or the client has left. */
  over(): Promise<void> {
    return this.#isOver ? Promise.resolve() : this.#next('close')
  }

  /** Sends the header section. */
  respond(status: number, fields: Fields): void {
    // A browser must not interpret a body that /echo sends back as a page, whatever it looks like.
    this.#response.writeHead(status, { 'x-content-type-options': 'nosniff', ...fields })
  }

  /** Sends a part of the body. Settles when more may be sent, or when the response is over. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#isOver) return
    this.sent += bytes.length
    if (!this.#response.write(bytes)) await this.#next('drain', 'close')
  }

  /** Ends the response with these trailers, which follow the body. */
  end(trailers: Record<string, string> = {}): void {
    if (this.#isOver) return
    this.#response.addTrailers(trailers)
    this.#response.end()
  }

  /** Aborts the response. */
  destroy(): void {
    this.#response.destroy()
  }

  /** Settles after a time, or when the response is over. */
  async pause(milliseconds: number): Promise<void> {
    if (this.#isOver) return
    let timer: NodeJS.Timeout | undefined
    await Promise.race([
      this.#next('close'),
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, milliseconds)
      }),
    ])
    clearTimeout(timer)
  }

  /** Responds with a text. HEAD gets only its header section. */
  sendText(status: number, text: string, fields: Fields = {}): void {
    const body = Buffer.from(text)
    // RFC 9110 §8.6 and §15.3.5: without content, there is no length either.
    const hasContent = status !== 204 && status !== 304
    const described = { 'content-type': 'text/plain; charset=utf-8', 'content-length': body.length }
    this.respond(status, { ...(hasContent ? described : {}), ...fields })
    if (this.#isOver) return
    if (!hasContent || this.method === 'HEAD') {
      this.#response.end()
    } else {
      this.sent += body.length
      this.#response.end(body)
    }
  }

  #next(...events: readonly ('close' | 'drain')[]): Promise<void> {
    const response = this.#response
    return new Promise((resolve) => {
      const onEvent = (): void => {
        for (const event of events) response.off(event, onEvent)
        resolve()
      }
      for (const event of events) response.on(event, onEvent)
    })
  }
}

/** Whether a request has one of these methods. Any other gets a 405. */
export function allow(exchange: Exchange, ...methods: readonly string[]): boolean {
  if (methods.includes(exchange.method)) return true
  const list = methods.join(', ')
  exchange.sendText(405, `Use ${list}.\n`, { allow: list })
  return false
}
