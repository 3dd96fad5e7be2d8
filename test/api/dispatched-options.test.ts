/** The options as an interceptor, a mock or a dispatcher of the caller sees them: the same as undici's. */

import { PassThrough, Readable } from 'node:stream'
import * as undici7 from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import * as dodici from '../../src/index.ts'
import * as entry from '../../src/undici/all.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'

type Functions = typeof dodici
type Options = Readonly<Record<string, unknown>>

const isNode20 = Number.parseInt(process.versions.node, 10) < 22

/** undici 8; Node 20 can't load it: undici 7 there, whose differences `toShape()` knows. */
const undici = (isNode20 ? undici7 : await import('undici-8')) as unknown as Functions

/** Keeps the options of the first request, and never responds. */
class Spy {
  readonly asked: Promise<Options>
  dispatch: (options: Options) => boolean = () => true

  constructor() {
    this.asked = new Promise((resolve) => {
      this.dispatch = (options) => {
        resolve(options)
        return true
      }
    })
  }
}

/** Null where it doesn't load: on Node 20. */
const undici8 = await import('undici-8').catch(() => null)

/** undici's own, of undici 7 or of its mocks. */
const OF_UNDICI = new Set(['dispatcher', '__mockAgentBodyForDispatch'])

async function toOptions(
  of: Functions,
  ask: (of: Functions, dispatcher: never) => unknown,
): Promise<Options> {
  const spy = new Spy()
  const outcome = ask(of, spy as never)
  // It doesn't come to its end: only a refusal settles it.
  const failed = new Promise<never>((_resolve, reject) => {
    if (outcome instanceof Promise) outcome.catch(reject)
    if (outcome instanceof Readable) outcome.once('error', reject)
  })
  const options = await Promise.race([spy.asked, failed])
  return Object.fromEntries(Object.entries(options).filter(([name]) => !OF_UNDICI.has(name)))
}

function toKind(value: unknown): string {
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null) return 'without a prototype'
  return Array.isArray(value) ? 'array' : Object.prototype.toString.call(value)
}

type Fields = Record<string, unknown>

/** What differs in the values of fetch's own fields, and no more. */
function toComparable(headers: unknown, isTrustworthy: boolean, isOfUndici7 = isNode20): unknown {
  if (toKind(headers) !== '[object Object]') return toKind(headers)
  const fields: Fields = { ...(headers as Fields) }
  const { 'user-agent': agent, 'accept-encoding': codings, 'content-type': type } = fields
  if (agent === 'undici' || agent === 'dodici') fields['user-agent'] = 'its own'
  if (typeof codings === 'string') fields['accept-encoding'] = codings.split(', ').sort()
  if (typeof type === 'string') fields['content-type'] = type.replace(/boundary=.*/, 'boundary')
  // They have the length of the boundary in them.
  if (String(type).startsWith('multipart/')) fields['content-length'] = typeof fields['content-length']
  // undici 7 says the mode to every server.
  if (isOfUndici7 && !isTrustworthy) delete fields['sec-fetch-mode']
  // zstd is as new as its Node.
  if (isNode20 && Array.isArray(fields['accept-encoding'])) fields['accept-encoding'] = 'codings'
  return Object.entries(fields)
}

const URLS = [
  'http://a.test/p?q=1#f',
  'https://a.test:8443/',
  'http://localhost:8080/?',
  'http://127.0.0.1/a',
] as const

/** @param form made of the class that the fetch knows */
type Case = readonly [what: string, init: (form: FormData) => object, url?: string]

const POST = { method: 'POST' }
function toForm(of: object): FormData {
  // undici's fetch knows its own class alone.
  const { FormData: OwnFormData = FormData }: { FormData?: typeof FormData } = of
  const data = new OwnFormData()
  data.set('a', 'é')
  data.set('file', new Blob(['abc'], { type: 'text/x' }), 'a.txt')
  return data
}
const headersOf = (...pairs: [string, string][]): Headers => {
  const headers = new Headers()
  for (const [name, value] of pairs) headers.append(name, value)
  return headers
}

const FETCHES: readonly Case[] = [
  ...URLS.map((url): Case => [`GET ${url}`, () => ({}), url]),
  ...URLS.map((url): Case => [`POST ${url}`, () => ({ ...POST, body: 'a' }), url]),
  ['a method in lower case', () => ({ method: 'post' })],
  ['another method', () => ({ method: 'Purge' })],
  ['HEAD', () => ({ method: 'HEAD' })],
  ['POST without a body', () => POST],
  ['PUT without a body', () => ({ method: 'PUT' })],
  ['PATCH without a body', () => ({ method: 'PATCH' })],
  ['DELETE with an empty body', () => ({ method: 'DELETE', body: '' })],
  ['a string', () => ({ ...POST, body: 'hé' })],
  ['bytes', () => ({ ...POST, body: new Uint8Array([1, 2]) })],
  ['an ArrayBuffer', () => ({ ...POST, body: new ArrayBuffer(3) })],
  ['a part of an ArrayBuffer', () => ({ ...POST, body: new DataView(new ArrayBuffer(9), 1, 4) })],
  ['a Blob', () => ({ ...POST, body: new Blob(['abc'], { type: 'text/x' }) })],
  ['a Blob without a type', () => ({ ...POST, body: new Blob(['abc']) })],
  ['an empty Blob', () => ({ ...POST, body: new Blob([]) })],
  ['a form', (form) => ({ ...POST, body: form })],
  ['parameters', () => ({ ...POST, body: new URLSearchParams('a=b') })],
  ['a web stream', () => ({ ...POST, duplex: 'half', body: new Blob(['abc']).stream() })],
  ['an async iterable', () => ({ ...POST, duplex: 'half', body: Readable.from([Buffer.from('abc')]) })],
  ['a number', () => ({ ...POST, body: 5 })],
  ['its own content-length', () => ({ ...POST, body: 'abc', headers: { 'content-length': '3' } })],
  ['its own content-type', () => ({ ...POST, body: 'a', headers: { 'Content-Type': 'a/b' } })],
  ['an object', () => ({ headers: { 'X-A': '1', 'x-b': '2' } })],
  ['an object with fields of fetch', () => ({ headers: { Accept: 'a/b', 'User-Agent': 'me', 'x-a': '1' } })],
  ['pairs', () => ({ headers: [['X-A', '1'], ['x-b', '2'], ['X-a', '3']] })], // biome-ignore format: short
  ['a Headers', () => ({ headers: headersOf(['X-B', '1'], ['x-a', '2'], ['X-b', '3']) })],
  ['cookies', () => ({ headers: headersOf(['Cookie', 'a=1'], ['cookie', 'b=2']) })],
  ['a host', () => ({ headers: { host: 'b.test', 'x-a': '1' } })],
  ['one set-cookie', () => ({ headers: { 'set-cookie': 'a=1' } })],
  ['a range', () => ({ headers: { range: 'bytes=0-1' } })],
  ['a condition', () => ({ headers: { 'if-none-match': '"a"' } })],
  ...['no-store', 'reload', 'no-cache', 'force-cache'].map(
    (cache): Case => [`cache ${cache}`, () => ({ cache })],
  ),
  ...['cors', 'no-cors', 'same-origin'].map(
    (mode): Case => [`mode ${mode}`, () => ({ mode }), 'https://a.test/'],
  ),
  ['a referrer', () => ({ referrer: 'http://b.test/c?d', referrerPolicy: 'unsafe-url' })],
  [
    'what has no effect',
    () => ({
      keepalive: true,
      credentials: 'include',
      signal: new AbortController().signal,
      priority: 'high',
    }),
  ],
]

/** The bytes of a body that is a string, bytes, a Blob or an iterable. */
async function toBytes(body: unknown): Promise<string> {
  if (body === null) return 'none'
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array || body instanceof Blob)
    return Buffer.from(await new Blob([body as Uint8Array<ArrayBuffer>]).arrayBuffer()).toString()
  const pieces: Buffer[] = []
  for await (const piece of body as AsyncIterable<Uint8Array>) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces).toString()
}

const withoutBoundary = (text: string): string => text.replaceAll(/-{4,}formdata-\w+-\w+/g, 'boundary')

describe('fetch() dispatches the names, in their order, the kinds and the values of undici’s', () => {
  it.each(FETCHES.map(([what, init, url = URLS[0]]) => ({ what, init, url })))('$what', async ({
    init,
    url,
  }) => {
    const ask = (of: Functions, dispatcher: never): unknown =>
      of.fetch(url, { ...init(toForm(of)), dispatcher })
    const ours = await toOptions(dodici, ask)
    const theirs = await toOptions(undici, ask)
    const isTrustworthy = !url.startsWith('http://a.test')
    expect(Object.keys(ours)).toEqual(Object.keys(theirs))
    expect(toComparable(ours.headers, isTrustworthy)).toEqual(toComparable(theirs.headers, isTrustworthy))
    const { headers: _ours, body, ...others } = ours
    const { headers: _theirs, body: theirBody, ...theirOthers } = theirs
    expect(others).toEqual(theirOthers)
    // undici's body is a generator, which can be read once. Ours can be sent again where there is a source.
    expect(withoutBoundary(await toBytes(body))).toBe(withoutBoundary(await toBytes(theirBody)))
  })

  it.each([
    ['a string', 'hé', 'string'],
    ['bytes', new Uint8Array(2), '[object Uint8Array]'],
    ['a Blob', new Blob(['a']), '[object Blob]'],
    ['a form', toForm({}), '[object Blob]'],
    ['a form of texts', new URLSearchParams('a=b'), 'string'],
  ])('the body of %s is one that can be sent again', async (_what, body, kind) => {
    const { body: dispatched } = await toOptions(dodici, (of, dispatcher) =>
      of.fetch(URLS[0], { method: 'POST', body, dispatcher }),
    )
    expect(toKind(dispatched)).toBe(kind)
  })

  it('several set-cookie are a list: undici joins them, which makes another cookie of them', async () => {
    const headers = headersOf(['Set-Cookie', 'a=1'], ['set-cookie', 'b=2'])
    const ask = (of: Functions, dispatcher: never): unknown => of.fetch(URLS[0], { headers, dispatcher })
    expect((await toOptions(dodici, ask)).headers).toMatchObject({ 'set-cookie': ['a=1', 'b=2'] })
    expect((await toOptions(undici, ask)).headers).toMatchObject({ 'set-cookie': 'a=1, b=2' })
  })
})

/** Each is passed on as it is. */
const HEADERS: readonly [what: string, headers: unknown][] = [
  ['no headers', undefined],
  ['null', null],
  ['an object', { 'X-A': '1', b: ['2', '3'] }],
  ['a flat list', ['X-A', '1']],
  ['pairs', [['X-A', '1']]],
  ['a Headers', new Headers({ a: '1' })],
  ['a Map', new Map([['a', '1']])],
]

const BODIES: readonly [what: string, body: unknown][] = [
  ['no body', undefined],
  ['a string', 'a'],
  ['an empty string', ''],
  ['bytes', Buffer.from('a')],
  ['a Blob', new Blob(['a'])],
  ['a form', toForm({})],
  ['a Readable', new PassThrough()],
  ['a web stream', new Blob(['a']).stream()],
  ['an iterable', ['a']],
]

const EXTRAS = {
  query: { z: 1 },
  opaque: { mine: true },
  bodyTimeout: 5,
  headersTimeout: 6,
  responseHeaders: 'raw',
  highWaterMark: 5,
  idempotent: true,
  blocking: true,
  reset: false,
  expectContinue: false,
  onInfo: () => {},
  context: {},
  maxRedirections: 0,
  upgrade: null,
  servername: 'b.test',
  ofMine: Symbol('mine'),
}

type Ask = (of: Functions, dispatcher: never, given: object) => unknown

const APIS: readonly [name: string, ask: Ask][] = [
  ['request', (of, dispatcher, given) => of.request(URLS[0], { ...given, dispatcher })],
  [
    'request in one argument',
    (of, dispatcher, given) =>
      of.request({ origin: 'http://a.test', path: '/p?q=1', ...given, dispatcher } as never),
  ],
  [
    'stream',
    (of, dispatcher, given) => of.stream(URLS[0], { ...given, dispatcher }, () => new PassThrough()),
  ],
  ['pipeline', (of, dispatcher, given) => of.pipeline(URLS[0], { ...given, dispatcher }, ({ body }) => body)],
  ['upgrade', (of, dispatcher, given) => of.upgrade(URLS[0], { ...given, dispatcher })],
  ['connect', (of, dispatcher, given) => of.connect(URLS[0], { ...given, dispatcher } as never)],
]

/** The values themselves, but for what an API makes. */
function toShape(options: Options): unknown {
  const { body, ...others } = options
  const isMade = body instanceof Readable && body.constructor.name === 'PipelineRequest'
  return { names: Object.keys(options).sort(), others, body: isMade ? 'made' : body }
}

describe.each(APIS)('%s() dispatches the names and the values of undici’s', (name, ask) => {
  const cases: readonly [string, object][] = [
    ...HEADERS.map(([what, headers]): [string, object] => [`headers: ${what}`, { headers }]),
    ...BODIES.map(([what, body]): [string, object] => [`body: ${what}`, { body }]),
    ...BODIES.map(([what, body]): [string, object] => [
      `a method and a body: ${what}`,
      { method: 'DELETE', body },
    ]),
    ['all of it', EXTRAS],
    ['a signal', { signal: new AbortController().signal }],
    ['a protocol', { protocol: 'SPDY/3.1', method: 'POST' }],
    ['no protocol', { protocol: undefined, method: undefined }],
  ]

  it.each(cases)('%s', async (_what, given) => {
    const ours = await toOptions(dodici, (of, dispatcher) => ask(of, dispatcher, given))
    const theirs = await toOptions(undici, (of, dispatcher) => ask(of, dispatcher, given))
    // A path isn't what CONNECT asks for: it is the origin itself, which `/` means.
    const isConnect = name === 'connect'
    expect(toShape(isConnect ? { ...ours, path: URLS[0] } : ours)).toEqual(
      toShape(isConnect ? { ...theirs, path: URLS[0] } : theirs),
    )
    for (const [key, value] of Object.entries(given))
      if (key in theirs && value === theirs[key]) expect(ours[key]).toBe(value)
  })
})

const ORIGIN = 'http://a.test:8080'

/** A URL in pieces. */
const TARGETS: readonly [what: string, target: object][] = [
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

describe.each<[string, (of: Functions, target: never) => unknown]>([
  ['request', (of, target) => of.request(target)],
  ['stream', (of, target) => of.stream(target, () => new PassThrough())],
  ['pipeline', (of, target) => of.pipeline(target, ({ body }) => body)],
])('%s() with one argument asks for what undici asks for', (_name, call) => {
  it.each(TARGETS)('%s', async (_what, target) => {
    const toAsked = async (of: Functions): Promise<unknown> => {
      const { origin, path, method, headers } = await toOptions(of, (own, dispatcher) =>
        call(own, { ...target, dispatcher } as never),
      )
      return [String(origin), path, method, headers]
    }
    expect(await toAsked(dodici)).toEqual(await toAsked(undici))
  })
})

describe('a mock sees what it sees of undici’s fetch', () => {
  /** What the callback of a reply got, and what the call history has. */
  async function mock(of: Functions, init: object): Promise<unknown> {
    const agent = new undici7.MockAgent({ enableCallHistory: true })
    onTestFinished(() => agent.close())
    agent.disableNetConnect()
    const seen: object[] = []
    agent
      .get('http://mocked.test')
      .intercept({ path: '/a?b=1', method: 'POST' })
      .reply((options) => {
        seen.push(options)
        return { statusCode: 200, data: 'mocked' }
      })
    const { fetch } = of
    const response = await fetch('http://mocked.test/a?b=1', {
      method: 'POST',
      ...init,
      dispatcher: agent as never,
    })
    expect(await response.text()).toBe('mocked')
    const [asked] = seen as [Fields]
    const { headers: called, ...call } = { ...agent.getCallHistory()?.lastCall() } as Fields
    const { body } = asked
    return {
      names: Object.keys(asked).filter((name) => !OF_UNDICI.has(name)),
      fields: [toComparable(asked['headers'], false, true), toComparable(called, false, true)],
      call: { ...call, body: toKind(call['body']) },
      body: typeof body === 'string' ? body : toKind(body),
      entries: toKind(body) === '[object FormData]' ? [...(body as FormData).keys()] : [],
    }
  }

  it.each<[string, (form: FormData) => object]>([
    ['a string', () => ({ body: 'abc', headers: { 'X-A': '1' } })],
    ['parameters', () => ({ body: new URLSearchParams('a=b') })],
    ['bytes', () => ({ body: new Uint8Array(3) })],
    ['a Blob', () => ({ body: new Blob(['abc'], { type: 'a/b' }) })],
    ['nothing', () => ({})],
  ])('%s', async (_what, init) => {
    const ours = await mock(dodici, init(toForm(dodici)))
    expect(ours).toEqual(await mock(undici7 as unknown as Functions, init(toForm(undici7))))
  })

  // undici 8 shows a form by its entries.
  it.each([
    ['7', undici7.MockAgent, '[object Uint8Array]'],
    ...(undici8 === null ? [] : [['8', undici8.MockAgent, '[object Array]'] as const]),
  ] as const)('a form, by a MockAgent of undici %s', async (_version, MockAgent, kind) => {
    const agent = new (MockAgent as typeof undici7.MockAgent)()
    onTestFinished(() => agent.close())
    agent.disableNetConnect()
    const seen: string[] = []
    agent
      .get('http://mocked.test')
      .intercept({ path: '/', method: 'POST' })
      .reply(({ body }) => {
        seen.push(Object.prototype.toString.call(body))
        return { statusCode: 204 }
      })
    await dodici.fetch('http://mocked.test/', {
      method: 'POST',
      body: new FormData(),
      dispatcher: agent as never,
    })
    expect(seen).toEqual([kind])
  })

  it.each([
    ['of dodici/undici', entry.MockAgent as typeof undici7.MockAgent],
    ['of undici 7', undici7.MockAgent],
  ])('a form that no mock takes is sent as it was encoded, by a MockAgent %s', async (_whose, MockAgent) => {
    const server = await startHttp1((_request, response) => response.end(), { tls: false })
    const agent = new MockAgent({
      agent: (MockAgent === undici7.MockAgent ? new undici7.Agent() : new dodici.Agent()) as never,
    })
    onTestFinished(() => agent.close())
    const body = new FormData()
    body.set('a', 'b')
    await (await dodici.fetch(server.origin, { method: 'POST', body, dispatcher: agent as never })).text()
    const [request] = server.requests
    const sent = (await request?.body) ?? ''
    const [, boundary = ''] = /boundary=(\S+)/.exec(request?.rawHeaders.join(' ') ?? '') ?? []
    const disposition = 'Content-Disposition: form-data; name="a"'
    expect(sent).toBe(`--${boundary}\r\n${disposition}\r\n\r\nb\r\n--${boundary}--\r\n`)
  })
})
