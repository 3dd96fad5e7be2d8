import { once } from 'node:events'
import { errors as undiciErrors } from 'undici'
import { describe, expect, it } from 'vitest'
import { Client, Dispatcher, errors, Pool } from '../../src/index.ts'
import type { DispatcherComposeInterceptor } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { serveHello, startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const

function connect(origin: string | URL): Client {
  return destroyWithTest(new Client(origin))
}

describe('Client', () => {
  it.each([
    ['a path', 'http://localhost/path'],
    ['credentials', 'http://user:secret@localhost'],
    ['another scheme', 'ftp://localhost'],
    ['nothing', ''],
  ])('refuses an origin with %s, and keeps secrets out of the message', (_what, origin) => {
    expect(() => new Client(origin)).toThrow(errors.InvalidArgumentError)
    expect(() => new Client(origin)).toThrow(/origin.*expected an http/)
    expect(() => new Client(origin)).not.toThrow(/secret/)
  })

  it.each([Client, Pool])('is made of the pieces of an origin: %o', async (OwnClass) => {
    const { origin } = await startServer(serveHello)
    const { hostname, port } = new URL(origin)
    for (const pieces of [{ protocol: 'http:', hostname, port }, { origin }]) {
      const client = destroyWithTest(new OwnClass(pieces as never))
      expect(client.origin).toBe(origin)
      expect(await (await client.request(GET)).body.text()).toBe('hello')
    }
  })

  it.each([
    {},
    { hostname: 'a.test' },
    { protocol: 'ftp:', hostname: 'a.test' },
    { origin: 'http://a.test/b' },
    5,
    null,
  ])('refuses pieces that are no origin: %j', (pieces) => {
    expect(() => new Client(pieces as never)).toThrow('Invalid origin')
  })

  it('is a Dispatcher, and takes a URL', async () => {
    const { origin } = await startServer(serveHello)
    const client = connect(new URL(origin))
    expect(client).toBeInstanceOf(Dispatcher)
    const { statusCode, body } = await client.request(GET)
    await body.dump()
    expect(statusCode).toBe(200)
  })

  it('announces connect, disconnect and drain with its origin', async () => {
    const { origin } = await startServer(serveHello)
    const client = connect(origin)
    const heard: unknown[] = []
    const drained = once(client, 'drain')
    client.on('connect', (url, targets) => heard.push(['connect', url.origin, targets[0] === client]))
    client.on('disconnect', (url, targets, error) => {
      heard.push(['disconnect', url.origin, targets[0] === client, typeof error.code])
    })
    const recorder = new Recorder()
    expect(client.dispatch(GET, recorder)).toBe(false)
    const [url] = await drained
    expect(url.origin).toBe(origin)
    await recorder.settled
    expect(client.dispatch(GET, new Recorder())).toBe(true)
    await client.close()
    expect(heard).toEqual([
      ['connect', origin, true],
      ['disconnect', origin, true, 'string'],
    ])
  })

  it('announces connectionError, and fails every waiting call with it', async () => {
    const { origin, server } = await startServer(serveHello)
    server.close()
    await once(server, 'close')
    const client = connect(origin)
    const announced = once(client, 'connectionError')
    const calls = [client.request(GET), client.request(GET)]
    const outcomes = await Promise.allSettled(calls)
    const [, , error] = await announced
    expect(error.code).toBe('ECONNREFUSED')
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ reason: { code: 'ECONNREFUSED', processed: 'no', attempts: 0 } })
    }
  })

  it('holds calls back above the limit of the peer, and follows a change of the limit', async () => {
    const held: (() => void)[] = []
    const { origin, sessions } = await startServer(
      (stream, headers) => void held.push(() => serveHello(stream, headers)),
      { settings: { maxConcurrentStreams: 2 } },
    )
    const client = connect(origin)
    const first = client.request(GET)
    await expect.poll(() => held.length).toBe(1)
    const calls = [first, ...Array.from({ length: 5 }, () => client.request(GET))]
    await expect.poll(() => held.length).toBe(2)
    expect(client.stats).toMatchObject({ pending: 4, running: 2 })
    sessions[0]?.settings({ maxConcurrentStreams: 4 })
    await expect.poll(() => held.length).toBe(4)
    expect(client.stats).toMatchObject({ pending: 2, running: 4 })
    sessions[0]?.settings({ maxConcurrentStreams: 100 })
    await expect.poll(() => held.length).toBe(6)
    for (const release of held) release()
    for (const call of calls) expect(await (await call).body.text()).toBe('hello')
    expect(sessions).toHaveLength(1)
  })
})

describe('destroy()', () => {
  it('fails running and waiting calls, each with an error of its own', async () => {
    const { origin } = await startServer(() => {}, { settings: { maxConcurrentStreams: 1 } })
    const client = connect(origin)
    const connected = once(client, 'connect')
    const calls = Array.from({ length: 150 }, () => client.request(GET))
    const outcomes = Promise.allSettled(calls)
    await connected
    await client.destroy()
    const reasons = (await outcomes).map((outcome) => (outcome.status === 'rejected' ? outcome.reason : null))
    expect(reasons.every((reason) => reason instanceof errors.ClientDestroyedError)).toBe(true)
    expect(new Set(reasons).size).toBe(150)
    const counts = new Map<string, number>()
    for (const { processed } of reasons) counts.set(processed, (counts.get(processed) ?? 0) + 1)
    expect(Object.fromEntries(counts)).toEqual({ maybe: 100, no: 50 })
  })

  it('settles also when the handler of a failed call calls it again', async () => {
    const { origin } = await startServer(() => {})
    const client = connect(origin)
    const connected = once(client, 'connect')
    const inner: Promise<unknown>[] = []
    const recorder = new Recorder()
    recorder.onResponseError = () =>
      void inner.push(client.destroy(), expect(client.close()).rejects.toThrow(errors.ClientDestroyedError))
    client.dispatch(GET, recorder)
    await connected
    await client.destroy()
    await Promise.all(inner)
    expect(inner).toHaveLength(2)
  })

  it('passes its error on', async () => {
    const { origin } = await startServer(() => {})
    const client = connect(origin)
    const call = client.request(GET)
    const error = new Error('enough')
    await Promise.all([expect(call).rejects.toBe(error), client.destroy(error)])
  })
})

describe('dispatch()', () => {
  it('tells an invalid handler of the missing method, or throws if it takes no errors', async () => {
    const client = connect('http://127.0.0.1:1')
    expect(() => client.dispatch(GET, null as never)).toThrow('handler')
    expect(() => client.dispatch(GET, { onRequestStart() {} })).toThrow('onResponseStart')
    const told: Error[] = []
    const handler = {
      onRequestStart() {},
      onResponseError: (_: unknown, error: Error) => void told.push(error),
    }
    expect(client.dispatch(GET, handler)).toBe(false)
    expect(told).toEqual([expect.objectContaining({ message: expect.stringContaining('onResponseStart') })])
  })

  it('reports invalid options to the handler, with a controller that is aborted', () => {
    const client = connect('http://127.0.0.1:1')
    const recorder = new Recorder()
    let isAborted = false
    const onResponseError = recorder.onResponseError.bind(recorder)
    recorder.onResponseError = (controller, error) => {
      isAborted = controller.aborted
      onResponseError(controller, error)
    }
    expect(client.dispatch({ ...GET, path: 'none' }, recorder)).toBe(false)
    expect(recorder.events).toEqual(['error'])
    expect(isAborted).toBe(true)
    expect(recorder.error).toBeInstanceOf(undiciErrors.InvalidArgumentError)
  })

  it('may be called from any callback of a handler', async () => {
    const { origin } = await startServer(serveHello)
    const client = connect(origin)
    const inner: Recorder[] = []
    const dispatchAnother = (): void => {
      const recorder = new Recorder()
      inner.push(recorder)
      client.dispatch(GET, recorder)
    }
    const outer = new Recorder()
    const { onRequestStart, onResponseStart, onResponseData, onResponseEnd } = outer
    outer.onRequestStart = (controller) => {
      dispatchAnother()
      onRequestStart.call(outer, controller)
    }
    outer.onResponseStart = (controller, statusCode, headers) => {
      dispatchAnother()
      onResponseStart.call(outer, controller, statusCode, headers)
    }
    outer.onResponseData = (controller, chunk) => {
      dispatchAnother()
      onResponseData.call(outer, controller, chunk)
    }
    outer.onResponseEnd = (controller, trailers) => {
      dispatchAnother()
      onResponseEnd.call(outer, controller, trailers)
    }
    client.dispatch(GET, outer)
    await outer.settled
    await Promise.all(inner.map((recorder) => recorder.settled))
    expect(inner.map((recorder) => recorder.text)).toEqual(['hello', 'hello', 'hello', 'hello'])
  })
})

describe('compose()', () => {
  const tag =
    (name: string): DispatcherComposeInterceptor =>
    (dispatch) =>
    (options, handler) =>
      dispatch({ ...options, headers: { ...(options.headers as object), [name]: name } }, handler)

  it('passes requests through the interceptors', async () => {
    const heard: unknown[] = []
    const { origin } = await startServer((stream, headers) => {
      heard.push([headers['x-a'], headers['x-b']])
      serveHello(stream, headers)
    })
    const client = connect(origin)
    for (const composed of [
      client.compose(tag('x-a'), tag('x-b')),
      client.compose([tag('x-a')]).compose(tag('x-b')),
    ]) {
      const { body } = await composed.request(GET)
      expect(await body.text()).toBe('hello')
    }
    expect(heard).toEqual([
      ['x-a', 'x-b'],
      ['x-a', 'x-b'],
    ])
  })

  it('refuses a value that is no interceptor', () => {
    const client = connect('http://127.0.0.1:1')
    expect(() => client.compose('no' as never)).toThrow(errors.InvalidArgumentError)
    expect(() => client.compose(() => undefined as never)).toThrow('interceptor')
  })
})
