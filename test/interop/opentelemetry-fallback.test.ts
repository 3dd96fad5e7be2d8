/** Spans of requests that a fallback serves: only the dispatcher that sends the request publishes it. */

import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import { createServer } from 'node:https'
import { SpanStatusCode } from '@opentelemetry/api'
import * as undici7 from 'undici'
import * as undici6 from 'undici-6'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FallbackDispatcher } from '../../types/index.ts'
import { toAgent } from '../support/clients/agents.ts'
import { listenOnFree } from '../support/servers/free-port.ts'
import { startServer, toCertificate } from '../support/servers/server.ts'
import { startTracedServer } from './opentelemetry-servers.ts'
import { startTracing, toTraceparent } from './opentelemetry-tracing.ts'

interface Fallback extends FallbackDispatcher {
  destroy(): Promise<void>
}

const GET = { path: '/', method: 'GET' } as const

/** undici 8 doesn't load on Node 20. */
const undici8 = process.versions.node.startsWith('20.') ? null : await import('undici-8')

const FALLBACKS: [string, (ca: string) => Fallback][] = [
  ['6', (ca) => new undici6.Agent({ connect: { ca } })],
  ['7', (ca) => new undici7.Agent({ connect: { ca } })],
  ['7, composed', (ca) => new undici7.Agent({ connect: { ca } }).compose(undici7.interceptors.retry())],
]
if (undici8 !== null) FALLBACKS.push(['8', (ca) => new undici8.Agent({ connect: { ca } })])

describe.each(FALLBACKS)('the span of a request that an Agent of undici %s serves', (_version, make) => {
  it.each(['https', 'http'] as const)('is one, to an %s: origin, cold and warm', async (kind) => {
    const tracing = startTracing()
    const { origin, ca, received } = await startTracedServer(kind)
    const fallback = make(ca)
    onTestFinished(() => fallback.destroy())
    const agent = toAgent({ h2c: false, connect: { ca }, fallback })
    const callers: string[] = []
    for (const path of ['/cold', '/warm', '/404']) {
      await tracing.within('caller', async (span) => {
        callers.push(span.spanContext().spanId)
        const response = await fetch(`${origin}${path}`, { dispatcher: agent })
        expect(await response.text()).toBe(`GET ${path}`)
      })
    }
    const spans = await tracing.requests()
    expect(spans.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([200, 200, 404])
    expect(spans.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual(callers)
    expect(received.map(({ traceparents }) => traceparents)).toEqual(
      spans.map((span) => [toTraceparent(span)]),
    )
  })
})

describe('the span of a request to an origin that now speaks only HTTP/1.1', () => {
  it('is one: nothing was sent by HTTP/2', async () => {
    const tracing = startTracing()
    const { private: key, cert: ca } = await toCertificate()
    const before = createSecureServer({ key, cert: ca }, (_request, response) => void response.end('before'))
    const port = await listenOnFree(before)
    const origin = `https://localhost:${port}`
    const agent = toAgent({ h2c: false, connect: { ca } })
    const disconnected = once(agent, 'disconnect')
    before.on('session', (session) => before.once('request', () => setImmediate(() => session.close())))
    const ask = async (): Promise<string> => {
      const { body } = await agent.request({ ...GET, origin })
      return body.text()
    }
    expect(await ask()).toBe('before')
    before.close()
    await Promise.all([disconnected, once(before, 'close')])
    const traceparents: unknown[] = []
    const after = createServer({ key, cert: ca }, ({ headers }, response) => {
      traceparents.push(headers.traceparent)
      response.end('after')
    })
    after.listen(port, '127.0.0.1')
    await once(after, 'listening')
    onTestFinished(async () => {
      after.closeAllConnections()
      after.close()
      await once(after, 'close')
    })
    expect(await ask()).toBe('after')
    const [, ...spans] = await tracing.requests()
    expect(spans.map(({ status }) => status.code)).toEqual([SpanStatusCode.UNSET])
    expect(traceparents).toEqual(spans.map(toTraceparent))
  })
})

describe('where there is no fallback', () => {
  it('a request to an https: origin that speaks HTTP/1.1 has a span with the error', async () => {
    const tracing = startTracing()
    const { origin, ca, received } = await startTracedServer('https')
    const agent = toAgent({ h2c: false, connect: { ca }, fallback: null })
    await expect(agent.request({ ...GET, origin })).rejects.toMatchObject({ name: 'AlpnError' })
    const { status } = await tracing.request()
    expect(status.code).toBe(SpanStatusCode.ERROR)
    expect(received).toEqual([])
  })

  it('a request to an http: origin, which no dispatcher takes, has none', async () => {
    const tracing = startTracing()
    const { origin } = await startTracedServer('http')
    const agent = toAgent({ h2c: false, fallback: null })
    await expect(agent.request({ ...GET, origin })).rejects.toMatchObject({ name: 'NotSupportedError' })
    expect(await tracing.requests()).toHaveLength(0)
  })
})

describe('a tunnel', () => {
  it('has no span, as the instrumentation leaves CONNECT out', async () => {
    const tracing = startTracing()
    const { origin } = await startServer(
      (stream) => {
        stream.respond({ ':status': 200 })
        stream.end()
      },
      { settings: { enableConnectProtocol: true } },
    )
    const agent = toAgent({ h2c: true })
    const { socket: tunnel } = await agent.connect({ origin, path: 'a.test:1' })
    const { socket } = await agent.upgrade({ origin, path: '/', protocol: 'websocket' })
    tunnel.destroy()
    socket.destroy()
    expect(await tracing.requests()).toHaveLength(0)
  })
})
