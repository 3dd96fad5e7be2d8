/** Bodies that belong to their caller, and what becomes of each when a call with it ends. */

import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, Agent as HttpAgent, request as requestHttp1 } from 'node:http'
import type {
  ClientHttp2Session,
  Http2ServerRequest,
  Http2ServerResponse,
  ServerHttp2Stream,
} from 'node:http2'
import { connect, createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import type { ReadableStreamDefaultController } from 'node:stream/web'
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'vitest'
import type { BlobLike, RequestBody } from '../../../types/index.ts'

/** `endless`: gives more for as long as it is asked. */
export type Extent = 'whole' | 'endless'

/**
 * How a call has ended: `early` with its response before the source has ended, `whole` with its response behind that,
 * `failed` before it has ended, `late` behind that.
 */
export type Fate = 'early' | 'whole' | 'failed' | 'late'

const PIECE = Buffer.alloc(16_384, 'x')
/** In the middle of the body, for a server, is well below. */
const PIECES = 8

/** Makes the call with a body. @returns what the caller got, once all of it has come */
export type Call = (body: RequestBody) => Promise<string>

/** One source of one call. */
export interface OwnedSource {
  readonly body: RequestBody
  /** Waits until its owner has seen what must become of it, and checks that. @param error of the call */
  check(fate: Fate, error: unknown): Promise<void>
}

/** A kind of source. */
export interface SourceKind {
  readonly name: string
  /** The fetches that take it as it is: `own` is the one that isn't built into Node. */
  readonly fetches: 'all' | 'own' | 'none'
  /**
   * Makes a call with a new source.
   *
   * @param isChecked whether what becomes of the source is looked at
   * @returns what the caller got, or its error
   */
  play(extent: Extent, fate: Fate, call: Call, isChecked: boolean): Promise<unknown>
}

function define(
  name: string,
  make: (extent: Extent) => OwnedSource,
  fetches: SourceKind['fetches'] = 'all',
): SourceKind {
  return {
    name,
    fetches,
    async play(extent, fate, call, isChecked) {
      const source = make(extent)
      const outcome = await settle(call(source.body))
      if (isChecked) await source.check(fate, outcome)
      return outcome
    },
  }
}

async function settle(call: Promise<string>): Promise<unknown> {
  try {
    return await call
  } catch (error) {
    return error
  }
}

function isOver(fate: Fate): boolean {
  return fate === 'whole' || fate === 'late'
}

function toReadable(extent: Extent): Readable {
  let given = 0
  return new Readable({
    read() {
      given++
      this.push(extent === 'whole' && given > PIECES ? null : PIECE)
    },
  })
}

/** Settles when a stream has closed, with an error or without. */
async function toClosed(stream: {
  readonly closed: boolean
  once(event: 'close', listener: () => void): unknown
}) {
  if (!stream.closed) await new Promise<void>((resolve) => stream.once('close', resolve))
  // `error` comes a tick later than `closed` says.
  await turn()
}

/** What a stream's owner hears of it. */
async function checkStream(stream: Readable, errors: readonly Error[], fate: Fate): Promise<void> {
  await toClosed(stream)
  expect(stream.readableEnded).toBe(isOver(fate))
  expect(errors.length).toBe(fate === 'failed' ? 1 : 0)
}

function watchErrors(stream: Readable): Error[] {
  const errors: Error[] = []
  stream.on('error', (error) => errors.push(error))
  return errors
}

function makeReadable(extent: Extent): OwnedSource {
  const body = toReadable(extent)
  const errors = watchErrors(body)
  return { body, check: (fate) => checkStream(body, errors, fate) }
}

const FILE = join(tmpdir(), `dodici-owned-source-${process.pid}`)

export async function makeFile(): Promise<void> {
  await writeFile(FILE, Buffer.concat(Array.from({ length: PIECES }, () => PIECE)))
}

export async function removeFile(): Promise<void> {
  await rm(FILE, { force: true })
}

/** An endless file is one of the system's. */
function makeFileStream(extent: Extent): OwnedSource {
  const body = createReadStream(extent === 'whole' ? FILE : '/dev/zero')
  const errors = watchErrors(body)
  return {
    body,
    async check(fate) {
      await checkStream(body, errors, fate)
      // Node has closed the file, and knows its descriptor no more.
      expect(Object(body).fd).toBe(null)
    },
  }
}

function* generate(extent: Extent, onFinally: () => void): Generator<Buffer> {
  try {
    for (let given = 0; extent === 'endless' || given < PIECES; given++) yield PIECE
  } finally {
    onFinally()
  }
}

function makeGenerator(extent: Extent): OwnedSource {
  let count = 0
  const body = generate(extent, () => count++)
  return { body, check: () => expect.poll(() => count).toBe(1) }
}

function makeAsyncGenerator(extent: Extent): OwnedSource {
  let count = 0
  async function* generateLater(): AsyncGenerator<Buffer> {
    for (const piece of generate(extent, () => count++)) {
      await turn()
      yield piece
    }
  }
  return { body: generateLater(), check: () => expect.poll(() => count).toBe(1) }
}

/** Counts what is called: the protocol of iterators has no `return()` behind an end, and `next()` behind neither. */
function makeIterable(extent: Extent): OwnedSource {
  let given = 0
  const said: string[] = []
  const iterator = {
    async next(): Promise<IteratorResult<Buffer>> {
      given++
      await turn()
      if (said.length > 0) said.push('next')
      const done = extent === 'whole' && given > PIECES
      return done ? { done, value: undefined } : { done, value: PIECE }
    },
    async return(): Promise<IteratorResult<Buffer>> {
      said.push('return')
      return { done: true, value: undefined }
    },
  }
  const body = { [Symbol.asyncIterator]: () => iterator }
  return {
    body,
    async check(fate) {
      if (!isOver(fate)) await expect.poll(() => said.length).toBeGreaterThan(0)
      await turn()
      await turn()
      expect(said.filter((what) => what === 'return')).toEqual(isOver(fate) ? [] : ['return'])
    },
  }
}

interface WatchedStream {
  readonly stream: ReadableStream<Uint8Array>
  check(fate: Fate, error: unknown): Promise<void>
}

function toWebStream(extent: Extent): WatchedStream {
  let given = 0
  const reasons: unknown[] = []
  const source = {
    pull(controller: ReadableStreamDefaultController<Uint8Array>): void {
      given++
      if (extent === 'whole' && given > PIECES) controller.close()
      else controller.enqueue(new Uint8Array(PIECE))
    },
    cancel(reason: unknown): void {
      reasons.push(reason)
    },
  }
  return {
    stream: new ReadableStream(source, { highWaterMark: 0 }),
    async check(fate, error) {
      if (isOver(fate)) {
        expect(reasons).toEqual([])
        return
      }
      await expect.poll(() => reasons.length).toBe(1)
      // A fetch wraps the error.
      const causes = [error, Object(error).cause]
      if (fate === 'early') expect(reasons).toEqual([undefined])
      else expect(causes.some((cause) => cause === reasons[0])).toBe(true)
    },
  }
}

function makeWebStream(extent: Extent): OwnedSource {
  const { stream, check } = toWebStream(extent)
  return { body: stream, check }
}

function makeWebOfReadable(extent: Extent): OwnedSource {
  const readable = toReadable(extent)
  readable.on('error', () => {})
  return {
    body: Readable.toWeb(readable) as ReadableStream,
    async check() {
      await toClosed(readable)
    },
  }
}

/** As long as it says, or so long that no server of the test takes all of it. */
function toBlob(extent: Extent, stream: ReadableStream): BlobLike {
  const size = extent === 'whole' ? PIECE.length * PIECES : Number.MAX_SAFE_INTEGER
  return { size, type: '', stream: () => stream }
}

function makeBlob(extent: Extent): OwnedSource {
  const { stream, check } = toWebStream(extent)
  return { body: toBlob(extent, stream), check }
}

function makeForm(extent: Extent): OwnedSource {
  const { stream, check } = toWebStream(extent)
  const file = Object.assign(toBlob(extent, stream), { name: 'file' })
  const form = {
    entries: () => new Map<string, unknown>([['file', file]]).entries(),
    getAll: () => [file],
  }
  return { body: form, check }
}

/** Its owner writes for as long as it is open and the call hasn't ended, and then ends it. */
function makePassThrough(extent: Extent): OwnedSource {
  const body = new PassThrough()
  const errors = watchErrors(body)
  let isEnding = extent === 'whole'
  let given = 0
  const write = (): void => {
    if (body.destroyed) return
    given++
    if (isEnding && given > PIECES) body.end()
    else body.write(PIECE, () => setImmediate(write))
  }
  write()
  return {
    body,
    async check(fate) {
      expect(body.destroyed && !body.readableEnded).toBe(fate === 'failed')
      isEnding = true
      await toClosed(body)
      // Not destroyed by the call: it came to its end.
      expect(body.readableEnded).toBe(fate !== 'failed')
      expect(errors.length).toBe(fate === 'failed' ? 1 : 0)
    },
  }
}

/** What a proxy tells its own client: what it has got, or that it has got nothing. */
function toOwnResponse(outcome: unknown): { status: number; text: string } {
  return typeof outcome === 'string' ? { status: 413, text: outcome } : { status: 502, text: 'bad gateway' }
}

/** A proxy's request. Its client sends until it has the response, then ends its request, and sends the next one. */
function proxyHttp1(extent: Extent, _fate: Fate, call: Call): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      if (request.url === '/next') {
        response.end('next')
        return
      }
      const outcome = await settle(call(request))
      expect(request.destroyed && !request.readableEnded).toBe(false)
      const { status, text } = toOwnResponse(outcome)
      response.writeHead(status)
      response.end(text)
      last = outcome
    }
    let last: unknown
    const server = createServer((request, response) => void listener(request, response).catch(reject))
    const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 })
    const finish = (): void => {
      agent.destroy()
      server.closeAllConnections()
      server.close()
    }
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      void askTwice(port, agent, extent).then(
        (responses) => {
          finish()
          try {
            const { status, text } = toOwnResponse(last)
            expect(responses).toEqual([`${status} ${text}`, '200 next', 'one connection'])
            resolve(last)
          } catch (error) {
            reject(error)
          }
        },
        (error) => {
          finish()
          reject(error)
        },
      )
    })
  })
}

async function askTwice(port: number, agent: HttpAgent, extent: Extent): Promise<string[]> {
  const options = { port, host: '127.0.0.1', agent }
  const upload = requestHttp1({ ...options, method: 'POST', path: '/upload' })
  let isEnding = extent === 'whole'
  let given = 0
  const write = (): void => {
    given++
    if (isEnding && given > PIECES) upload.end()
    else upload.write(PIECE, () => setImmediate(write))
  }
  write()
  const [response] = (await once(upload, 'response')) as [IncomingMessage]
  const first = `${response.statusCode} ${await toText(response)}`
  isEnding = true
  if (!upload.writableFinished) await once(upload, 'finish')
  const next = requestHttp1({ ...options, path: '/next' }).end()
  const [answer] = (await once(next, 'response')) as [IncomingMessage]
  const isSame = next.socket === upload.socket || next.reusedSocket
  return [
    first,
    `${answer.statusCode} ${await toText(answer)}`,
    isSame ? 'one connection' : 'two connections',
  ]
}

async function toText(stream: Readable): Promise<string> {
  let text = ''
  for await (const piece of stream.setEncoding('utf8')) text += piece
  return text
}

/** The same with a server of HTTP/2, whose body is node's stream, or a request of its compatibility API. */
function proxyHttp2(form: 'stream' | 'request') {
  return async (extent: Extent, _fate: Fate, call: Call): Promise<unknown> => {
    const server = createHttp2Server()
    const failures: unknown[] = []
    let last: unknown
    const serve = async (body: ServerHttp2Stream | Http2ServerRequest, stream: ServerHttp2Stream) => {
      last = await settle(call(body))
      expect(stream.destroyed && !stream.readableEnded).toBe(false)
      return toOwnResponse(last)
    }
    if (form === 'stream') {
      server.on('stream', (stream: ServerHttp2Stream) => {
        serve(stream, stream).then(
          ({ status, text }) => {
            stream.respond({ ':status': status })
            stream.end(text)
          },
          (error) => failures.push(error),
        )
      })
    } else {
      server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
        serve(request, request.stream).then(
          ({ status, text }) => {
            response.writeHead(status)
            response.end(text)
          },
          (error) => failures.push(error),
        )
      })
    }
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    try {
      const response = await uploadHttp2(session, extent, failures)
      expect(failures).toEqual([])
      const { status, text } = toOwnResponse(last)
      expect(response).toBe(`${status} ${text}`)
      return last
    } finally {
      session.destroy()
      server.close()
    }
  }
}

async function uploadHttp2(
  session: ClientHttp2Session,
  extent: Extent,
  failures: unknown[],
): Promise<string> {
  const stream = session.request({ ':method': 'POST', ':path': '/upload' })
  let isEnding = extent === 'whole'
  let given = 0
  const write = (): void => {
    given++
    if (stream.destroyed) return
    if (isEnding && given > PIECES) stream.end()
    else stream.write(PIECE, () => setImmediate(write))
  }
  write()
  stream.on('error', (error) => failures.push(error))
  const [headers] = await once(stream, 'response')
  const text = await toText(stream)
  isEnding = true
  // The server has read all of it: neither side has reset the stream.
  await toClosed(stream)
  expect(stream.rstCode).toBe(0)
  return `${headers[':status']} ${text}`
}

export const SOURCES: readonly SourceKind[] = [
  define('Readable', makeReadable),
  define('fs.ReadStream', makeFileStream),
  define('generator', makeGenerator, 'none'),
  define('async generator', makeAsyncGenerator),
  define('async iterable', makeIterable),
  define('web ReadableStream', makeWebStream),
  define('web ReadableStream of a Readable', makeWebOfReadable),
  define('Blob with a stream', makeBlob, 'own'),
  define('FormData with a stream', makeForm, 'own'),
  define('PassThrough', makePassThrough, 'own'),
  { name: 'IncomingMessage', fetches: 'own', play: proxyHttp1 },
  { name: 'Http2ServerRequest', fetches: 'own', play: proxyHttp2('request') },
  { name: 'ServerHttp2Stream', fetches: 'own', play: proxyHttp2('stream') },
]
