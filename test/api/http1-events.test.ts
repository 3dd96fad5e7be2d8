/** The events of HTTP/1.1 connections, compared with undici's own, and `stats.connected`. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import { Agent as TheirAgent, Client as TheirClient, Pool as TheirPool, errors as theirErrors } from 'undici'
import { describe, expect, it } from 'vitest'
import { errors, Agent as OwnAgent, Client as OwnClient, Pool as OwnPool } from '../../src/index.ts'
import { listenForUncaught } from '../support/clients/uncaught.ts'
import { findFreePort } from '../support/servers/free-port.ts'
import { listen } from '../support/servers/listen.ts'

/** What both have in common. */
interface Events {
  on(event: string, listener: (...args: never[]) => void): unknown
}

interface Sender extends Events {
  request(options: { origin: string; path: string; method: 'GET' }): Promise<{
    body: { text(): Promise<string>; resume(): unknown; on(event: 'error', listener: () => void): unknown }
  }>
  close(): Promise<void>
  destroy(error?: Error): Promise<void>
}

type Scene = (sender: Sender, origin: string) => Promise<void>

const get = (sender: Sender, origin: string, path: string) => sender.request({ origin, path, method: 'GET' })

const SCENES: [name: string, scene: Scene][] = [
  [
    'a response, then close()',
    async (sender, origin) => {
      await (await get(sender, origin, '/')).body.text()
      await sender.close()
    },
  ],
  [
    'a server that closes the connection behind its response',
    async (sender, origin) => {
      const gone = once(sender as never, 'disconnect')
      await (await get(sender, origin, '/close')).body.text()
      await gone
      await (await get(sender, origin, '/')).body.text()
      await sender.close()
    },
  ],
  [
    'a server that destroys the connection under a request',
    async (sender, origin) => {
      const gone = once(sender as never, 'disconnect')
      await expect(get(sender, origin, '/die')).rejects.toThrow()
      await gone
      await sender.destroy()
    },
  ],
  [
    'a server that destroys the connection under a body',
    async (sender, origin) => {
      const gone = once(sender as never, 'disconnect')
      const { body } = await get(sender, origin, '/half')
      await expect(body.text()).rejects.toThrow()
      await gone
      await sender.destroy()
    },
  ],
  [
    'destroy() under a request',
    async (sender, origin) => {
      const connected = once(sender as never, 'connect')
      const failed = expect(get(sender, origin, '/never')).rejects.toThrow('enough')
      await connected
      await sender.destroy(new Error('enough'))
      await failed
    },
  ],
  [
    'destroy() inside the connect event',
    async (sender, origin) => {
      sender.on('connect', () => void sender.destroy())
      await expect(get(sender, origin, '/never')).rejects.toThrow()
      await sender.destroy()
    },
  ],
  [
    'a port where nothing listens',
    async (sender) => {
      const failed = once(sender as never, 'connectionError')
      const { port } = new URL(refused)
      await expect(get(sender, `http://127.0.0.1:${port}`, '/')).rejects.toThrow()
      await failed
      await sender.close()
    },
  ],
]

const refused = `http://127.0.0.1:${await findFreePort()}`

async function startHttp1(): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === '/close') response.writeHead(200, { connection: 'close' }).end('closed')
    else if (request.url === '/die') request.socket.destroy()
    else if (request.url === '/nonsense') request.socket.end('none of HTTP\r\n\r\n')
    else if (request.url === '/half') {
      response.writeHead(200, { 'content-length': '9' }).write('half')
      response.write('', () => setImmediate(() => request.socket.destroy()))
    } else if (request.url === '/') response.end('done')
  })
  return `http://127.0.0.1:${(await listen(server)).port}`
}

/** What a listener hears: the event, whether the origin and the first target are right, and the error's code. */
async function hear(make: (origin: string) => Sender, scene: Scene, isRefused: boolean): Promise<unknown[]> {
  const origin = isRefused ? refused : await startHttp1()
  const sender = make(origin)
  const heard: unknown[] = []
  for (const event of ['connect', 'disconnect', 'connectionError']) {
    sender.on(event, (url: URL, targets: object[], error?: Error) => {
      const { code, message } = (error ?? {}) as { code?: string; message?: string }
      // An error of the caller's has no code, and Dodici wraps it in one that has.
      heard.push([event, url.origin === origin, targets[0] === sender, message === 'enough' ? message : code])
    })
  }
  await scene(sender, origin)
  // undici announces the end of a connection a tick behind close().
  await new Promise((resolve) => setImmediate(resolve))
  return heard
}

describe.each<[string, (origin: string) => Sender, (origin: string) => Sender]>([
  [
    'a Client',
    (origin) => new OwnClient(origin, { h2c: false }) as unknown as Sender,
    (origin) => new TheirClient(origin) as unknown as Sender,
  ],
  [
    'a Pool',
    (origin) => new OwnPool(origin, { h2c: false }) as unknown as Sender,
    (origin) => new TheirPool(origin) as unknown as Sender,
  ],
  ['an Agent', () => new OwnAgent() as unknown as Sender, () => new TheirAgent() as unknown as Sender],
])('%s of an HTTP/1.1 origin announces what undici does', (_name, makeOurs, makeTheirs) => {
  it.each(SCENES)('%s', async (name, scene) => {
    const isRefused = name.includes('nothing listens')
    const theirs = await hear(makeTheirs, scene, isRefused)
    expect(theirs.length).toBeGreaterThan(0)
    expect(await hear(makeOurs, scene, isRefused)).toEqual(theirs)
  })
})

describe('stats.connected', () => {
  it.each(['Client', 'Pool'] as const)('of a %s counts HTTP/1.1 connections', async (name) => {
    const origin = await startHttp1()
    const sender =
      name === 'Client' ? new OwnClient(origin, { h2c: false }) : new OwnPool(origin, { h2c: false })
    const none = name === 'Client' ? false : 0
    const one = name === 'Client' ? true : 1
    expect(sender.stats.connected).toBe(none)
    const gone = once(sender, 'disconnect')
    const { body } = await sender.request({ path: '/close', method: 'GET' })
    expect(sender.stats).toMatchObject({ connected: one, sessions: [] })
    await body.text()
    await gone
    expect(sender.stats.connected).toBe(none)
    await sender.close()
  })

  it.each(['connect', 'disconnect'])('a listener for %s that throws holds up no request', async (event) => {
    const uncaught = listenForUncaught()
    const client = new OwnClient(await startHttp1(), { h2c: false })
    client.on(event, () => {
      throw new Error('thrown by a listener')
    })
    await (await client.request({ path: '/', method: 'GET' })).body.dump()
    await client.close()
    await expect.poll(() => uncaught).toEqual(['thrown by a listener'])
  })

  it('destroy() of an HTTP/1.1 connection with a string settles, and emits an error with it', async () => {
    const origin = await startHttp1()
    const client = new OwnClient(origin, { h2c: false })
    const gone = once(client, 'disconnect')
    await (await client.request({ path: '/', method: 'GET' })).body.dump()
    await client.destroy('enough' as unknown as Error)
    expect((await gone)[2]).toMatchObject({ code: 'UND_ERR', cause: 'enough' })
  })

  it('an error of an HTTP/1.1 connection is an instance of undici classes', async () => {
    const origin = await startHttp1()
    const client = new OwnClient(origin, { h2c: false })
    const gone = once(client, 'disconnect')
    await expect(client.request({ path: '/die', method: 'GET' })).rejects.toThrow(errors.SocketError)
    expect((await gone)[2]).toBeInstanceOf(errors.SocketError)
    await client.close()
  })

  it('what is no HTTP fails with an HTTPParserError of both', async () => {
    const origin = await startHttp1()
    const client = new OwnClient(origin, { h2c: false })
    const error = await client.request({ path: '/nonsense', method: 'GET' }).catch((reason) => reason)
    expect(error).toMatchObject({ name: 'HTTPParserError', processed: 'maybe' })
    for (const kind of [errors.HTTPParserError, theirErrors.HTTPParserError, errors.SocketError])
      expect(error).toBeInstanceOf(kind)
    await client.close()
  })
})
