/**
 * What `dodici serve` does with each request: who may send it, which route serves it, and its line in the log.
 *
 * @module
 */

import { isLoopbackAuthority } from '../loopback/authority.ts'
import type { Terminal } from '../terminal.ts'
import { toPrintable } from '../terminal.ts'
import { toBuiltIn, toBuiltInList } from './built-ins.ts'
import type { Exchange, IncomingRequest } from './exchange.ts'
import type { Files } from './files.ts'
import { isBusy } from './files.ts'
import type { RequestOwner } from './http-servers.ts'

/** Sends each request to its route. */
export class Requests implements RequestOwner {
  readonly #files: Files | null
  readonly #log: Terminal | null

  /**
   * @param files null for only the built-in routes
   * @param log null for none
   */
  constructor(files: Files | null, log: Terminal | null) {
    this.#files = files
    this.#log = log
  }

  onRequest(exchange: Exchange): void {
    const began = performance.now()
    void this.#serve(exchange).then(async () => {
      if (this.#log === null) return
      await exchange.over()
      const time = `${(performance.now() - began).toFixed(1)} ms`
      const size = `${exchange.sent} B`
      this.#write(exchange.request, [exchange.hasResponded ? `${exchange.status}` : 'none', size, time])
    })
  }

  onHandshake(request: IncomingRequest, status: number): void {
    this.#write(request, [`${status}`, 'WebSocket'])
  }

  async #serve(exchange: Exchange): Promise<void> {
    try {
      await this.#route(exchange)
    } catch (error) {
      // The client has left, or the response can't be what was promised.
      if (!exchange.hasResponded && !exchange.isOver) refuse(exchange, error)
      else exchange.destroy()
    }
  }

  async #route(exchange: Exchange): Promise<void> {
    const { request, path } = exchange
    if (!isLoopbackAuthority(toAuthority(request))) {
      request.resume()
      exchange.sendText(421, 'Use localhost, 127.0.0.1 or [::1].\n')
      return
    }
    const builtIn = toBuiltIn(path)
    if (builtIn !== null) {
      await builtIn(exchange)
      return
    }
    if ((await this.#files?.serve(exchange)) === true) return
    request.resume()
    if (path === '/') exchange.sendText(200, `Served by dodici.\n\n${toBuiltInList()}\n`)
    else exchange.sendText(404, 'Not found.\n')
  }

  #write({ method = '', url = '', httpVersion }: IncomingRequest, rest: readonly string[]): void {
    this.#log?.print(
      ['HTTP/', httpVersion, ' ', toPrintable(`${method} ${url}`), ' ', rest.join(' ')].join(''),
    )
  }
}

/** A request must not end the server, and neither must the response to one that failed. */
function refuse(exchange: Exchange, error: unknown): void {
  try {
    if (isBusy(error)) exchange.sendText(503, 'The server is out of capacity.\n', { 'retry-after': 1 })
    else exchange.sendText(500, 'The server could not serve the request.\n')
  } catch {
    exchange.destroy()
  }
}

/** Over HTTP/2, `host` may be missing, and has less weight (RFC 9113 §8.3.1). */
function toAuthority({ headers }: IncomingRequest): string | undefined {
  const authority = headers[':authority'] ?? headers.host
  return typeof authority === 'string' ? authority : undefined
}
