/**
 * What handlers and interceptors can reach by the controller that they get, and what is shown of it, of a Response and of a
 * tunnel: undici's names and ours, and no request.
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import http from 'node:http'
import type { InspectOptions } from 'node:util'
import { inspect } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, Client, fetch, UpstreamPool } from '../../src/index.ts'
import type {
  AnyDispatchHandler,
  DispatchController,
  Dispatcher,
  DispatchHandler,
  DispatchOptions,
} from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'
import { listen } from '../support/servers/listen.ts'

const SECRET = 's3cret'
const REQUEST = {
  path: `/?token=${SECRET}`,
  method: 'POST',
  headers: { authorization: SECRET, cookie: SECRET, 'x-api-key': SECRET },
  body: SECRET,
} as const

const UNDICI = ['abort', 'aborted', 'pause', 'paused', 'rawHeaders', 'rawTrailers', 'reason', 'resume']
const OURS = [
  'connection',
  'hasLastingRawHeaders',
  'isHeaderOnly',
  'maxResponseSize',
  'reprioritize',
  'transport',
]
const NAMES: readonly string[] = [...UNDICI, ...OURS, 'constructor']

/**
 * `getters` asks for the value of each getter; beside `customInspect: false` there is nothing that it wouldn't show.
 */
const OPTIONS: readonly InspectOptions[] = [
  {},
  { depth: 0 },
  { depth: Number.POSITIVE_INFINITY },
  { depth: Number.POSITIVE_INFINITY, showHidden: true },
  { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true },
  { depth: Number.POSITIVE_INFINITY, showHidden: true, customInspect: false, maxArrayLength: null },
]

/** Names of what drives a call, and of its data: `in` has to deny them. */
const FOREIGN = [
  'request',
  'respond',
  'data',
  'fail',
  'complete',
  'begin',
  'start',
  'state',
  'body',
  'outer',
  'toJSON',
]

/** The names along the chain of prototypes, less those of every object. */
function toNames(value: object): string[] {
  const names: string[] = []
  for (let at: object | null = value; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at))
    names.push(...Object.getOwnPropertyNames(at))
  return [...new Set(names)].sort()
}

/** All that can be reached from a value by names, getters, prototypes and symbols, as text. */
function toReachable(value: unknown, seen = new Set<unknown>()): string {
  if (typeof value === 'string') return value
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value))
    return ''
  seen.add(value)
  // Node's own classes are no way to a request.
  if (value === Object.prototype || value === Function.prototype || value instanceof Error) return ''
  let text = ''
  for (let at: object | null = value; at !== null; at = Object.getPrototypeOf(at)) {
    for (const key of Reflect.ownKeys(at)) {
      if (key === 'caller' || key === 'callee' || key === 'arguments') continue
      try {
        text += `${String(key)} ${toReachable(Reflect.get(at, key, value), seen)} `
      } catch {
        // A getter of a prototype that was asked for a private field of the prototype itself.
      }
    }
  }
  return text
}

function expectNothing(shown: unknown): void {
  for (const options of OPTIONS) expect(inspect(shown, options)).not.toContain(SECRET)
  expect(JSON.stringify(shown) ?? '').not.toContain(SECRET)
}

/** Looks at the controller in every callback; it gets a new one where the dispatcher makes a new one. */
class Looking extends Recorder {
  readonly looked = new Set<DispatchController>()

  override onRequestStart(controller: DispatchController): void {
    super.onRequestStart(controller)
    this.#look(controller)
  }

  override onResponseStart(...given: Parameters<Recorder['onResponseStart']>): void {
    super.onResponseStart(...given)
    this.#look(given[0])
    given[0].pause()
    given[0].resume()
  }

  override onResponseEnd(...given: Parameters<Recorder['onResponseEnd']>): void {
    super.onResponseEnd(...given)
    this.#look(given[0])
  }

  override onResponseError(...given: Parameters<Recorder['onResponseError']>): void {
    super.onResponseError(...given)
    this.#look(given[0])
  }

  #look(controller: DispatchController): void {
    this.looked.add(controller)
    const names = toNames(controller)
    expect(names.filter((name) => !NAMES.includes(name))).toEqual([])
    expect(names).toEqual(expect.arrayContaining(UNDICI))
    for (const name of FOREIGN) expect(name in controller).toBe(false)
    expectNothing(controller)
    for (const text of [inspect({ ...controller }), toReachable(controller)])
      expect(text).not.toContain(SECRET)
  }
}

async function startHttp2(): Promise<string> {
  return (await startPeer(SERVE)).origin
}

async function startHttp1(): Promise<string> {
  const server = http.createServer((request, response) => request.resume().on('end', () => response.end('x')))
  return `http://127.0.0.1:${(await listen(server)).port}`
}

interface Scene {
  readonly dispatcher: Dispatcher
  readonly origin: string
}

/** An interceptor that calls its handler by the shape of undici 6. */
function legacyOnly(dispatch: (options: DispatchOptions, handler: AnyDispatchHandler) => boolean) {
  return (options: DispatchOptions, handler: AnyDispatchHandler): boolean => {
    const { onConnect, onHeaders, onData, onComplete, onError } = handler as Record<string, () => void>
    const given = { onConnect, onHeaders, onData, onComplete, onError }
    const bound = Object.entries(given).map(([name, method]) => [name, method?.bind(handler)])
    return dispatch(options, Object.fromEntries(bound))
  }
}

const SCENES: Record<string, () => Promise<Scene>> = {
  'of a Client': async () => {
    const origin = await startHttp2()
    return { origin, dispatcher: new Client(origin) }
  },
  'behind an interceptor': async () => {
    const origin = await startHttp2()
    return {
      origin,
      dispatcher: new Client(origin).compose((dispatch) => (options, handler) => dispatch(options, handler)),
    }
  },
  'behind an interceptor of the older shape': async () => {
    const origin = await startHttp2()
    return { origin, dispatcher: new Client(origin).compose(legacyOnly) }
  },
  'with subscribers of diagnostics channels': async () => {
    const origin = await startHttp2()
    const hear = (): void => {}
    subscribe('undici:request:headers', hear)
    onTestFinished(() => {
      unsubscribe('undici:request:headers', hear)
    })
    return { origin, dispatcher: new Client(origin) }
  },
  'over HTTP/1.1': async () => {
    const origin = await startHttp1()
    return { origin, dispatcher: new Agent({ allowH2: false }) }
  },
  'of an UpstreamPool': async () => {
    const origin = await startHttp2()
    return { origin, dispatcher: new UpstreamPool([origin]) }
  },
}

describe.each(Object.entries(SCENES))('the controller %s', (_name, start) => {
  it.each([
    ['a response', {}],
    ['a refused request', { headers: { authorization: `${SECRET}\n` } }],
  ])('has documented names alone: %s', async (_outcome, given) => {
    const { dispatcher, origin } = await start()
    onTestFinished(() => dispatcher.destroy())
    const handler: DispatchHandler & Looking = new Looking()
    dispatcher.dispatch({ ...REQUEST, origin, ...given }, handler)
    await handler.settled
    expect(handler.events.at(-1)).toBe('headers' in given ? 'error' : 'end')
    expect(handler.looked.size).toBe(1)
    expectNothing(handler.errors)
  })
})

describe('the controller', () => {
  it('has rawHeaders that interceptors assign and change in place, as accessors of its prototype', async () => {
    const origin = await startHttp2()
    const client = destroyWithTest(new Client(origin))
    const handler = new Looking()
    client.dispatch(REQUEST, handler)
    await handler.settled
    const [controller] = handler.looked
    if (controller === undefined) throw new Error('There was no controller')
    expect(Object.getOwnPropertyNames(controller)).toEqual([])
    controller.rawHeaders = { 'x-a': '1' }
    expect(controller.rawHeaders).toEqual(['x-a', '1'])
    controller.rawHeaders?.splice(0, 1, 'x-b')
    expect(controller.rawHeaders).toEqual(['x-b', '1'])
    controller.rawHeaders = null
    expect(controller.rawHeaders).toBeNull()
  })

  it('shows whether its call is aborted or paused, and no more', async () => {
    const client = destroyWithTest(new Client(await startHttp2()))
    const handler = new Looking()
    client.dispatch({ ...REQUEST, trailers: { 'x-token': SECRET } }, handler)
    const [controller] = handler.looked
    expect(inspect(controller)).toBe('DispatchController { aborted: false, paused: false }')
    expect(inspect({ controller }, { compact: false })).toContain('paused: false')
    expect(JSON.stringify(controller)).toBe('{}')
    controller?.abort()
    expect(inspect(controller)).toBe('DispatchController { aborted: true, paused: false }')
  })

  it('can still be wrapped by interceptors, and delegated to', async () => {
    const client = destroyWithTest(new Client(await startHttp2()))
    const composed = client.compose((dispatch) => (options, handler) => {
      const { onRequestStart } = handler as DispatchHandler
      const wrapped = Object.assign(Object.create(handler), {
        onRequestStart(controller: DispatchController, context: unknown) {
          const own = {
            get aborted() {
              return controller.aborted
            },
            get paused() {
              return controller.paused
            },
            get reason() {
              return controller.reason
            },
            abort: (reason?: Error) => controller.abort(reason),
            pause: () => controller.pause(),
            resume: () => controller.resume(),
          }
          onRequestStart?.call(handler, own as unknown as DispatchController, context)
        },
      })
      return dispatch(options, wrapped)
    })
    const { body } = await composed.request(REQUEST)
    expect(await body.text()).toBe(`POST /?token=${SECRET}`)
  })
})

describe('a Response of fetch', () => {
  it('shows its URL without the query', async () => {
    const origin = await startHttp2()
    const client = destroyWithTest(new Client(origin))
    const response = await fetch(`${origin}/a?token=${SECRET}`, {
      headers: { authorization: SECRET, cookie: SECRET, 'x-api-key': SECRET },
      dispatcher: client,
    })
    expectShown(response, `url: '${origin}/a?…'`)
    expect(response.url).toBe(`${origin}/a?token=${SECRET}`)
    expect(await response.text()).toContain('GET /a')
  })
})

/** Its getters have the URL, so that only what doesn't ask for them is looked at. */
function expectShown(response: unknown, url: string): void {
  expect(inspect(response)).toContain(url)
  for (const options of OPTIONS) expect(inspect(response, options)).not.toContain(SECRET)
}

describe('a tunnel', () => {
  it('shows nothing of the request that opened it', async () => {
    const peer = await startPeer({ onRequest: (stream) => stream.head(200) })
    const client = destroyWithTest(new Client(peer.origin))
    const { socket } = await client.connect({ path: 'a.example:443', headers: REQUEST.headers })
    expectNothing(socket)
    expect(Reflect.get(socket, 'session')).toMatchObject({ socket: expect.anything() })
    socket.on('error', () => {}).destroy()
  })
})

describe('the messages of connections', () => {
  it('have a connect function, but no connect options, which may have keys', async () => {
    const heard: unknown[] = []
    const hear = (message: unknown): number => heard.push(Reflect.get(Object(message), 'connector'))
    for (const name of ['beforeConnect', 'connected']) {
      subscribe(`undici:client:${name}`, hear)
      onTestFinished(() => {
        unsubscribe(`undici:client:${name}`, hear)
      })
    }
    const client = destroyWithTest(
      new Client(await startHttp2(), { connect: { key: SECRET, passphrase: SECRET } }),
    )
    await (await client.request({ path: '/', method: 'GET' })).body.text()
    expect(heard).toEqual([null, null])
  })
})
