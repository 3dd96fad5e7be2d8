/**
 * The response of a proxy that refuses.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { ProxyConnectionError } from '../errors/proxy-errors.ts'
import { toProxyRefusal } from '../errors/proxy-errors.ts'

/** How many bytes of its body are kept. */
const MAX_BODY = 65_536

/** Keeps its header section and the beginning of its body, for people to read. */
export class Refusal {
  readonly #statusCode: number
  readonly #headers: IncomingHttpHeaders
  readonly #body: Buffer[] = []
  #size = 0

  constructor(statusCode: number, headers: IncomingHttpHeaders) {
    this.#statusCode = statusCode
    this.#headers = { ...headers }
  }

  /** A piece of the body has arrived. @returns whether more of it will be kept */
  add(chunk: Buffer): boolean {
    this.#body.push(Buffer.from(chunk.subarray(0, MAX_BODY - this.#size)))
    this.#size = Math.min(MAX_BODY, this.#size + chunk.length)
    return this.#size < MAX_BODY
  }

  /** @param what what was refused, and by whom: `The proxy http://… refused a tunnel to …` */
  toError(what: string): ProxyConnectionError {
    const [statusCode, headers] = [this.#statusCode, this.#headers]
    const body = Buffer.concat(this.#body)
    return toProxyRefusal(`${what} with status ${statusCode}`, { statusCode, headers, body })
  }
}
