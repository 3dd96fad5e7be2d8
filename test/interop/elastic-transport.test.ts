/** @elastic/transport, whose `agent` makes the Pool of each node: it gets the same from ours, over HTTP/2, as from undici's. */

import { createSecureServer } from 'node:http2'
import type { Socket } from 'node:net'
import { Pool as UndiciPool } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Pool } from '../../src/index.ts'
import { lacksPackages, loadPackage } from '../support/clients/packages.ts'
import { listen } from '../support/servers/listen.ts'
import { read, toCertificate } from '../support/servers/server.ts'

interface Transport {
  request(params: object, options?: object): Promise<unknown>
}

interface ConnectionPool {
  addConnection(node: object): unknown
  empty(): Promise<void>
}

interface Elastic {
  readonly UndiciConnection: unknown
  readonly ClusterConnectionPool: new (options: object) => ConnectionPool
  readonly Serializer: new () => object
  readonly Diagnostic: new () => object
  readonly Transport: new (options: object) => Transport
}

/** What makes the pool of an origin that a certificate is trusted for. */
const POOLS = {
  'a Pool of undici': (origin: string, ca: string) => new UndiciPool(origin, { connect: { ca } }),
  'a Pool on engine node': (origin: string, ca: string) =>
    new Pool(origin, { connect: { ca }, engine: 'node' }),
  'a Pool on engine wire': (origin: string, ca: string) =>
    new Pool(origin, { connect: { ca }, engine: 'wire' }),
}

type Kind = keyof typeof POOLS

/** A search server, of each version of HTTP, that stays silent at `/slow`, and breaks off at `/cut` and `/half`. */
async function startNode(): Promise<{ origin: string; ca: string; versions: Set<string> }> {
  const { private: key, cert } = await toCertificate()
  const versions = new Set<string>()
  const sockets = new Set<Socket>()
  const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    versions.add(request.httpVersion)
    const [path = ''] = request.url.split('?')
    const cut = () => {
      for (const socket of sockets) socket.destroy()
    }
    if (path === '/slow') return
    if (path === '/cut') {
      cut()
      return
    }
    response.setHeader('content-type', 'application/json')
    response.setHeader('x-elastic-product', 'Elasticsearch')
    if (path === '/half') {
      response.write('{"half":', cut)
      return
    }
    response.statusCode = path === '/missing' ? 404 : 200
    void read(request).then((body) => {
      const { method, url } = request
      response.end(JSON.stringify({ method, url, body }))
    })
  })
  server.on('secureConnection', (socket) => sockets.add(socket))
  server.on('sessionError', () => {})
  const { port } = await listen(server)
  return { origin: `https://localhost:${port}`, ca: cert, versions }
}

/** What comes of each request, one by one: a value, or the name of an error of the library's own. */
async function play(kind: Kind): Promise<{ told: unknown[]; versions: string[] }> {
  const { origin, ca, versions } = await startNode()
  const { ClusterConnectionPool, Diagnostic, Serializer, Transport, UndiciConnection } = loadPackage<Elastic>(
    'user-tools',
    '@elastic/transport',
  )
  const diagnostic = new Diagnostic()
  const connectionPool = new ClusterConnectionPool({ Connection: UndiciConnection, diagnostic })
  onTestFinished(() => connectionPool.empty())
  connectionPool.addConnection({ url: new URL(origin), agent: () => POOLS[kind](origin, ca) })
  const options = { connectionPool, diagnostic, serializer: new Serializer(), maxRetries: 0 }
  const transport = new Transport({ ...options, requestTimeout: 60_000 })
  const told: unknown[] = []
  const ask = async (params: object, more: object = {}): Promise<void> => {
    told.push(await transport.request(params, more).catch(({ name, statusCode }) => ({ name, statusCode })))
  }
  await ask({ method: 'GET', path: '/items', querystring: { size: 1 } })
  await ask({ method: 'POST', path: '/items', body: { tea: 'green' } })
  await ask({ method: 'POST', path: '/_bulk', bulkBody: [{ index: {} }, { tea: 'black' }] })
  await ask({ method: 'GET', path: '/missing' })
  // It dispatches an abort event of its own at the request's signal.
  await ask({ method: 'GET', path: '/slow' }, { requestTimeout: 50 })
  const controller = new AbortController()
  const aborted = ask({ method: 'GET', path: '/slow' }, { signal: controller.signal })
  controller.abort()
  await aborted
  await ask({ method: 'POST', path: '/cut', body: {} })
  await ask({ method: 'GET', path: '/half' })
  await ask({ method: 'GET', path: '/items' })
  const many = Array.from({ length: 30 }, (_, index) =>
    transport.request({ method: 'GET', path: `/${index}` }),
  )
  told.push(await Promise.all(many))
  return { told, versions: [...versions] }
}

describe.each<Kind>(['a Pool on engine node', 'a Pool on engine wire'])('with %s', (kind) => {
  it.skipIf(lacksPackages('user-tools'))(
    'each request ends as with a Pool of undici, and over HTTP/2',
    async () => {
      const theirs = await play('a Pool of undici')
      expect(theirs.told.map((each) => Reflect.get(Object(each), 'name') ?? 'a value')).toEqual([
        ...['a value', 'a value', 'a value', 'ResponseError', 'TimeoutError', 'RequestAbortedError'],
        ...['ConnectionError', 'ConnectionError', 'a value', 'a value'],
      ])
      expect(await play(kind)).toEqual({ ...theirs, versions: ['2.0'] })
    },
  )
})
