/** What each callback of a handler gets: as many arguments, of the same kinds, as from undici over HTTP/2. */

import type { ServerHttp2Stream } from 'node:http2'
import { createSecureServer } from 'node:http2'
import * as undici7 from 'undici'
import * as undici6 from 'undici-6'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { listen } from '../support/servers/listen.ts'
import { toCertificate } from '../support/servers/server.ts'

const isNode20 = Number.parseInt(process.versions.node, 10) < 22

type AgentClass = typeof undici7.Agent

/** undici 8; Node 20 can't load it. */
const NewAgent = (isNode20 ? undici7 : await import('undici-8')).Agent as unknown as AgentClass

/** Of undici's fields, no server and no protocol has these in common. */
const VARYING = new Set(['date', 'content-length'])

function toFields(fields: object): string {
  return Object.entries(fields)
    .filter(([name]) => !VARYING.has(name))
    .flatMap(([name, value]) => [value].flat().map((each) => `${name}=${each}`))
    .sort()
    .join(' ')
}

function toListed(list: readonly unknown[]): string {
  const texts = list.map(String)
  const fields = texts.flatMap((name, i) =>
    i % 2 === 0 && !VARYING.has(name) ? [`${name}=${texts[i + 1]}`] : [],
  )
  return fields.sort().join(' ')
}

/** undici's are an object over HTTP/2, a list of Buffers over HTTP/1.1; ours are a list of strings: all are fields. */
function toRaw(raw: unknown): string {
  if (raw === null || raw === undefined) return 'none'
  return Array.isArray(raw) ? toListed(raw) : toFields(raw)
}

function toKind(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Buffer.isBuffer(value)) return `Buffer ${value.toString('latin1')}`
  if (value instanceof Error) return `Error ${Reflect.get(value, 'code')}`
  if (Array.isArray(value)) return `${value.every(Buffer.isBuffer) ? 'Buffers' : 'list'} ${toListed(value)}`
  if (typeof value === 'string') return `string ${value}`
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object') return typeof value
  if ('abort' in value && 'rawHeaders' in value && 'rawTrailers' in value && 'paused' in value) {
    const { aborted, paused, reason } = value as { aborted?: unknown; paused: unknown; reason?: unknown }
    const state = [aborted, paused, toKind(reason)].join()
    return `controller ${state} headers ${toRaw(value.rawHeaders)} trailers ${toRaw(value.rawTrailers)}`
  }
  if ('pipe' in value) return 'Duplex'
  return `fields ${toFields(value)}`
}

const NEWER = [
  ...['onRequestStart', 'onRequestUpgrade', 'onResponseStarted', 'onResponseStart', 'onResponseData'],
  ...['onResponseEnd', 'onResponseError', 'onBodySent', 'onRequestSent'],
]
const OLDER = [
  ...['onConnect', 'onUpgrade', 'onResponseStarted', 'onHeaders', 'onData', 'onComplete', 'onError'],
  ...['onBodySent', 'onRequestSent'],
]

/** Calls each method by a prototype of its own: `this` is the handler itself. */
function toHandler(names: readonly string[], heard: string[], settle: () => void): object {
  const handler = {}
  const prototype: Record<string, unknown> = {}
  for (const name of names) {
    prototype[name] = function (this: unknown, ...args: unknown[]): boolean {
      for (const each of args)
        if (typeof each === 'object' && each !== null && 'pipe' in each && 'destroy' in each) {
          const socket = each as NodeJS.ReadWriteStream & { destroy(): void }
          socket.on('error', () => {}).destroy()
        }
      const own = this === handler ? '' : ' by another this'
      // What nobody gave is no argument: undici 6 leaves out the context.
      const given = args.map(toKind)
      while (given.at(-1) === 'nothing') given.pop()
      heard.push(`${name}(${given.join('; ')})${own}`)
      if (/Complete|End|Error|Upgrade/.test(name)) settle()
      return true
    }
  }
  return Object.setPrototypeOf(handler, prototype) as object
}

interface Dispatching {
  dispatch(options: never, handler: never): boolean
  destroy(): Promise<void>
}

async function play(dispatcher: Dispatching, options: object, names: readonly string[]): Promise<string[]> {
  const heard: string[] = []
  onTestFinished(() => dispatcher.destroy())
  await new Promise<void>((settle) => {
    dispatcher.dispatch(options as never, toHandler(names, heard, settle) as never)
  })
  return heard
}

async function start() {
  const { private: key, cert } = await toCertificate()
  const server = createSecureServer({ key, cert, settings: { enableConnectProtocol: true } })
  server.on('sessionError', () => {})
  server.on('session', (session) => session.on('error', () => {}))
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {})
    const { ':method': method, ':path': path } = headers
    if (method === 'CONNECT') {
      stream.respond({ ':status': 200, 'x-a': '1' })
      return
    }
    stream.resume().on('end', () => {
      if (path === '/cut') {
        stream.session?.destroy()
        return
      }
      if (path === '/hints') stream.additionalHeaders({ ':status': 103, link: '</a>' })
      const waitForTrailers = path === '/trailers'
      stream.respond({ ':status': 200, 'x-a': '1', 'set-cookie': ['a=1', 'b=2'] }, { waitForTrailers })
      if (waitForTrailers) stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '42' }))
      stream.end(method === 'HEAD' ? undefined : 'text')
    })
  })
  return { origin: `https://localhost:${(await listen(server)).port}`, ca: cert }
}

const CASES: readonly [what: string, options: object][] = [
  ['GET', { method: 'GET', path: '/' }],
  ['HEAD', { method: 'HEAD', path: '/' }],
  ['trailers', { method: 'GET', path: '/trailers' }],
  ['a body', { method: 'POST', path: '/', body: 'abc' }],
  ['a lost connection', { method: 'POST', path: '/cut', body: 'abc' }],
  ['a bad header', { method: 'GET', path: '/', headers: { 'a b': '1' } }],
  ['CONNECT', { method: 'CONNECT', path: 'localhost:1' }],
]

describe.each(ENGINES)('on engine %s a handler', (engine) => {
  const toOurs = (ca: string) => new Agent({ connect: { ca }, engine })

  it.each(CASES)('of undici 8’s shape gets what undici gives: %s', async (what, options) => {
    const { origin, ca } = await start()
    const theirs = await play(
      new NewAgent({ connect: { ca }, allowH2: true } as never),
      { origin, ...options },
      NEWER,
    )
    const ours = await play(toOurs(ca), { origin, ...options }, NEWER)
    const isOfBoth = (event: string): boolean =>
      // undici 7 reports neither to a handler of this shape, and over HTTP/2 none calls it before a tunnel.
      !(isNode20 && /^on(?:BodySent|RequestSent)/.test(event)) &&
      !(what === 'CONNECT' && /^on(?:ResponseStarted|RequestSent)/.test(event))
    // undici 7 gives the trailers by the controller alone. A refused request has a controller here, which
    // differences.md says.
    const toShared = (events: string[]): string[] =>
      events
        .map((event) =>
          isNode20 && event.startsWith('onResponseEnd') ? event.replace(/; fields .*/, ')') : event,
        )
        .filter(isOfBoth)
        .map((event) => (what === 'a bad header' ? event.replace(/\(.*; /, '(') : event))
    expect(toShared(ours)).toEqual(toShared(theirs).map((event) => event.replace('(nothing; ', '(')))
  })

  it.each(CASES)('of undici 6’s shape gets what undici 6 gives: %s', async (what, options) => {
    const { origin, ca } = await start()
    const Agent6 = undici6.Agent as unknown as AgentClass
    const theirs = await play(
      new Agent6({ connect: { ca }, allowH2: true } as never),
      { origin, ...options },
      OLDER,
    )
    const ours = await play(toOurs(ca), { origin, ...options }, OLDER)
    const isOfBoth = (event: string): boolean =>
      // undici 6 drops these over HTTP/2, and says neither the status nor the fields of a tunnel.
      !(what === 'CONNECT' && /^on(?:ResponseStarted|RequestSent|Upgrade)/.test(event)) &&
      !(what === 'trailers' && event.startsWith('onComplete'))
    if (what === 'CONNECT') expect(ours.at(-1)).toBe('onUpgrade(200; Buffers x-a=1; Duplex)')
    if (what === 'trailers') expect(ours.at(-1)).toBe('onComplete(Buffers x-sum=42)')
    expect(ours.filter(isOfBoth)).toEqual(theirs.filter(isOfBoth))
  })
})
