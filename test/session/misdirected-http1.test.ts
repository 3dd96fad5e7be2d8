import { PassThrough, Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/index.ts'
import type { DispatchController, DispatchOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { TakenRequest } from '../support/clients/fallback-fake.ts'
import { begin, FakeFallback, Http1Harness, respondTo } from '../support/clients/fallback-fake.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'

/** Responses by 421 as often as that, and then well. */
async function start(times: number) {
  let left = times
  const server = await startHttp1(
    (request, response) => {
      request.resume()
      if (left-- > 0) response.writeHead(421).write('misdirected')
      else request.on('end', () => response.end(`${request.method} ${request.url}`))
    },
    { tls: false },
  )
  const agent = destroyWithTest(new Agent())
  return { server, agent, origin: server.origin }
}

function misdirect({ handler, controller }: TakenRequest): void {
  controller.rawHeaders = ['content-type', 'text/plain']
  handler.onResponseStart?.(controller, 421, { 'content-type': 'text/plain' }, 'Misdirected Request')
  handler.onResponseData?.(controller, Buffer.from('misdirected'))
}

/** The first response is 421. */
function dispatch(options: Partial<DispatchOptions>, recorder = new Recorder()) {
  const fallback = new FakeFallback((request) => {
    if (fallback.requests.length > 1) respondTo(request)
    else begin(request)
  })
  const call = new Http1Harness(fallback).dispatch(options, recorder)
  return { fallback, call, first: fallback.request }
}

const BODIES: readonly { readonly what: string; readonly body: () => DispatchOptions['body'] }[] = [
  { what: 'no body', body: () => null },
  { what: 'a string', body: () => 'text' },
  { what: 'a function that returns a Readable', body: () => () => Readable.from(['te', 'xt']) },
]

describe('a response of 421 over HTTP/1.1', () => {
  it.each(
    BODIES,
  )('to a request with $what is not handed over: it is sent once more, by another connection', async ({
    body,
  }) => {
    const { server, agent, origin } = await start(1)
    const method = body() === null ? 'GET' : 'POST'
    const response = await agent.request({ origin, path: '/', method, body: body() ?? null })
    expect([response.statusCode, await response.body.text()]).toEqual([200, `${method} /`])
    const [first, second] = server.requests
    expect(server.requests).toHaveLength(2)
    expect(second?.socket).not.toBe(first?.socket)
    const given = body()
    if (typeof given === 'string') expect(await second?.body).toBe('text')
  })

  it('that comes a second time is handed over', async () => {
    const { server, agent, origin } = await start(2)
    const { statusCode, body } = await agent.request({ origin, path: '/', method: 'GET' })
    expect(statusCode).toBe(421)
    await body.dump({ limit: 0 })
    expect(server.requests).toHaveLength(2)
  })

  it('is handed over when the body can be read only once', async () => {
    const { server, agent, origin } = await start(1)
    const body = Readable.from(['text'])
    const response = await agent.request({ origin, path: '/', method: 'POST', body })
    expect(response.statusCode).toBe(421)
    await response.body.dump({ limit: 0 })
    expect(server.requests).toHaveLength(1)
  })

  it('ends its own attempt, which emits no further event', async () => {
    const { fallback, call, first } = dispatch({})
    misdirect(first)
    expect(first.controller.events).toEqual(['abort'])
    first.handler.onResponseError?.(first.controller, new Error('aborted'))
    await call.settled
    expect(call.events).toEqual(['start', 'response 200', 'data', 'end'])
    expect(fallback.requests).toHaveLength(2)
  })

  it('when its handler has paused › is discarded, and the next attempt is paused, too', async () => {
    const { fallback, call, first } = dispatch({})
    call.controller?.pause()
    misdirect(first)
    expect(first.controller.events).toEqual(['pause', 'abort'])
    await call.settled
    expect(fallback.requests[1]?.controller.events).toContain('pause')
  })

  it('to a CONNECT releases its socket, and has the request sent once more', async () => {
    const sockets = [new PassThrough(), new PassThrough()]
    let status = 421
    const fallback = new FakeFallback((request) => {
      begin(request)
      const socket = sockets[fallback.requests.length - 1] as PassThrough
      request.handler.onRequestUpgrade?.(request.controller, status, {}, socket)
      status = 200
    })
    const recorder = Object.assign(new Recorder(), {
      onRequestUpgrade: (_controller: DispatchController, code: number) =>
        recorder.events.push(`upgrade ${code}`),
    })
    new Http1Harness(fallback).dispatch({ method: 'CONNECT', path: 'example.org:443' }, recorder)
    await new Promise((resolve) => setImmediate(resolve))
    expect(recorder.events).toEqual(['start', 'upgrade 200'])
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, false])
    expect(fallback.requests).toHaveLength(2)
  })

  it('to a CONNECT that comes a second time is handed over, and refuses the tunnel', async () => {
    const sockets = [new PassThrough(), new PassThrough()]
    const fallback = new FakeFallback((request) => {
      begin(request)
      const socket = sockets[fallback.requests.length - 1] as PassThrough
      request.handler.onRequestUpgrade?.(request.controller, 421, {}, socket)
    })
    const call = new Http1Harness(fallback).dispatch({ method: 'CONNECT', path: 'example.org:443' })
    await call.settled
    expect(call.events).toEqual(['start', 'response 421', 'error'])
    expect(call.error).toMatchObject({ name: 'TunnelRefusedError', statusCode: 421 })
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, true])
  })

  it('leaves a call that is aborted before it is sent again aborted', async () => {
    const { fallback, call, first } = dispatch({})
    misdirect(first)
    const mine = new Error('mine')
    call.controller?.abort(mine)
    await new Promise((resolve) => setImmediate(resolve))
    expect([call.events, call.error]).toEqual([['start', 'error'], mine])
    expect(fallback.requests).toHaveLength(1)
  })
})
