import { EventEmitter, getEventListeners, once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Client, errors, fetch } from '../../src/index.ts'
import type {
  DispatcherComposeInterceptor,
  Dispatcher as DispatcherType,
  DispatchHandler,
  HeaderForm,
  RequestOptions,
} from '../../types/index.ts'
import { destroyWithTest, startClient } from '../support/clients/agents.ts'
import { watchHeaderObjects } from '../support/clients/engines.ts'
import type { StreamListener } from '../support/servers/server.ts'
import { startServer } from '../support/servers/server.ts'

/** What an API has reported to its caller: by its result, a callback or events. */
interface Told {
  readonly statusCode?: number
  readonly headers?: unknown
  readonly trailers?: unknown
  readonly opaque?: unknown
  readonly context?: unknown
}

interface Api {
  readonly name: string
  readonly isTunnel: boolean
  /**
   * Starts a call, and settles when its response was taken; fails with an error of it, which carries what came along.
   */
  readonly run: (client: DispatcherType, options: RequestOptions<unknown>) => Promise<Told>
}

/** A callback's error, with the data that came beside it. */
class CalledBack extends Error {
  readonly data: unknown

  constructor(cause: Error, data: unknown) {
    super('The callback got an error', { cause })
    this.data = data
  }
}

function byCallback<T>(start: (callback: (error: Error | null, data: T) => void) => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    const returned = start((error, data) => {
      if (error === null) resolve(data)
      else reject(new CalledBack(error, data))
    })
    if (returned !== undefined) reject(new Error('The callback form returned something'))
  })
}

const APIS: readonly Api[] = [
  {
    name: 'request()',
    isTunnel: false,
    run: async (client, options) => {
      const data = await client.request(options)
      await data.body.text()
      return data
    },
  },
  {
    name: 'request() with a callback',
    isTunnel: false,
    run: async (client, options) => {
      const data = await byCallback<Awaited<ReturnType<typeof client.request<unknown, HeaderForm>>>>(
        (callback) => client.request(options, callback),
      )
      await data.body.text()
      return data
    },
  },
  {
    name: 'stream()',
    isTunnel: false,
    run: async (client, options) => {
      let told: Told = {}
      const data = await client.stream(options, (given) => {
        told = given
        return new PassThrough().resume()
      })
      expect(told.opaque).toBe(data.opaque)
      return { ...told, ...data }
    },
  },
  {
    name: 'stream() with a callback',
    isTunnel: false,
    run: async (client, options) => {
      let told: Told = {}
      const data = await byCallback<Told>((callback) =>
        client.stream(
          options,
          (given) => {
            told = given
            return new PassThrough().resume()
          },
          callback,
        ),
      )
      return { ...told, ...data }
    },
  },
  {
    name: 'pipeline()',
    isTunnel: false,
    run: async (client, options) => {
      let told: Told = {}
      const duplex = client.pipeline(options, (given) => {
        told = given
        return given.body
      })
      duplex.end()
      duplex.resume()
      await once(duplex, 'end')
      return told
    },
  },
  {
    name: 'connect()',
    isTunnel: true,
    run: async (client, options) => {
      const data = await client.connect({ ...options, path: 'example.test:443' })
      data.socket.destroy()
      return data
    },
  },
  {
    name: 'connect() with a callback',
    isTunnel: true,
    run: async (client, options) => {
      const data = await byCallback<Awaited<ReturnType<typeof client.connect<unknown, HeaderForm>>>>(
        (callback) => client.connect({ ...options, path: 'example.test:443' }, callback),
      )
      data.socket.destroy()
      return data
    },
  },
  {
    name: 'upgrade()',
    isTunnel: true,
    run: async (client, options) => {
      const data = await client.upgrade(options)
      data.socket.destroy()
      return data
    },
  },
  {
    name: 'upgrade() with a callback',
    isTunnel: true,
    run: async (client, options) => {
      const data = await byCallback<Awaited<ReturnType<typeof client.upgrade<unknown, HeaderForm>>>>(
        (callback) => client.upgrade(options, callback),
      )
      data.socket.destroy()
      return data
    },
  },
]

const WITH_TRAILERS = APIS.filter(({ name }) => name.startsWith('request') || name.startsWith('stream'))
const WITH_BODY = APIS.filter(({ isTunnel }) => !isTunnel)

/** Responds to every request, CONNECT too, with repeated fields, informational responses and trailers. */
const serveRepeats: StreamListener = (stream, headers) => {
  stream.additionalHeaders({ ':status': 103, link: ['</a>', '</b>'] })
  const isTunnel = headers[':method'] === 'CONNECT'
  stream.respond({ ':status': 200, 'x-dup': ['1', '2'] }, { waitForTrailers: !isTunnel })
  if (isTunnel) return
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': ['3', '4'] }))
  stream.end('body')
}

const GET = { path: '/', method: 'GET' } as const

async function start(listener: StreamListener = serveRepeats) {
  return startClient(listener, {}, { settings: { enableConnectProtocol: true } })
}

/** An interceptor that adds to the context, as redirect adds its history. */
function leave(context: object): DispatcherComposeInterceptor {
  return (dispatch) => (options, given) => {
    const handler = given as DispatchHandler
    return dispatch(options, {
      onRequestStart: (controller) => handler.onRequestStart?.(controller, context),
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
      onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
    })
  }
}

function toCause(thrown: unknown): unknown {
  return thrown instanceof CalledBack ? thrown.cause : thrown
}

async function failureOf(told: Promise<Told>): Promise<unknown> {
  return told.then(
    () => null,
    (thrown: unknown) => toCause(thrown),
  )
}

describe.each(APIS)('$name', ({ run, isTunnel }) => {
  const method = isTunnel ? 'CONNECT' : 'GET'

  it('reports status, headers, opaque and the context of the interceptors', async () => {
    const { client } = await start()
    const opaque = { mine: true }
    const context = { history: [] }
    const told = await run(client.compose(leave(context)), { ...GET, opaque })
    expect(told.statusCode).toBe(200)
    expect(told.headers).toMatchObject({ 'x-dup': '1, 2' })
    expect(told.opaque).toBe(opaque)
    expect(told.context).toBe(context)
  })

  it('has null for an opaque that is missing', async () => {
    const { client } = await start()
    expect((await run(client, GET)).opaque).toBeNull()
  })

  it('hands over the very header object that the engine made, without a copy', async () => {
    const { client } = await start()
    const made = watchHeaderObjects()
    const { headers } = await run(client, GET)
    expect(made().some((object) => object === headers)).toBe(true)
    expect(Object.getPrototypeOf(headers)).toBeNull()
  })

  it("gives headers in wire order, duplicates apart, with responseHeaders: 'raw'", async () => {
    const { client } = await start()
    const { headers } = await run(client, { ...GET, responseHeaders: 'raw' })
    expect(headers).toEqual(['x-dup', '1', 'x-dup', '2', 'date', expect.stringMatching(/GMT$/)])
  })

  it('passes informational responses to onInfo, also raw', async () => {
    const { client } = await start()
    const infos: unknown[] = []
    const onInfo = (info: unknown): void => void infos.push(info)
    await run(client, { ...GET, onInfo })
    await run(client, { ...GET, onInfo, responseHeaders: 'raw' })
    expect(infos).toEqual([
      { statusCode: 103, headers: expect.objectContaining({ link: '</a>, </b>' }) },
      { statusCode: 103, headers: ['link', '</a>', 'link', '</b>'] },
    ])
  })

  it("accepts undici's options that have no meaning over HTTP/2", async () => {
    const { client } = await start()
    const options = {
      blocking: true,
      reset: true,
      idempotent: false,
      throwOnError: false,
      maxRedirections: 0,
    }
    expect((await run(client, { ...GET, ...options, typeOfService: null })).statusCode).toBe(200)
  })

  it.each([
    { name: 'signal', options: { signal: 5 as unknown as AbortSignal } },
    { name: 'onInfo', options: { onInfo: 'no' as unknown as () => void } },
    { name: 'responseHeaders', options: { responseHeaders: 'flat' as unknown as 'raw' } },
    { name: 'highWaterMark', options: { highWaterMark: -1 } },
    { name: 'headersTimeout', options: { headersTimeout: -1 } },
  ])('refuses an invalid $name with an error that names it, with opaque for a callback', async ({
    name,
    options,
  }) => {
    const { client, server } = await start()
    const outcome = await run(client, { ...GET, ...options, opaque: 'mine' }).catch((thrown) => thrown)
    expect(toCause(outcome)).toBeInstanceOf(errors.InvalidArgumentError)
    expect((toCause(outcome) as Error).message).toContain(name)
    if (outcome instanceof CalledBack) expect(outcome.data).toEqual({ opaque: 'mine' })
    expect(server.sessions).toHaveLength(0)
  })

  describe('when its signal fires', () => {
    it('before the call, fails with the reason and sends nothing', async () => {
      const { client, server } = await start()
      const reason = new Error('enough')
      const outcome = await run(client, { ...GET, opaque: 1, signal: AbortSignal.abort(reason) }).catch(
        (thrown) => thrown,
      )
      expect(toCause(outcome)).toBe(reason)
      if (outcome instanceof CalledBack) expect(outcome.data).toEqual({ opaque: 1 })
      expect(server.sessions).toHaveLength(0)
    })

    it.each([
      'AbortSignal',
      'EventEmitter',
    ])('as an %s while it waits for the response, resets its stream', async (kind) => {
      const codes: Promise<number>[] = []
      const controller = new AbortController()
      const emitter = new EventEmitter()
      const { client, server } = await start((stream, headers) => {
        codes.push(once(stream, 'close').then(() => stream.rstCode))
        expect(headers[':method']).toBe(method)
        if (kind === 'AbortSignal') controller.abort()
        else emitter.emit('abort')
      })
      const signal = kind === 'AbortSignal' ? controller.signal : emitter
      const failure = await failureOf(run(client, { ...GET, signal }))
      expect(failure).toMatchObject({ name: 'AbortError' })
      expect(await Promise.all(codes)).toEqual([8])
      expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
      expect(emitter.listenerCount('abort')).toBe(0)
      expect(server.sessions[0]?.closed).toBe(false)
    })
  })

  it('leaves no listener on a signal that never fires', async () => {
    const { client } = await start()
    const { signal } = new AbortController()
    const emitter = new EventEmitter()
    await run(client, { ...GET, signal })
    await run(client, { ...GET, signal: emitter })
    await expect.poll(() => getEventListeners(signal, 'abort').length).toBe(0)
    await expect.poll(() => emitter.listenerCount('abort')).toBe(0)
  })

  it('fails on a client that was closed', async () => {
    const { client } = await start()
    await client.close()
    expect(await failureOf(run(client, GET))).toBeInstanceOf(errors.ClientDestroyedError)
  })
})

describe.each(WITH_BODY)('$name', ({ run }) => {
  it('appends query to its path', async () => {
    let path: unknown
    const { client } = await start((stream, headers) => {
      path = headers[':path']
      serveRepeats(stream, headers)
    })
    await run(client, { ...GET, path: '/a', query: { b: 1, c: ['x', 'y z'], d: true } })
    expect(path).toBe('/a?b=1&c=x&c=y%20z&d=true')
  })

  it('has its own limits', async () => {
    const { client } = await start()
    const failure = await failureOf(run(client, { ...GET, maxResponseSize: 3 }))
    expect(failure).toBeInstanceOf(errors.ResponseExceededMaxSizeError)
    expect((await run(client, { ...GET, maxResponseSize: 4 })).statusCode).toBe(200)
  })
})

describe.each(WITH_TRAILERS)('the trailers of $name', ({ run }) => {
  it.each([
    { form: 'an object', options: {}, expected: { 'x-sum': '3, 4' } },
    {
      form: "a flat list with responseHeaders: 'raw'",
      options: { responseHeaders: 'raw' } as const,
      expected: ['x-sum', '3', 'x-sum', '4'],
    },
  ])('are $form', async ({ options, expected }) => {
    const { client } = await start()
    expect((await run(client, { ...GET, ...options })).trailers).toEqual(expected)
  })
})

it('many calls share one signal, without a warning of a leak', async () => {
  const warnings: string[] = []
  const onWarning = ({ name }: Error): number => warnings.push(name)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const held: (() => void)[] = []
  const { origin } = await startServer((stream) => {
    stream.respond({ ':status': 200 })
    held.push(() => stream.end('body'))
    if (held.length === 60) for (const end of held) end()
  })
  const client = destroyWithTest(new Client(origin))
  const { signal } = new AbortController()
  const calls = Array.from({ length: 30 }, async () => (await client.request({ ...GET, signal })).body.text())
  const fetches = Array.from({ length: 30 }, async () =>
    (await fetch(origin, { signal, dispatcher: client })).text(),
  )
  expect(new Set(await Promise.all([...calls, ...fetches]))).toEqual(new Set(['body']))
  // Node warns a tick later.
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
})
