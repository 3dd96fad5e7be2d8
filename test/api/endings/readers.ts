/** Every way to get a response, and to read it. Each reports the ending as `end: text` or `error`. */

import type { Readable } from 'node:stream'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStreamDefaultReader } from 'node:stream/web'
import { RetryAgent, WebSocket as WebSocket7 } from 'undici'
import type { Agent } from '../../../src/index.ts'
import { fetch as ownFetch } from '../../../src/index.ts'
import type { ConnectData, RequestOptions, ResponseData } from '../../../types/index.ts'
import { Recorder } from '../../support/clients/recorder.ts'

/** One exchange, as a reader sees it. */
export interface Exchange {
  readonly agent: Agent
  readonly origin: string
  /** Names it; the authority of a tunnel likewise. */
  readonly path: string
  readonly authority: string
  /** Each reported ending: there must be exactly one. */
  readonly heard: string[]
}

/** Settles once an ending was heard. */
export type Reader = (exchange: Exchange) => Promise<void>

function toOptions({ origin, path }: Exchange): RequestOptions {
  return { origin, path, method: 'GET' }
}

/** Collects the bytes that are written to it. */
class Sink extends Writable {
  readonly #chunks: Buffer[] = []

  get text(): string {
    return Buffer.concat(this.#chunks).toString()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#chunks.push(chunk)
    callback()
  }
}

/** By its events; settles at `close`, which has to come last, and once. */
function readEvents(stream: Readable, heard: string[]): Promise<void> {
  return new Promise((resolve) => {
    let text = ''
    let last = 'close alone'
    stream.on('data', (chunk: Buffer) => {
      text += chunk
    })
    stream.on('end', () => {
      last = `end: ${text}`
    })
    stream.on('error', () => {
      last = last.startsWith('error') ? 'error, twice' : 'error'
    })
    stream.on('close', () => {
      heard.push(last)
      resolve()
    })
  })
}

async function readPipe(stream: Readable, heard: string[]): Promise<void> {
  const sink = new Sink()
  // `pipe()` passes no error on: a caller of it listens to the source.
  const broken = new Promise<string>((resolve) => {
    stream.once('error', () => resolve('error'))
    stream.once('close', () => {
      if (!stream.readableEnded) resolve('error')
    })
  })
  stream.pipe(sink)
  const finished = new Promise<string>((resolve) => sink.once('finish', () => resolve(`end: ${sink.text}`)))
  heard.push(await Promise.race([broken, finished]))
}

async function readPipeline(stream: Readable, heard: string[]): Promise<void> {
  const sink = new Sink()
  heard.push(
    await pipeline(stream, sink).then(
      () => `end: ${sink.text}`,
      () => 'error',
    ),
  )
}

async function readIteration(stream: Readable, heard: string[]): Promise<void> {
  let text = ''
  try {
    for await (const chunk of stream) text += chunk
    heard.push(`end: ${text}`)
  } catch {
    heard.push('error')
  }
}

async function readWeb(stream: ReadableStreamDefaultReader<Uint8Array>, heard: string[]): Promise<void> {
  const chunks: Uint8Array[] = []
  try {
    for (let piece = await stream.read(); !piece.done; piece = await stream.read()) chunks.push(piece.value)
    heard.push(`end: ${Buffer.concat(chunks)}`)
  } catch {
    heard.push('error')
  }
}

async function readText(body: { text(): Promise<string> }, heard: string[]): Promise<void> {
  heard.push(
    await body.text().then(
      (text) => `end: ${text}`,
      () => 'error',
    ),
  )
}

type Body = ResponseData['body']

/** @param read gets the body when the promise of `request()` has settled */
function byPromise(read: (body: Body, heard: string[]) => Promise<void>): Reader {
  return async (exchange) => {
    try {
      const { body } = await exchange.agent.request(toOptions(exchange))
      await read(body, exchange.heard)
    } catch {
      exchange.heard.push('error')
    }
  }
}

function byCallback(read: (body: Body, heard: string[]) => Promise<void>): Reader {
  return (exchange) =>
    new Promise((resolve) => {
      exchange.agent.request(toOptions(exchange), (error, data) => {
        if (error !== null || data === undefined) {
          exchange.heard.push('error')
          resolve()
        } else {
          read(data.body, exchange.heard).then(resolve)
        }
      })
    })
}

const byStreamPromise: Reader = async (exchange) => {
  const sink = new Sink()
  exchange.heard.push(
    await exchange.agent
      .stream(toOptions(exchange), () => sink)
      .then(
        () => `end: ${sink.text}`,
        () => 'error',
      ),
  )
}

const byStreamCallback: Reader = (exchange) =>
  new Promise((resolve) => {
    const sink = new Sink()
    exchange.agent.stream(
      toOptions(exchange),
      () => sink,
      (error) => {
        exchange.heard.push(error === null ? `end: ${sink.text}` : 'error')
        resolve()
      },
    )
  })

const byPipeline: Reader = (exchange) => {
  const duplex = exchange.agent.pipeline(toOptions(exchange), ({ body }) => body)
  const ended = readEvents(duplex, exchange.heard)
  duplex.end()
  return ended
}

const byDispatch: Reader = async (exchange) => {
  const recorder = new Recorder()
  exchange.agent.dispatch(toOptions(exchange), recorder)
  await recorder.settled
  const endings = recorder.events.filter((event) => event === 'end' || event === 'error')
  exchange.heard.push(endings.join() === 'end' ? `end: ${recorder.text}` : endings.join())
}

type Fetch = (url: string, init: { dispatcher: Agent }) => Promise<globalThis.Response>

/** @param fetch ours, or Node's */
function byFetch(
  fetch: Fetch,
  read: (response: globalThis.Response, heard: string[]) => Promise<void>,
): Reader {
  return async (exchange) => {
    try {
      const url = exchange.origin + exchange.path
      await read(await fetch(url, { dispatcher: exchange.agent }), exchange.heard)
    } catch {
      exchange.heard.push('error')
    }
  }
}

async function readResponse({ body }: globalThis.Response, heard: string[]): Promise<void> {
  if (body === null) heard.push('end: ')
  else await readWeb(body.getReader() as ReadableStreamDefaultReader<Uint8Array>, heard)
}

const builtin = globalThis.fetch as unknown as Fetch
const own = ownFetch as unknown as Fetch

export const READERS: Readonly<Record<string, Reader>> = {
  'request(), events': byPromise(readEvents),
  'request(), pipe()': byPromise(readPipe),
  'request(), stream.pipeline()': byPromise(readPipeline),
  'request(), iteration': byPromise(readIteration),
  'request(), text()': byPromise(readText),
  'request(), web stream': byPromise(({ body }, heard) =>
    readWeb(
      (body as ReadableStream<Uint8Array>).getReader() as ReadableStreamDefaultReader<Uint8Array>,
      heard,
    ),
  ),
  'request() by callback, events': byCallback(readEvents),
  'request() by callback, text()': byCallback(readText),
  'stream()': byStreamPromise,
  'stream() by callback': byStreamCallback,
  'pipeline()': byPipeline,
  'dispatch()': byDispatch,
  'our fetch, text()': byFetch(own, readText),
  'our fetch, web stream': byFetch(own, readResponse),
  'built-in fetch, text()': byFetch(builtin, readText),
  'built-in fetch, web stream': byFetch(builtin, readResponse),
  'built-in fetch by a RetryAgent, text()': (exchange) => {
    const agent = new RetryAgent(exchange.agent as never, { maxRetries: 0 })
    return byFetch(builtin, readText)({ ...exchange, agent: agent as never })
  },
}

type Tunnel = ConnectData['socket']

/** Our side ends with the peer's, so that the tunnel closes. */
function readTunnel(tunnel: Tunnel, heard: string[]): Promise<void> {
  tunnel.once('end', () => tunnel.end())
  return readEvents(tunnel, heard)
}

async function iterateTunnel(tunnel: Tunnel, heard: string[]): Promise<void> {
  await readIteration(tunnel, heard)
  tunnel.destroy()
}

function byConnect(read: (tunnel: Tunnel, heard: string[]) => Promise<void>): Reader {
  return async ({ agent, origin, authority, heard }) => {
    try {
      const { socket } = await agent.connect({ origin, path: authority })
      await read(socket, heard)
    } catch {
      heard.push('error')
    }
  }
}

const byConnectCallback: Reader = ({ agent, origin, authority, heard }) =>
  new Promise((resolve) => {
    agent.connect({ origin, path: authority }, (error, data) => {
      if (error !== null || data === undefined) {
        heard.push('error')
        resolve()
      } else {
        readTunnel(data.socket, heard).then(resolve)
      }
    })
  })

const byUpgrade: Reader = async ({ agent, origin, path, heard }) => {
  try {
    const { socket } = await agent.upgrade({ origin, path, protocol: 'chat' })
    await readTunnel(socket, heard)
  } catch {
    heard.push('error')
  }
}

type SocketClass = typeof WebSocket7

/** A WebSocket emits one `close`, however its tunnel ends. */
function byWebSocket(Socket: SocketClass): Reader {
  return ({ agent, origin, path, heard }) =>
    new Promise((resolve) => {
      const url = origin.replace('http', 'ws') + path
      const socket = new Socket(url, { dispatcher: agent as never })
      socket.addEventListener('close', () => {
        heard.push('close')
        resolve()
      })
    })
}

export const TUNNEL_READERS: Readonly<Record<string, Reader>> = {
  'connect(), events': byConnect(readTunnel),
  'connect(), iteration': byConnect(iterateTunnel),
  'connect() by callback, events': byConnectCallback,
  'upgrade(), events': byUpgrade,
}

/** Node 20 has none of its own. */
const builtinSocket = globalThis.WebSocket as unknown as SocketClass | undefined

export const WEB_SOCKETS: Readonly<Record<string, Reader>> = {
  'undici 7': byWebSocket(WebSocket7),
  ...(builtinSocket === undefined ? {} : { Node: byWebSocket(builtinSocket) }),
}
