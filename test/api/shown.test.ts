/**
 * `util.inspect()`, `console.log()` and `JSON.stringify()` of the objects that callers and handlers get: nothing of a
 * request.
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { InspectOptions } from 'node:util'
import { inspect } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Client, fetch } from '../../src/index.ts'
import type { DispatchController, DispatchHandler } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'

const SECRET = 's3cret'
const SHOWN = 'DispatchController { aborted: false, paused: false }'

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

const SECRETS = {
  path: `/?token=${SECRET}`,
  headers: { authorization: SECRET, cookie: SECRET, 'x-api-key': SECRET },
  body: SECRET,
  trailers: { 'x-token': SECRET },
}

function expectNothing(shown: unknown): void {
  for (const options of OPTIONS) expect(inspect(shown, options)).not.toContain(SECRET)
  expect(JSON.stringify(shown) ?? '').not.toContain(SECRET)
}

/** Inspects its controller in every callback. */
class Looking extends Recorder {
  readonly states: string[] = []
  looked: DispatchController | null = null

  #look(controller: DispatchController): void {
    this.looked = controller
    this.states.push(inspect(controller))
    expectNothing(controller)
  }

  override onRequestStart(controller: DispatchController): void {
    super.onRequestStart(controller)
    this.#look(controller)
  }

  override onResponseData(controller: DispatchController, chunk: Buffer): void {
    super.onResponseData(controller, chunk)
    this.#look(controller)
  }

  override onResponseError(controller: DispatchController, error: Error): void {
    super.onResponseError(controller, error)
    this.#look(controller)
  }
}

async function start(options: object = {}): Promise<{ client: Client; origin: string }> {
  const peer = await startPeer(SERVE)
  const client = destroyWithTest(new Client(peer.origin, options))
  return { client, origin: peer.origin }
}

describe('a controller', () => {
  it('shows whether its call is paused or aborted, at any time', async () => {
    const { client } = await start()
    const handlers = [new Looking(), new Looking()]
    for (const handler of handlers) client.dispatch({ ...SECRETS, method: 'POST' }, handler)
    // Both wait for the connection, one behind the other.
    for (const { looked } of handlers) expectNothing(looked)
    expect(inspect(handlers[0]?.looked)).toBe(SHOWN)
    await Promise.all(handlers.map(({ settled }) => settled))
    for (const { looked } of handlers) expectNothing(looked)
    expect(handlers[0]?.states).toEqual([SHOWN, SHOWN])
    expect(inspect({ controller: handlers[1]?.looked }, { compact: false })).toContain('paused: false')
    expect(JSON.stringify(handlers[1]?.looked)).toBe('{}')
  })

  it('shows no more once it was aborted, or its request was refused', async () => {
    const { client } = await start()
    const aborted = new Looking()
    client.dispatch({ ...SECRETS, method: 'POST' }, aborted)
    aborted.looked?.abort()
    const refused = new Looking()
    client.dispatch({ ...SECRETS, method: 'POST', headers: { authorization: `${SECRET}\n` } }, refused)
    for (const { looked, error } of [aborted, refused]) {
      expectNothing(looked)
      expectNothing(error)
    }
    expect(aborted.states.at(-1)).toBe('DispatchController { aborted: true, paused: false }')
  })

  it('can still be wrapped by interceptors, and delegated to', async () => {
    const { client } = await start()
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
    const { body } = await composed.request({ ...SECRETS, method: 'POST' })
    expect(await body.text()).toBe(`POST /?token=${SECRET}`)
  })
})

describe('a Response of fetch', () => {
  it('shows its URL without the query', async () => {
    const { client, origin } = await start()
    const response = await fetch(`${origin}/a?token=${SECRET}`, {
      headers: { authorization: SECRET },
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
    const { socket } = await client.connect({ path: 'a.example:443', headers: SECRETS.headers })
    expectNothing(socket)
    expect(Reflect.get(socket, 'session')).toMatchObject({ socket: expect.anything() })
    socket.on('error', () => {}).destroy()
  })
})

describe('the messages of connections', () => {
  it('have a connect function, but no connect options, which may have keys', async () => {
    const heard: unknown[] = []
    const listen = (message: unknown): number => heard.push(Reflect.get(Object(message), 'connector'))
    for (const name of ['beforeConnect', 'connected']) {
      subscribe(`undici:client:${name}`, listen)
      onTestFinished(() => {
        unsubscribe(`undici:client:${name}`, listen)
      })
    }
    const { client } = await start({ connect: { key: SECRET, passphrase: SECRET } })
    await (await client.request({ path: '/', method: 'GET' })).body.text()
    expect(heard).toEqual([null, null])
  })
})
