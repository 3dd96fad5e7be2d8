/** Spans of `@opentelemetry/instrumentation-undici`, which knows requests by undici's channels alone. */

import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { UndiciRequest } from '@opentelemetry/instrumentation-undici'
import { describe, expect, it } from 'vitest'
import type { Agent } from '../../src/index.ts'
import { toAgent } from '../support/clients/agents.ts'
import type { ServerKind, TracedServer } from './opentelemetry-servers.ts'
import { startTracedServer } from './opentelemetry-servers.ts'
import { startTracing, toTraceparent } from './opentelemetry-tracing.ts'
import { WAYS } from './opentelemetry-ways.ts'

/** A server, and an agent that trusts it. */
async function start(kind: ServerKind): Promise<{ server: TracedServer; agent: Agent }> {
  const server = await startTracedServer(kind)
  return { server, agent: toAgent({ h2c: kind === 'h2c', connect: { ca: server.ca } }) }
}

async function ask(agent: Agent, server: TracedServer, path: string): Promise<string> {
  const { body } = await agent.request({ origin: server.origin, path, method: 'GET' })
  return body.text()
}

/** By the kind of origin: the version of HTTP as Node's servers tell it, and as the semantic conventions do. */
const KINDS = [
  ['h2', '2.0', '2'],
  ['h2c', '2.0', '2'],
  ['https', '1.1', '1.1'],
  ['http', '1.1', '1.1'],
] as const

describe.each(KINDS)('a span of a request to an origin of kind %s', (kind, httpVersion, version) => {
  describe.each(WAYS)('when %s sends it', (_name, send) => {
    it('is one, of the client, below the caller, and the server gets its id', async () => {
      const tracing = startTracing()
      const { server, agent } = await start(kind)
      // Cold, and again when it is known what the origin speaks.
      for (const path of ['/cold?a=b', '/warm']) {
        const caller = await tracing.within('caller', async (span) => {
          expect(await send(agent, server.origin, path)).toBe(`GET ${path}`)
          return span.spanContext()
        })
        const span = (await tracing.requests()).at(-1)
        expect(span).toMatchObject({
          name: 'GET',
          kind: SpanKind.CLIENT,
          status: { code: SpanStatusCode.UNSET },
          parentSpanContext: { traceId: caller.traceId, spanId: caller.spanId },
          events: [],
        })
        expect(span?.spanContext().traceId).toBe(caller.traceId)
      }
      const spans = await tracing.requests()
      expect(server.received.map((received) => [received.url, received.httpVersion])).toEqual([
        ['/cold?a=b', httpVersion],
        ['/warm', httpVersion],
      ])
      expect(server.received.map(({ traceparents }) => traceparents)).toEqual(
        spans.map((span) => [toTraceparent(span)]),
      )
      expect(new Set(spans.map((span) => span.spanContext().spanId)).size).toBe(2)
    })
  })

  describe('when it has ended', () => {
    it('has attributes of the request, the response and the connection', async () => {
      const tracing = startTracing()
      const { server, agent } = await start(kind)
      await ask(agent, server, '/path?query=1')
      const { origin, port } = server
      const { protocol, hostname } = new URL(origin)
      const { attributes } = await tracing.request()
      expect(attributes).toMatchObject({
        'http.request.method': 'GET',
        'http.request.method_original': 'GET',
        'http.response.status_code': 200,
        'url.full': `${origin}/path?query=1`,
        'url.path': '/path',
        'url.query': '?query=1',
        'url.scheme': protocol.slice(0, -1),
        'server.address': hostname,
        'server.port': port,
        'network.peer.address': '127.0.0.1',
        'network.peer.port': port,
      })
      expect(attributes).not.toHaveProperty('error.type')
    })

    it('has the version of HTTP', async () => {
      const tracing = startTracing()
      const { server, agent } = await start(kind)
      await ask(agent, server, '/')
      const { attributes } = await tracing.request()
      expect(attributes).toMatchObject({ 'network.protocol.version': version })
    })

    it('has the user agent, and the address of an IPv4 host', async () => {
      const tracing = startTracing()
      const { server, agent } = await start(kind)
      const { protocol } = new URL(server.origin)
      const origin = `${protocol}//127.0.0.1:${server.port}`
      const headers = { 'User-Agent': 'a/1' }
      const { body } = await agent.request({ origin, path: '/', method: 'GET', headers })
      await body.dump()
      const { attributes } = await tracing.request()
      expect(attributes).toMatchObject({ 'user_agent.original': 'a/1', 'server.address': '127.0.0.1' })
    })

    it.each([404, 500])('has the status of a response of %s', async (status) => {
      const tracing = startTracing()
      const { server, agent } = await start(kind)
      expect(await ask(agent, server, `/${status}`)).toBe(`GET /${status}`)
      const span = await tracing.request()
      expect(span.attributes).toMatchObject({
        'http.response.status_code': status,
        'error.type': String(status),
      })
      expect(span.status).toEqual({ code: SpanStatusCode.ERROR })
      expect(server.received).toMatchObject([{ traceparents: [toTraceparent(span)] }])
    })

    it('has the name of the method', async () => {
      const tracing = startTracing()
      const { server, agent } = await start(kind)
      const { origin } = server
      for (const method of ['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'] as const) {
        const body = method === 'POST' || method === 'PUT' ? 'body' : null
        const response = await agent.request({ origin, path: '/', method, body })
        await response.body.dump()
      }
      expect((await tracing.requests()).map(({ name }) => name)).toEqual(
        server.received.map(({ method }) => method),
      )
    })
  })

  describe('when the instrumentation has hooks', () => {
    it('they get the request and the response, and fields that they add are sent', async () => {
      const seen: unknown[] = []
      const tracing = startTracing({
        startSpanHook: ({ method, path }: UndiciRequest) => ({ 'a.start': `${method} ${path}` }),
        requestHook: (span, request) => {
          const { origin, method, path, completed, aborted } = request
          seen.push({ origin, method, path, completed, aborted })
          request.addHeader('X-Hooked', span.spanContext().spanId)
        },
        responseHook: (span, { request, response }) => {
          seen.push(`${request.method} ${request.path} ${response.statusCode}`)
          span.setAttribute('a.response', response.headers.map(String).join('|').toLowerCase())
        },
        headersToSpanAttributes: { requestHeaders: ['X-Own', 'x-hooked'], responseHeaders: ['X-Response'] },
      })
      const { server, agent } = await start(kind)
      const { origin } = server
      const { body } = await agent.request({ origin, path: '/a', method: 'GET', headers: { 'X-Own': '1' } })
      await body.dump()
      const span = await tracing.request()
      expect(seen).toEqual([
        { origin, method: 'GET', path: '/a', completed: false, aborted: false },
        'GET /a 200',
      ])
      expect(span.attributes).toMatchObject({
        'a.start': 'GET /a',
        'a.response': expect.stringContaining('x-response|yes'),
        'http.request.header.x-own': ['1'],
        'http.request.header.x-hooked': [span.spanContext().spanId],
        'http.response.header.x-response': ['yes'],
      })
    })

    it('ignoreRequestHook leaves out the requests that it names', async () => {
      const tracing = startTracing({ ignoreRequestHook: ({ path }) => path === '/health' })
      const { server, agent } = await start(kind)
      await ask(agent, server, '/health')
      await ask(agent, server, '/other')
      await ask(agent, server, '/health')
      const span = await tracing.request()
      expect(span.attributes['url.path']).toBe('/other')
      expect(server.received.map(({ traceparents }) => traceparents)).toEqual([[], [toTraceparent(span)], []])
    })

    it('requireParentforSpans leaves out requests without a parent', async () => {
      const tracing = startTracing({ requireParentforSpans: true })
      const { server, agent } = await start(kind)
      await ask(agent, server, '/alone')
      await tracing.within('caller', () => ask(agent, server, '/below'))
      const span = await tracing.request()
      expect(span.attributes['url.path']).toBe('/below')
      expect(server.received.map(({ traceparents }) => traceparents)).toEqual([[], [toTraceparent(span)]])
    })
  })

  describe('when no tracer is registered', () => {
    it('there is none, and no trace field is sent', async () => {
      const tracing = startTracing()
      const { server, agent } = await start(kind)
      tracing.instrumentation.disable()
      await tracing.within('caller', () => ask(agent, server, '/before'))
      tracing.instrumentation.enable()
      await ask(agent, server, '/traced')
      tracing.instrumentation.disable()
      await tracing.within('caller', () => ask(agent, server, '/after'))
      const span = await tracing.request()
      expect(span.attributes['url.path']).toBe('/traced')
      expect(server.received.map(({ traceparents }) => traceparents)).toEqual([[], [toTraceparent(span)], []])
    })
  })
})
