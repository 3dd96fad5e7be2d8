/**
 * The CONNECT exchange with an HTTP/1.1 proxy (RFC 9110 §9.3.6).
 *
 * @module
 */

import type { Socket } from 'node:net'
import { toError } from '../errors/errors.ts'
import { ProxyConnectionError } from '../errors/proxy-errors.ts'
import { trim } from '../request/headers.ts'
import { readFrom } from '../session/connect/socket.ts'
import { RefusalBody } from './refusal-body.ts'

/** The header section of an HTTP/1.1 response. */
export interface Http1Response {
  readonly statusCode: number
  /** Flat: names and values in turn. */
  readonly raw: string[]
}

/** Is told of the response's header section, and of what follows, but of nothing after {@link Http1Connect.cancel}. */
export interface Http1ConnectListener {
  /** 2xx: the socket is now a tunnel, and belongs to the listener. */
  onTunnel(response: Http1Response, socket: Socket): void
  /** An informational response, or the header section of a refusal, has arrived. */
  onResponse(response: Http1Response): void
  onData(chunk: Buffer): void
  onEnd(): void
  onError(error: Error): void
}

/** The largest header section that it reads, in bytes. */
const MAX_HEADER = 65_536
const END_OF_HEADER = Buffer.from('\r\n\r\n')
const STATUS_LINE = /^HTTP\/1\.[01] ([1-9]\d\d)(?: |$)/
/** RFC 9110 §5.1 and §5.5: a token, and a value without control characters. */
const FIELD = /^([!#$%&'*+\-.^_`|~\dA-Za-z]+):([\t\x20-\x7e\x80-\xff]*)$/

/** The request; its fields were checked before. @param fields flat: names and values in turn */
function toRequest(authority: string, fields: readonly string[]): string {
  let text = `CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\nproxy-connection: keep-alive\r\n`
  for (let i = 0; i < fields.length; i += 2) text += `${fields[i]}: ${fields[i + 1]}\r\n`
  return `${text}\r\n`
}

/** @throws ProxyConnectionError for what isn't an HTTP/1.1 header section */
function toResponse(header: string): Http1Response {
  const [first = '', ...lines] = header.split('\r\n')
  const status = STATUS_LINE.exec(first)?.[1]
  if (status === undefined)
    throw new ProxyConnectionError(
      undefined,
      "The proxy doesn't speak HTTP/1.1: its status line is malformed",
    )
  const raw: string[] = []
  for (const line of lines) {
    const [, name, value] = FIELD.exec(line) ?? []
    if (name === undefined || value === undefined)
      throw new ProxyConnectionError(undefined, 'The proxy sent a malformed header field')
    raw.push(name, trim(value))
  }
  return { statusCode: Number(status), raw }
}

/** One exchange on its own open socket. */
export class Http1Connect {
  readonly #socket: Socket
  readonly #listener: Http1ConnectListener
  /** The part of the header section that has arrived. */
  #header: Buffer = Buffer.alloc(0)
  /** Null until the header section of a refusal has arrived. */
  #body: RefusalBody | null = null
  #isOver = false
  readonly #onReadable = (): void => this.#read()
  readonly #onEnd = (): void => this.#endOfInput(null)
  readonly #onError = (error: Error): void => this.#endOfInput(error)
  readonly #onClose = (): void => this.#endOfInput(null)

  constructor(socket: Socket, listener: Http1ConnectListener) {
    this.#socket = socket
    this.#listener = listener
    socket.on('readable', this.#onReadable).on('end', this.#onEnd)
    socket.on('error', this.#onError).on('close', this.#onClose)
  }

  /** @param authority the target's host and port */
  send(authority: string, fields: readonly string[]): void {
    this.#socket.write(toRequest(authority, fields), 'latin1')
  }

  /** Ends the exchange, and the connection. */
  cancel(): void {
    if (this.#isOver) return
    this.#leave()
    this.#socket.destroy()
  }

  /** With `readable`, not `data`: the socket must neither flow nor be paused when it is passed on. */
  #read(): void {
    for (
      let chunk = readFrom(this.#socket);
      chunk !== null;
      chunk = this.#isOver ? null : readFrom(this.#socket)
    ) {
      try {
        if (this.#body === null) this.#receiveHeader(chunk)
        else this.#receiveBody(this.#body, chunk)
      } catch (thrown) {
        this.#fail(toError(thrown))
      }
    }
  }

  #receiveHeader(chunk: Buffer): void {
    // The end may lie across two chunks.
    let from = Math.max(0, this.#header.length - END_OF_HEADER.length)
    this.#header = Buffer.concat([this.#header, chunk])
    // A loop: one chunk may have thousands of informational responses.
    while (this.#body === null && !this.#isOver) {
      const end = this.#header.indexOf(END_OF_HEADER, from)
      if (end === -1 ? this.#header.length > MAX_HEADER : end > MAX_HEADER)
        throw new ProxyConnectionError(
          undefined,
          `The proxy's response header section has more than ${MAX_HEADER} bytes`,
        )
      if (end === -1) return
      const response = toResponse(this.#header.toString('latin1', 0, end))
      this.#header = this.#header.subarray(end + END_OF_HEADER.length)
      from = 0
      this.#respond(response)
    }
  }

  #respond(response: Http1Response): void {
    const { statusCode } = response
    const rest = this.#header
    if (statusCode >= 200 && statusCode < 300) {
      this.#leave()
      // The server may speak first: its bytes may come in one read with the proxy's response.
      if (rest.length > 0) this.#socket.unshift(rest)
      this.#listener.onTunnel(response, this.#socket)
      return
    }
    if (statusCode === 101)
      throw new ProxyConnectionError(undefined, 'The proxy responded to CONNECT with status 101')
    this.#listener.onResponse(response)
    if (this.#isOver || statusCode < 200) return
    this.#body = new RefusalBody(response.raw)
    this.#receiveBody(this.#body, rest)
  }

  #receiveBody(body: RefusalBody, chunk: Buffer): void {
    const piece = body.receive(chunk)
    if (piece.length > 0) this.#listener.onData(piece)
    if (body.isWhole && !this.#isOver) this.#finish()
  }

  #finish(): void {
    this.cancel()
    this.#listener.onEnd()
  }

  #endOfInput(error: Error | null): void {
    if (this.#isOver) return
    // A body without a length ends with the connection; one that is cut off is better than none.
    if (this.#body !== null) this.#finish()
    else this.#fail(new ProxyConnectionError(error, 'The proxy closed the connection before it responded'))
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.cancel()
    this.#listener.onError(error)
  }

  #leave(): void {
    this.#isOver = true
    const socket = this.#socket
    socket.off('readable', this.#onReadable).off('end', this.#onEnd).off('close', this.#onClose)
  }
}
