import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import type { IncomingRequest, OutgoingResponse } from '../../../src/cli/serve/exchange.ts'
import { Exchange } from '../../../src/cli/serve/exchange.ts'
import { Files } from '../../../src/cli/serve/files.ts'
import { Requests } from '../../../src/cli/serve/requests.ts'

/** A folder whose files can't be opened for this reason. */
class BrokenFiles extends Files {
  readonly #code: string

  constructor(code: string) {
    super('/')
    this.#code = code
  }

  override serve(): Promise<boolean> {
    const error = Object.assign(new Error(this.#code), { code: this.#code })
    return Promise.reject(error)
  }
}

/** A response that keeps its status. */
class Sent extends EventEmitter implements OutgoingResponse {
  statusCode = 0
  headersSent = false

  writeHead(status: number): void {
    this.statusCode = status
    this.headersSent = true
  }

  write(): boolean {
    return true
  }

  addTrailers(): void {}

  end(): void {
    this.emit('close')
  }

  destroy(): void {
    this.emit('close')
  }
}

it.each([
  ['EMFILE', 503],
  ['ENFILE', 503],
  ['EIO', 500],
])('dodici serve › a file that cannot be opened because of %s: %i', async (code, status) => {
  const request: IncomingRequest = {
    method: 'GET',
    url: '/a.txt',
    httpVersion: '2.0',
    headers: { ':authority': 'localhost' },
    trailers: {},
    resume: () => {},
    async *[Symbol.asyncIterator]() {},
  }
  const response = new Sent()
  const closed = new Promise((resolve) => response.on('close', resolve))
  new Requests(new BrokenFiles(code), null).onRequest(new Exchange(request, response))
  await closed
  expect(response.statusCode).toBe(status)
})
