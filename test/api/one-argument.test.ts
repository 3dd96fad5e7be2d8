/** A URL in pieces, and URL and options in one argument: the same as in undici. */

import { PassThrough } from 'node:stream'
import * as undici7 from 'undici'
import * as undici6 from 'undici-6'
import { describe, expect, it, onTestFinished } from 'vitest'
import * as dodici from '../../src/index.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'

const undicis: readonly (typeof undici7)[] = [
  undici6 as unknown as typeof undici7,
  undici7,
  ...(Number(process.versions.node.split('.')[0]) >= 22
    ? [(await import('undici-8')) as unknown as typeof undici7]
    : []),
]

const ORIGIN = 'http://a.test:8080'

/** What a dispatcher is asked for. */
interface Asked {
  readonly origin: string
  readonly path: string
  readonly method: string
  readonly more: unknown
}

/** A dispatcher that only notes what it is asked for. */
class Spy {
  readonly asked: Asked[] = []

  dispatch(options: { origin: unknown; path: unknown; method: unknown; headers?: unknown }): boolean {
    const { origin, path, method, headers } = options
    this.asked.push({ origin: String(origin), path: String(path), method: String(method), more: headers })
    return true
  }
}

type Functions = Pick<typeof dodici, 'request' | 'stream' | 'pipeline' | 'connect' | 'upgrade'>

/** How each function is called with one argument, and what it needs besides. */
const FUNCTIONS: readonly [string, (of: Functions, target: never) => unknown][] = [
  ['request', (of, target) => of.request(target)],
  ['stream', (of, target) => of.stream(target, () => new PassThrough())],
  ['pipeline', (of, target) => of.pipeline(target, ({ body }) => body).on('error', () => {})],
]

const TARGETS: readonly [string, object][] = [
  ['origin and path', { origin: ORIGIN, path: '/a?b=1' }],
  ['origin with a slash', { origin: `${ORIGIN}/`, path: '/a' }],
  ['a path without a slash', { origin: ORIGIN, path: 'a' }],
  ['a path of two slashes', { origin: ORIGIN, path: '//b.test/a' }],
  ['origin, pathname and search', { origin: ORIGIN, pathname: '/a', search: '?b=1' }],
  ['origin alone', { origin: ORIGIN }],
  [
    'protocol, hostname, port and path',
    { protocol: 'http:', hostname: 'a.test', port: 8080, path: '/a?b=1' },
  ],
  [
    'protocol, hostname, pathname',
    { protocol: 'https:', hostname: 'a.test', pathname: '/a', search: '?b=1' },
  ],
  ['a method', { origin: ORIGIN, path: '/a', method: 'POST' }],
  ['headers', { origin: ORIGIN, path: '/a', method: 'POST', headers: { a: '1' } }],
]

function play(of: Functions, call: (of: Functions, target: never) => unknown, target: object): Asked[] {
  const dispatcher = new Spy()
  // Nothing responds.
  void call(of, { ...target, dispatcher } as never)
  return dispatcher.asked
}

describe.each(FUNCTIONS)('%s() with one argument', (_name, call) => {
  it.each(TARGETS)('%s', (_what, target) => {
    const asked = play(dodici, call, target)
    expect(asked).toHaveLength(1)
    for (const undici of undicis) expect(play(undici as unknown as Functions, call, target)).toEqual(asked)
  })
})

it.each(['request', 'stream', 'pipeline'] as const)('%s() with a body alone has the method PUT', (name) => {
  const [, call] = FUNCTIONS.find(([own]) => own === name) as (typeof FUNCTIONS)[number]
  const target = { origin: ORIGIN, path: '/a', body: name === 'pipeline' ? undefined : 'b' }
  for (const of of [dodici, ...undicis])
    expect(play(of as Functions, call, target)[0]?.method).toBe(name === 'pipeline' ? 'GET' : 'PUT')
})

describe('on a connection', () => {
  async function start() {
    const peer = await startPeer(SERVE)
    const { hostname, port } = new URL(peer.origin)
    const dispatcher = new dodici.Agent({ h2c: true })
    onTestFinished(() => dispatcher.destroy())
    return { origin: peer.origin, hostname, port, dispatcher }
  }

  it('request() and stream() have their response', async () => {
    const { origin, dispatcher } = await start()
    const { statusCode, body } = await dodici.request({ origin, path: '/', method: 'GET', dispatcher })
    await body.dump()
    expect(statusCode).toBe(200)
    const sink = new PassThrough().resume()
    await dodici.stream({ origin, path: '/', dispatcher }, () => sink)
    expect(sink.writableFinished).toBe(true)
  })

  it.each([dodici.Client, dodici.Pool])('a dispatcher is made of pieces: %o', async (OwnClass) => {
    const { hostname, port, origin } = await start()
    for (const pieces of [{ protocol: 'http:', hostname, port }, { origin }]) {
      const client = new OwnClass(pieces as never)
      onTestFinished(() => client.destroy())
      expect(client.origin).toBe(origin)
      const { statusCode, body } = await client.request({ path: '/', method: 'GET' })
      await body.dump()
      expect(statusCode).toBe(200)
    }
    // undici's take them, too.
    for (const undici of undicis) {
      const theirs = new undici.Client({ protocol: 'http:', hostname, port } as never)
      await theirs.destroy()
    }
  })

  it.each([
    {},
    { hostname: 'a.test' },
    { protocol: 'ftp:', hostname: 'a.test' },
    { origin: 'http://a.test/b' },
    5,
    null,
  ])('pieces that are no origin are refused: %j', (pieces) => {
    expect(() => new dodici.Client(pieces as never)).toThrow('Invalid origin')
  })
})
