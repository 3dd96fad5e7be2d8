/** Fetches, drops the objects of a case, collects garbage, and reports the state of each stream and of the session. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { Agent, fetch } from '../../../src/index.ts'
import { tapped, toNoise } from '../../api/fetch/body-support.ts'
import { listenPeer } from '../../support/peers/peer.ts'
import { report } from './report.ts'

/** Turns of the event loop, with a collection each: the first few are enough. */
const PATIENCE = 30

/** After so many, garbage has been collected. */
const ENOUGH = 10

const LARGE = Buffer.alloc(4 * 1_048_576, 'x')
const ENCODED = gzipSync(toNoise(LARGE.length))
const PIECE = 'data: tick\n\n'
const END = 'data: end\n\n'
const MANY = 40
/** Paths of the server that speaks HTTP/1.1. */
const OLDER = '/http1'

const peer = await listenPeer(
  tapped((stream, tap) => {
    const [, kind] = stream.path.split('/')
    if (kind === 'large') tap.pour(stream, LARGE)
    else if (kind === 'gzip') tap.pour(stream, ENCODED, [['content-encoding', 'gzip']])
    else if (kind === 'moved') stream.head(302, [['location', stream.path.replace('moved', 'begun')]])
    else stream.head(200, kind === 'events' ? [['content-type', 'text/event-stream']] : [])
    if (kind === 'moved') stream.end()
    if (kind === 'begun' || kind === 'events') stream.data(PIECE)
  }),
)
/** Its responses begin, and don't end. */
const older = createServer((_request, response) => {
  response.on('close', () => closed++)
  response.write(PIECE)
})
let closed = 0
older.listen(0, '127.0.0.1')
await once(older, 'listening')
const olderOrigin = `http://127.0.0.1:${(older.address() as AddressInfo).port}`
const agent = new Agent({ h2c: ({ origin }) => origin === peer.origin, connectionWindowSize: 1_048_576 })
const init = { dispatcher: agent }

/** The object that a case keeps. */
const held: unknown[] = []

function ask(path: string, more: object = {}): Promise<Response> {
  const origin = path.startsWith(OLDER) ? olderOrigin : peer.origin
  return fetch(`${origin}${path}`, { ...init, ...more })
}

async function collect(isDone: () => boolean, turns = PATIENCE): Promise<void> {
  if (globalThis.gc === undefined) throw new Error('Run it with --expose-gc')
  for (let turn = 0; turn < turns && !isDone(); turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    globalThis.gc()
    await peer.connection(0).ping()
  }
}

/** How the stream of a path has ended: the code of its reset, or `open`, or `whole`. */
function toState(path: string): string {
  if (path.startsWith(OLDER)) return closed === 1 ? 'closed' : 'open'
  const { resetCode, isOpen } = peer.request(path)
  if (resetCode !== null) return `reset ${resetCode}`
  return isOpen ? 'open' : 'whole'
}

function running(): number {
  return agent.stats[peer.origin]?.running ?? 0
}

function toStream({ body }: Response): ReadableStream<Uint8Array> {
  if (body === null) throw new Error('There is no body')
  return body
}

/** Which objects a case drops and which it keeps, by the path that is fetched. */
const cases: Readonly<Record<string, (path: string) => Promise<void>>> = {
  async '/begun/response'(path) {
    await ask(path)
  },
  async '/large/response'(path) {
    await ask(path)
  },
  async '/events/response'(path) {
    const response = await ask(path)
    await response.body?.getReader().read()
  },
  async '/silent/response'(path) {
    await ask(path)
  },
  async '/large/promise'(path) {
    const begun = peer.requests.length
    void ask(path)
    await peer.waitFor(() => peer.requests.length > begun)
  },
  async '/large/body'(path) {
    toStream(await ask(path))
  },
  async '/begun/body'(path) {
    toStream(await ask(path))
  },
  async '/begun/clone'(path) {
    const response = await ask(path)
    response.clone()
  },
  async '/begun/signal'(path) {
    const { signal } = new AbortController()
    held.push(signal)
    await ask(path, { signal })
  },
  async '/begun/headers'(path) {
    const response = await ask(path)
    held.push(response.headers)
  },
  async '/begun/reader'(path) {
    // Nothing is asked for at the moment.
    const reader = toStream(await ask(path)).getReader()
    await reader.read()
  },
  async '/begun/settled'(path) {
    const promise = ask(path)
    await promise.then(() => {})
  },
  async '/gzip/response'(path) {
    await ask(path)
  },
  async '/gzip/body'(path) {
    await toStream(await ask(path))
      .getReader()
      .read()
  },
  async '/begun/redirected'(path) {
    await ask(path.replace('begun', 'moved'))
  },
  async '/http1/response'(path) {
    await ask(path)
  },
  async '/begun/iterated'(path) {
    const { value } = await toStream(await ask(path))
      [Symbol.asyncIterator]()
      .next()
    held.push(value)
  },
}

/** Objects that stay usable without the Response: each gives the bytes that are read after the collection. */
const kept: Readonly<Record<string, (path: string) => Promise<() => Promise<string>>>> = {
  async '/begun/only-body'(path) {
    const body = toStream(await ask(path))
    return () => new Response(body).text()
  },
  async '/begun/only-reader'(path) {
    const reader = toStream(await ask(path)).getReader()
    await reader.read()
    return async () => toText((await reader.read()).value)
  },
  async '/silent/pending-read'(path) {
    const read = toStream(await ask(path))
      .getReader()
      .read()
    return async () => toText((await read).value)
  },
  async '/begun/text'(path) {
    const text = (await ask(path)).text()
    return () => text
  },
  async '/begun/text-of-clone'(path) {
    const response = await ask(path)
    const text = response.clone().text()
    return () => text
  },
  async '/begun/clone-alone'(path) {
    const copy = (await ask(path)).clone()
    return () => copy.text()
  },
  async '/begun/original-alone'(path) {
    const response = await ask(path)
    response.clone()
    return () => response.text()
  },
  async '/begun/piped'(path) {
    const pieces: Uint8Array[] = []
    const sink = new WritableStream<Uint8Array>({ write: (piece) => void pieces.push(piece) })
    const piped = toStream(await ask(path)).pipeTo(sink)
    return async () => {
      await piped
      return Buffer.concat(pieces).toString()
    }
  },
  async '/begun/iterator'(path) {
    const iterator = toStream(await ask(path))[Symbol.asyncIterator]()
    await iterator.next()
    return async () => toText((await iterator.next()).value)
  },
}

function toText(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString()
}

const collected: Record<string, string> = {}
for (const [path, letGo] of Object.entries(cases)) {
  await letGo(path)
  await collect(() => toState(path) !== 'open')
  collected[path] = toState(path)
}
const left = running()

const read: Record<string, string> = {}
for (const [path, keep] of Object.entries(kept)) {
  const go = await keep(path)
  await collect(() => toState(path) !== 'open', ENOUGH)
  read[path] = toState(path)
  // Of one that was let go of nothing more would come.
  if (read[path] !== 'open') continue
  peer.request(path).end(END)
  read[path] = await go().catch(String)
}

// Their bodies together are many windows of the connection.
for (let i = 0; i < MANY; i++) await cases['/large/response']?.('/large/response')
await collect(() => running() === 0)
const large = running() === 0 ? await (await ask('/large/after')).text() : ''

report({
  collected,
  left,
  read,
  running: running(),
  length: large.length,
  connections: peer.connections.length,
})
await agent.destroy()
await peer.close()
older.closeAllConnections()
older.close()
