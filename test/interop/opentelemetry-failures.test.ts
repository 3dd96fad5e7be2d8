/** Spans of requests that fail, or that it takes more than one attempt to serve. */

import { once } from 'node:events'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { createSecureServer } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Agent } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import type { AgentOptions } from '../../types/index.ts'
import { toAgent } from '../support/clients/agents.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { HTTP_1_1_REQUIRED, INTERNAL_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'
import { findFreePort } from '../support/servers/free-port.ts'
import { toCertificate } from '../support/servers/server.ts'
import type { Tracing } from './opentelemetry-tracing.ts'
import { startTracing, toTraceparent } from './opentelemetry-tracing.ts'

/** None for a peer that speaks h2c. */
const KINDS = ['h2', 'h2c'] as const

interface Asked {
  /** The response's body, or the error. */
  readonly outcome: unknown
  readonly callerId: string
}

/** Sends a GET below a span of its own. */
async function ask(tracing: Tracing, agent: Agent, origin: string, signal?: AbortSignal): Promise<Asked> {
  return tracing.within('caller', async (span) => {
    const callerId = span.spanContext().spanId
    try {
      const { body } = await agent.request({ origin, path: '/', method: 'GET', signal })
      return { outcome: await body.text(), callerId }
    } catch (error) {
      return { outcome: error, callerId }
    }
  })
}

/** A scripted peer, and an agent that trusts it. */
async function start(
  kind: (typeof KINDS)[number],
  scripts: ConnectionScript | readonly ConnectionScript[],
): Promise<{ peer: FaultServer; agent: Agent }> {
  if (kind === 'h2c') return { peer: await startPeer(scripts), agent: toAgent({ h2c: true }) }
  const { options, ca } = await toTlsPeer()
  return { peer: await startPeer(scripts, options), agent: toAgent({ h2c: false, connect: { ca } }) }
}

/** The attributes and events of a failed span. */
function toFailure({ attributes, status, events }: ReadableSpan): unknown {
  return { type: attributes['error.type'], status: status.code, events: events.map(({ name }) => name) }
}

function toExpected(type: unknown): unknown {
  return { type, status: SpanStatusCode.ERROR, events: ['exception'] }
}

/** By the semantic conventions, what the caller has aborted is no error. */
const ABORTED = { type: undefined, status: SpanStatusCode.UNSET, events: [] }

const REFUSING: readonly [string, string, AgentOptions][] = [
  ['http:, as h2c', 'http', { h2c: true }],
  ['http:, by fallback', 'http', { h2c: false }],
  ['https:', 'https', {}],
  ['https: without a fallback', 'https', { fallback: null }],
]

describe.each(
  REFUSING,
)('the span of a request to an origin that refuses connections (%s)', (_name, scheme, options) => {
  it('has the error, and each request has one', async () => {
    const tracing = startTracing()
    const agent = toAgent(options)
    const origin = `${scheme}://127.0.0.1:${await findFreePort()}`
    const asked = await Promise.all([0, 1, 2].map(() => ask(tracing, agent, origin)))
    for (const { outcome } of asked) expect(outcome).toMatchObject({ code: 'ECONNREFUSED' })
    const spans = await tracing.requests()
    expect(spans.map(toFailure)).toEqual(Array(3).fill(toExpected('ECONNREFUSED')))
    const parents = spans.map(({ parentSpanContext }) => parentSpanContext?.spanId)
    expect(parents.sort()).toEqual(asked.map(({ callerId }) => callerId).sort())
  })
})

describe.each(KINDS)('the span of a request by %s', (kind) => {
  describe('when its stream is reset', () => {
    it('has the error', async () => {
      const tracing = startTracing()
      const { agent, peer } = await start(kind, { onRequest: (stream) => stream.reset(INTERNAL_ERROR) })
      const { outcome } = await ask(tracing, agent, peer.origin)
      expect(outcome).toMatchObject({ http2ErrorCode: INTERNAL_ERROR })
      const span = await tracing.request()
      expect(toFailure(span)).toEqual(toExpected(Object(outcome).code))
      expect(span.attributes).not.toHaveProperty('http.response.status_code')
    })

    it('has the error and the status, in the middle of the response', async () => {
      const tracing = startTracing()
      const { agent, peer } = await start(kind, {
        onRequest: (stream) => {
          stream.head(200)
          stream.data('half')
          stream.reset(INTERNAL_ERROR)
        },
      })
      const { outcome } = await ask(tracing, agent, peer.origin)
      expect(outcome).toMatchObject({ http2ErrorCode: INTERNAL_ERROR, processed: 'yes' })
      const span = await tracing.request()
      expect(toFailure(span)).toEqual(toExpected(Object(outcome).code))
      expect(span.attributes).toMatchObject({ 'http.response.status_code': 200 })
    })
  })

  describe('when it takes more than one attempt', () => {
    const again: Record<string, ConnectionScript | ConnectionScript[]> = {
      'the stream is refused': {
        onComplete: (stream, { streams }) =>
          streams.length === 1 ? stream.reset(REFUSED_STREAM) : stream.respond(),
      },
      'the connection retires': [
        { onRequest: (_, connection) => connection.goAway({ lastStreamId: 0, code: 0 }) },
        { onComplete: (stream) => stream.respond() },
      ],
      'the connection is lost': [
        { onRequest: (_, connection) => void connection.socket.destroy() },
        { onComplete: (stream) => stream.respond() },
      ],
      'it is misdirected': [
        {
          onRequest: (stream) => {
            stream.head(421)
            stream.end()
          },
        },
        { onComplete: (stream) => stream.respond() },
      ],
    }

    it.each(Object.entries(again))('is one: %s', async (_why, scripts) => {
      const tracing = startTracing()
      const { agent, peer } = await start(kind, scripts)
      const { outcome, callerId } = await ask(tracing, agent, peer.origin)
      expect(outcome).toBe('GET /')
      const span = await tracing.request()
      expect(peer.requests.map((stream) => stream.field('traceparent'))).toEqual(
        Array(2).fill(toTraceparent(span)),
      )
      expect(span.parentSpanContext?.spanId).toBe(callerId)
      expect(span.status.code).toBe(SpanStatusCode.UNSET)
      expect(span.attributes).toMatchObject({ 'http.response.status_code': 200 })
    })
  })

  describe('when the caller aborts it', () => {
    it('ends, before it is dispatched', async () => {
      const tracing = startTracing()
      const { agent, peer } = await start(kind, {})
      expect(await ask(tracing, agent, peer.origin, AbortSignal.abort())).toMatchObject({
        outcome: { name: 'AbortError' },
      })
      // As undici has it.
      expect(toFailure(await tracing.request())).toEqual(ABORTED)
      expect(peer.connections).toEqual([])
    })

    it('ends, before there is a connection', async () => {
      const tracing = startTracing()
      const { agent, peer } = await start(kind, {})
      const abortion = new AbortController()
      const asked = ask(tracing, agent, peer.origin, abortion.signal)
      abortion.abort()
      const { outcome, callerId } = await asked
      expect(outcome).toMatchObject({ name: 'AbortError' })
      const span = await tracing.request()
      expect(toFailure(span)).toEqual(ABORTED)
      expect(span.parentSpanContext?.spanId).toBe(callerId)
    })

    it('ends, while there is no response', async () => {
      const tracing = startTracing()
      const abortion = new AbortController()
      const { agent, peer } = await start(kind, { onRequest: () => abortion.abort() })
      expect(await ask(tracing, agent, peer.origin, abortion.signal)).toMatchObject({
        outcome: { name: 'AbortError' },
      })
      expect(toFailure(await tracing.request())).toEqual(ABORTED)
    })

    it('ends, in the middle of the response to a fetch', async () => {
      const tracing = startTracing()
      const { agent, peer } = await start(kind, { onRequest: (stream) => stream.head(200) })
      const abortion = new AbortController()
      const response = await fetch(peer.origin, { dispatcher: agent, signal: abortion.signal })
      const body = response.text()
      abortion.abort()
      await expect(body).rejects.toMatchObject({ name: 'AbortError' })
      const span = await tracing.request()
      expect(toFailure(span)).toEqual(ABORTED)
      expect(span.attributes).toMatchObject({ 'http.response.status_code': 200 })
    })

    it('has a reason of the caller', async () => {
      const tracing = startTracing()
      const abortion = new AbortController()
      const reason = new RangeError('of the caller')
      const { agent, peer } = await start(kind, { onRequest: () => abortion.abort(reason) })
      expect(await ask(tracing, agent, peer.origin, abortion.signal)).toMatchObject({ outcome: reason })
      const span = await tracing.request()
      expect(toFailure(span)).toEqual(toExpected('RangeError'))
      expect(span.status.message).toBe('of the caller')
    })
  })

  describe('when the client ends it', () => {
    it('has the error of a handler that throws', async () => {
      const tracing = startTracing()
      const { agent, peer } = await start(kind, { onComplete: (stream) => stream.respond() })
      const call = new Recorder()
      call.onResponseStart = () => {
        throw new RangeError('of the handler')
      }
      agent.dispatch({ origin: peer.origin, path: '/', method: 'GET' }, call)
      await call.settled
      const span = await tracing.request()
      expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: 'of the handler' })
    })

    it.each([
      ['cold', {}],
      ['in flight', null],
    ] as const)('has the error of destroy(): %s', async (_when, script) => {
      const tracing = startTracing()
      const { agent, peer } = await start(kind, script ?? { onRequest: () => void agent.destroy() })
      const asked = ask(tracing, agent, peer.origin)
      if (script !== null) await agent.destroy()
      const { outcome, callerId } = await asked
      expect(outcome).toMatchObject({ code: 'UND_ERR_DESTROYED' })
      const span = await tracing.request()
      expect(toFailure(span)).toEqual(toExpected('UND_ERR_DESTROYED'))
      expect(span.parentSpanContext?.spanId).toBe(callerId)
    })

    it('does not exist for a request that it refuses to send', async () => {
      const tracing = startTracing()
      const { agent, peer } = await start(kind, { onComplete: (stream) => stream.respond() })
      const { origin } = peer
      const bad = agent.request({ origin, path: '/', method: 'GET', headers: { 'a b': 'c' } })
      await expect(bad).rejects.toMatchObject({ code: 'UND_ERR_INVALID_ARG' })
      await agent.close()
      expect(await ask(tracing, agent, origin)).toMatchObject({ outcome: { code: 'UND_ERR_DESTROYED' } })
      expect(await tracing.requests()).toHaveLength(0)
    })
  })
})

/** It refuses by HTTP/2 what it serves by HTTP/1.1. */
async function startPickyServer(): Promise<{ origin: string; ca: string; received: string[] }> {
  const { private: key, cert: ca } = await toCertificate()
  const received: string[] = []
  const onRequest = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    received.push(`${request.httpVersion} ${request.headers.traceparent}`)
    if (request.httpVersionMajor === 2) response.stream.close(HTTP_1_1_REQUIRED)
    else response.end('by HTTP/1.1')
  }
  const server = createSecureServer({ key, cert: ca, allowHTTP1: true }, onRequest)
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => void sockets.add(socket.on('error', () => {})))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return { origin: `https://localhost:${(server.address() as AddressInfo).port}`, ca, received }
}

describe('the spans of a request that HTTP/2 is refused for (HTTP_1_1_REQUIRED)', () => {
  it('are two, below the same caller: the attempt that was refused, and the one of the fallback', async () => {
    const tracing = startTracing()
    const { origin, ca, received } = await startPickyServer()
    const agent = toAgent({ h2c: false, connect: { ca } })
    // Another caller has opened the connection.
    await ask(tracing, agent, origin)
    const { outcome, callerId } = await ask(tracing, agent, origin)
    expect(outcome).toBe('by HTTP/1.1')
    const [, , refused, served, ...more] = await tracing.requests()
    if (refused === undefined || served === undefined) return expect.unreachable()
    expect(more).toEqual([])
    expect(toFailure(refused)).toEqual(toExpected('DODICI_ERR_STREAM'))
    expect(refused.attributes).not.toHaveProperty('http.response.status_code')
    expect(served.status.code).toBe(SpanStatusCode.UNSET)
    expect(served.attributes).toMatchObject({ 'http.response.status_code': 200 })
    expect(received.slice(2)).toEqual([`2.0 ${toTraceparent(refused)}`, `1.1 ${toTraceparent(served)}`])
    expect(refused.parentSpanContext?.spanId).toBe(callerId)
    expect(served.parentSpanContext?.spanId).toBe(callerId)
  })
})
