/** The parent of a span: that of the caller that dispatched the request, whichever call opened the connection. */

import type { SpanContext } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node'
import { describe, expect, it } from 'vitest'
import type { Agent } from '../../src/index.ts'
import { toAgent } from '../support/clients/agents.ts'
import type { ServerKind, TracedServer } from './opentelemetry-servers.ts'
import { startTracedServer } from './opentelemetry-servers.ts'
import type { Tracing } from './opentelemetry-tracing.ts'
import { startTracing, toTraceparent } from './opentelemetry-tracing.ts'
import type { Way } from './opentelemetry-ways.ts'
import { WAYS } from './opentelemetry-ways.ts'

const KINDS = ['h2', 'h2c', 'https', 'http'] as const
const CALLERS = 100
/** Of ours, below those, and of others; each of them has other callbacks between the caller and the request. */
const SOME = WAYS.filter(([name]) =>
  ['request()', 'dispatch()', "Node's fetch", "undici 7's request()"].includes(name),
)

async function start(kind: ServerKind, limit = 1_000): Promise<{ server: TracedServer; agent: Agent }> {
  const server = await startTracedServer(kind, { maxConcurrentStreams: limit })
  // A busy machine takes its time for a hundred handshakes at once.
  const agent = toAgent({ h2c: kind === 'h2c', connect: { ca: server.ca }, connectTimeout: 0 })
  return { server, agent }
}

/** Sends a request within each of so many spans, all of them at once. By path: the caller's span. */
async function askAll(
  tracing: Tracing,
  send: Way,
  agent: Agent,
  origin: string,
): Promise<Map<string, SpanContext>> {
  const callers = new Map<string, SpanContext>()
  const paths = Array.from({ length: CALLERS }, (_, index) => `/${index}`)
  await Promise.all(
    paths.map((path) =>
      tracing.within(path, async (span) => {
        callers.set(path, span.spanContext())
        expect(await send(agent, origin, path)).toBe(`GET ${path}`)
      }),
    ),
  )
  return callers
}

/** The path of each request, and the span that it belongs to. */
function toParents(spans: readonly ReadableSpan[]): [unknown, string | undefined][] {
  return spans.map(({ attributes, parentSpanContext }) => [attributes['url.path'], parentSpanContext?.spanId])
}

/** The paths of spans whose parent isn't the span of their caller. */
function toStrangers(spans: readonly ReadableSpan[], callers: ReadonlyMap<string, SpanContext>): string {
  return toParents(spans)
    .filter(([path, parent]) => callers.get(String(path))?.spanId !== parent)
    .map(([path]) => path)
    .join(' ')
}

describe.each(KINDS)('the parent of a span of a request to an origin of kind %s', (kind) => {
  describe.each(SOME)(`when ${CALLERS} send one at once by %s`, (_name, send) => {
    it('is the span of the caller, cold and warm', async () => {
      const tracing = startTracing()
      const { server, agent } = await start(kind)
      for (const temperature of ['cold', 'warm']) {
        const before = (await tracing.requests()).length
        const callers = await askAll(tracing, send, agent, server.origin)
        const spans = (await tracing.requests()).slice(before)
        expect(spans, temperature).toHaveLength(CALLERS)
        expect(toStrangers(spans, callers), temperature).toBe('')
      }
      const sent = (await tracing.requests()).map((span) => [
        span.attributes['url.path'],
        toTraceparent(span),
      ])
      const came = server.received.map(({ url, traceparents }) => [url, ...traceparents])
      expect(came.sort()).toEqual(sent.sort())
    })
  })

  describe('when some callers have a span and others have none', () => {
    it('is that, or nothing', async () => {
      const tracing = startTracing()
      const { server, agent } = await start(kind)
      const ask = async (path: string): Promise<void> => {
        const { body } = await agent.request({ origin: server.origin, path, method: 'GET' })
        await body.dump()
      }
      let caller: SpanContext | null = null
      const below = tracing.within('caller', (span) => {
        caller = span.spanContext()
        return ask('/below')
      })
      await Promise.all([below, ask('/alone')])
      const spans = await tracing.requests()
      const parents = spans.map(({ attributes, parentSpanContext }) => [
        attributes['url.path'],
        parentSpanContext,
      ])
      expect(Object.fromEntries(parents)).toEqual({
        '/below': expect.objectContaining(caller),
        '/alone': undefined,
      })
    })
  })

  describe('when fetch follows a redirection', () => {
    it('is that of the caller for both requests', async () => {
      const tracing = startTracing()
      const { server, agent } = await start(kind)
      await tracing.within('another', () =>
        fetch(server.origin, { dispatcher: agent }).then((it) => it.text()),
      )
      const caller = await tracing.within('caller', async (span) => {
        const response = await fetch(`${server.origin}/302`, { dispatcher: agent })
        expect(await response.text()).toBe('GET /target')
        return span.spanContext()
      })
      const [, ...spans] = await tracing.requests()
      expect(toParents(spans)).toEqual([
        ['/302', caller.spanId],
        ['/target', caller.spanId],
      ])
      expect(server.received.slice(1).map(({ traceparents }) => traceparents)).toEqual(
        spans.map((span) => [toTraceparent(span)]),
      )
    })
  })
})

describe('the parent of a span of a request that waits for a stream', () => {
  it.each(['h2', 'h2c'] as const)('is the span of the caller, to an origin of kind %s', async (kind) => {
    const tracing = startTracing()
    const { server, agent } = await start(kind, 2)
    const [, send] = SOME[0] ?? expect.unreachable()
    const callers = await askAll(tracing, send, agent, server.origin)
    const spans = await tracing.requests()
    expect(spans).toHaveLength(CALLERS)
    expect(toStrangers(spans, callers)).toBe('')
  })
})
