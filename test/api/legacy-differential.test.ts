import { createSecureServer } from 'node:http2'
import { Agent as Undici7 } from 'undici'
import { Agent as Undici6 } from 'undici-6'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/index.ts'
import type { DispatchOptions, FallbackDispatcher } from '../../types/index.ts'
import type { LegacyActs } from '../support/clients/fallback-legacy.ts'
import { LegacyRecorder } from '../support/clients/fallback-legacy.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'
import { listen } from '../support/servers/listen.ts'
import { toCertificate } from '../support/servers/server.ts'

/** The members that the servers and the dispatchers below share. */
interface Place {
  readonly origin: string
  readonly ca: string
}

type Dispatcher = FallbackDispatcher & { destroy(): Promise<void> }

const toUndici6 = ({ ca }: Place, allowH2: boolean): Dispatcher =>
  new Undici6({ connect: { ca }, allowH2 }) as unknown as Dispatcher
const toUndici7 = ({ ca }: Place, allowH2: boolean): Dispatcher =>
  new Undici7({ connect: { ca }, allowH2 }) as unknown as Dispatcher
/** With the same undici as the fallback, for HTTP/1.1. */
function toOurs({ ca }: Place, fallback?: Dispatcher): Dispatcher {
  if (fallback !== undefined) onTestFinished(() => fallback.destroy())
  return new Agent({ connect: { ca }, fallback })
}

interface Case {
  readonly what: string
  readonly path: string
  readonly options?: Partial<DispatchOptions>
  readonly acts?: LegacyActs
}

const MINE = new Error('mine')
const FAIL = (): never => {
  throw MINE
}

const CASES: readonly Case[] = [
  { what: 'a response without a body', path: '/empty' },
  { what: 'a response with a body', path: '/text' },
  { what: 'a response to HEAD', path: '/text', options: { method: 'HEAD' } },
  { what: 'duplicates and latin1', path: '/fields' },
  { what: 'trailers', path: '/trailers' },
  {
    what: 'an onHeaders that returns false for an informational response',
    path: '/hints',
    acts: { onHeaders: (_heard, statusCode) => statusCode >= 200 },
  },
  { what: 'a body of the request', path: '/echo', options: { method: 'POST', body: 'text' } },
  { what: 'an abort in onConnect', path: '/text', acts: { onConnect: ({ abort }) => abort(MINE) } },
  {
    what: 'an abort in onConnect without a reason',
    path: '/text',
    acts: { onConnect: ({ abort }) => abort() },
  },
  {
    what: 'an abort in onHeaders',
    path: '/text',
    acts: {
      onHeaders: ({ abort }) => {
        abort(MINE)
        return false
      },
    },
  },
  {
    what: 'an abort in onData',
    path: '/text',
    acts: {
      onData: ({ abort }) => {
        abort(MINE)
        return true
      },
    },
  },
  { what: 'an onConnect that throws', path: '/text', acts: { onConnect: FAIL } },
  { what: 'an onHeaders that throws', path: '/text', acts: { onHeaders: FAIL } },
  { what: 'an onData that throws', path: '/text', acts: { onData: FAIL } },
  {
    what: 'an onHeaders that returns false, and resumes later',
    path: '/text',
    acts: {
      onHeaders: ({ resume }) => {
        setImmediate(() => resume())
        return false
      },
    },
  },
  {
    what: 'an onData that returns false, and resumes later, twice',
    path: '/large',
    acts: {
      onData: ({ resume }) => {
        setImmediate(() => {
          resume()
          resume()
        })
        return false
      },
    },
  },
]

/** Responds according to the path, over HTTP/1.1 and HTTP/2 alike. */
async function startBoth(): Promise<Place> {
  const { private: key, cert } = await toCertificate()
  const server = createSecureServer({ key, cert, allowHTTP1: true })
  server.on('session', (session) => session.on('error', () => {}))
  server.on('request', (request, response) => {
    for (const each of [request, response, request.stream ?? request]) each.on('error', () => {})
    if (request.url === '/echo') {
      request.pipe(response)
      return
    }
    request.resume()
    if (request.url === '/fields') {
      response.setHeader('x-dup', ['1', '2'])
      response.setHeader('set-cookie', ['a=1', 'b=2'])
    }
    if (request.url === '/trailers') {
      response.setHeader('trailer', 'x-sum')
      response.addTrailers({ 'x-sum': '42' })
      response.write('some ')
    }
    if (request.url === '/hints') response.writeEarlyHints({ link: '</a.css>; rel=preload' })
    if (request.url === '/large') response.write(Buffer.alloc(300_000, 'x'))
    response.end(request.url === '/empty' ? '' : 'text')
  })
  return { origin: `https://localhost:${(await listen(server)).port}`, ca: cert }
}

async function run(dispatcher: Dispatcher, place: Place, { path, options, acts }: Case): Promise<unknown[]> {
  const handler = new LegacyRecorder(acts)
  dispatcher.dispatch({ origin: place.origin, method: 'GET', path, ...options }, handler)
  await handler.settled
  await dispatcher.destroy()
  return handler.events
}

/** Names of errors differ: ours is that of the DOM, and so is undici's for some. */
const withoutNames = (events: unknown[]): unknown[] =>
  events.map((event) => (Array.isArray(event) && event[0] === 'onError' ? [event[0], event[2]] : event))

/** undici 7 doesn't call these methods of a handler of the newer shape, and ours is one. */
const withoutSent = (events: unknown[]): unknown[] =>
  events.filter((event) => event !== 'onRequestSent' && !(Array.isArray(event) && event[0] === 'onBodySent'))

const withoutStarted = (events: unknown[]): unknown[] =>
  events.filter((event) => event !== 'onResponseStarted')

describe('a handler of the older shape gets the same calls over HTTP/1.1 as from', () => {
  const startOld = () =>
    startHttp1((request, response) => {
      if (request.url === '/echo') {
        request.pipe(response)
        return
      }
      request.resume()
      if (request.url === '/fields') {
        response.writeHead(200, ['x-dup', '1', 'x-latin', 'é', 'x-dup', '2', 'Set-Cookie', 'a=1'])
      }
      if (request.url === '/trailers') {
        response.setHeader('trailer', 'x-sum')
        response.addTrailers([['X-Sum', '42']])
      }
      if (request.url === '/hints') response.writeEarlyHints({ link: '</a.css>; rel=preload' })
      if (request.url === '/large') response.write(Buffer.alloc(300_000, 'x'))
      if (request.url === '/empty') response.setHeader('content-length', '0')
      response.end(request.url === '/empty' ? undefined : 'text')
    })

  describe.each([
    { name: 'undici 6', toUndici: toUndici6, toShared: (events: unknown[]) => events },
    { name: 'undici 7', toUndici: toUndici7, toShared: withoutSent },
  ])('$name', ({ toUndici, toShared }) => {
    it.each(CASES)('with $what', async (it) => {
      const server = await startOld()
      const theirs = await run(toUndici(server, false), server, it)
      const ours = await run(toOurs(server, toUndici(server, false)), server, it)
      expect(toShared(withoutNames(ours))).toEqual(toShared(withoutNames(theirs)))
    })
  })
})

describe('a handler of the older shape gets the same calls over HTTP/2 as from undici over HTTP/1.1', () => {
  it.each(CASES)('with $what', async (it) => {
    const place = await startBoth()
    const theirs = await run(toUndici7(place, false), place, it)
    const ours = await run(toOurs(place), place, it)
    expect(withoutStarted(withoutNames(ours))).toEqual(withoutStarted(withoutNames(theirs)))
  })
})
