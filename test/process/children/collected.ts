/** Makes calls, keeps node's own stream of each, and reports which of their handlers and headers are collected. */
import type { ClientHttp2Stream, IncomingHttpHeaders as NodeHeaders, ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Client } from '../../../src/index.ts'
import type { DispatchController, DispatchHandler, IncomingHttpHeaders } from '../../../types/index.ts'
import { watchNodeStreams } from '../../support/clients/node-streams.ts'
import { INTERNAL_ERROR } from '../../support/peers/error-codes.ts'
import { report } from './report.ts'

/** Turns of the event loop, with a collection each: the first mostly is enough. */
const PATIENCE = 20

const server = createServer()
server.on('stream', (stream: ServerHttp2Stream, headers: NodeHeaders) => {
  stream.on('error', () => {})
  stream.respond({ ':status': 200, 'x-field': 'a' })
  if (headers[':path'] === '/open') stream.write('and no end')
  else if (headers[':path'] === '/reset') stream.close(INTERNAL_ERROR)
  else stream.end('whole')
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo

/** Node's streams, which other code keeps. */
const streams: ClientHttp2Stream[] = []
const stopWatching = await watchNodeStreams((stream) => streams.push(stream))
const client = new Client(`http://127.0.0.1:${port}`)

class Handler implements DispatchHandler {
  readonly #until: 'data' | 'end'
  readonly #done: (headers: IncomingHttpHeaders) => void
  #headers: IncomingHttpHeaders = {}

  constructor(until: 'data' | 'end', done: (headers: IncomingHttpHeaders) => void) {
    this.#until = until
    this.#done = done
  }

  onRequestStart(): void {}

  onResponseStart(_controller: DispatchController, _status: number, headers: IncomingHttpHeaders): void {
    this.#headers = headers
  }

  onResponseData(): void {
    if (this.#until === 'data') this.#done(this.#headers)
  }

  onResponseEnd(): void {
    this.#done(this.#headers)
  }

  onResponseError(): void {
    this.#done(this.#headers)
  }
}

interface Refs {
  readonly handler: WeakRef<object>
  readonly headers: WeakRef<object>
}

function call(path: string, until: 'data' | 'end' = 'end'): Promise<Refs> {
  return new Promise((resolve) => {
    const handler: Handler = new Handler(until, (headers) => {
      resolve({ handler: new WeakRef(handler), headers: new WeakRef(headers) })
    })
    client.dispatch(
      { path, method: path === '/post' ? 'POST' : 'GET', ...(path === '/post' && { body: 'body' }) },
      handler,
    )
  })
}

function toLeft(refs: Refs): string[] {
  return (['handler', 'headers'] as const).filter((name) => refs[name].deref() !== undefined)
}

async function collect(refs: Refs): Promise<string[]> {
  if (globalThis.gc === undefined) throw new Error('Run it with --expose-gc')
  for (let turn = 0; turn < PATIENCE && toLeft(refs).length > 0; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    globalThis.gc()
  }
  return toLeft(refs)
}

// The last call may stay in a place of the client's that the next one takes.
const finished = [await call('/get'), await call('/post'), await call('/reset')]
const open = await call('/open', 'data')
const left: string[][] = []
for (const refs of [...finished, open]) left.push(await collect(refs))
const [get, post, reset, unfinished] = left
report({
  streams: streams.length,
  destroyed: streams.filter((one) => one.destroyed).length,
  get,
  post,
  reset,
  unfinished,
})
stopWatching()
await client.destroy()
server.close()
