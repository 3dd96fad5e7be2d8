import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  Agent,
  Client,
  connect,
  errors,
  getGlobalDispatcher,
  pipeline,
  request,
  setGlobalDispatcher,
  stream,
  upgrade,
} from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { read, startServer } from '../support/servers/server.ts'

/** A server that responds with the request line, and a global dispatcher for this test alone. */
async function start() {
  const heard: string[] = []
  const server = await startServer(
    (stream, headers) => {
      heard.push(`${headers[':method']} ${headers[':path'] ?? headers[':authority']}`)
      stream.respond({ ':status': 200, 'x-dup': ['1', '2'] })
      stream.pipe(stream)
    },
    { settings: { enableConnectProtocol: true } },
  )
  const before = getGlobalDispatcher()
  const agent = new Agent({ h2c: true })
  setGlobalDispatcher(agent)
  onTestFinished(async () => {
    setGlobalDispatcher(before)
    await agent.destroy()
  })
  return { server, heard, agent, origin: server.origin }
}

describe('request()', () => {
  it.each([
    { what: 'a string', toUrl: (origin: string) => `${origin}/a?b=1#c` },
    { what: 'a URL', toUrl: (origin: string) => new URL(`${origin}/a?b=1`) },
    {
      what: 'an object as url.parse() gives',
      toUrl: (origin: string) => {
        const { hostname, port } = new URL(origin)
        return { protocol: 'http:', hostname, port, pathname: '/a', search: '?b=1' }
      },
    },
  ])('takes $what', async ({ toUrl }) => {
    const { origin, heard } = await start()
    const { statusCode, body } = await request(toUrl(origin))
    await body.dump()
    expect(statusCode).toBe(200)
    expect(heard).toEqual(['GET /a?b=1'])
  })

  it('requests / if the URL has no path', async () => {
    const { origin, heard } = await start()
    await (await request(origin, null)).body.dump()
    expect(heard).toEqual(['GET /'])
  })

  it.each([
    { path: '/own?q=1', expected: '/own?q=1' },
    { path: 'own', expected: '/own' },
    { path: '/two words?a=b c', expected: '/two%20words?a=b%20c' },
    { path: '/žluť?kůň', expected: '/%C5%BElu%C5%A5?k%C5%AF%C5%88' },
    { path: '/a/../b#fragment', expected: '/b' },
    { path: '//host.test/a', expected: '//host.test/a' },
  ])('prefers its own path $path', async ({ path, expected }) => {
    const { origin, heard } = await start()
    await (await request(`${origin}/url?x=1`, { path })).body.dump()
    expect(heard).toEqual([`GET ${expected}`])
  })

  it('uses the dispatcher option', async () => {
    const { origin, heard, agent } = await start()
    const client = destroyWithTest(new Client(origin))
    await agent.destroy()
    await (await request(`${origin}/mine`, { dispatcher: client })).body.dump()
    await (await request(`${origin}/composed`, { dispatcher: client.compose() })).body.dump()
    expect(heard).toEqual(['GET /mine', 'GET /composed'])
  })

  it('has a callback form', async () => {
    const { origin } = await start()
    const text = await new Promise<string>((resolve, reject) => {
      const returned: unknown = request(origin, { body: 'ping', opaque: 7 }, (error, { body, opaque }) => {
        if (error === null && opaque === 7) body.text().then(resolve, reject)
        else reject(error)
      })
      expect(returned).toBeUndefined()
    })
    expect(text).toBe('ping')
  })

  it('has a callback form without options', async () => {
    const { origin, heard } = await start()
    const toUrls = [`${origin}/a`, new URL(`${origin}/b`), { origin, pathname: '/c', method: 'DELETE' }]
    for (const url of toUrls)
      await new Promise<void>((resolve, reject) => {
        const returned: unknown = request(url, (error, { body }) => {
          if (error === null) body.dump().then(resolve, reject)
          else reject(error)
        })
        expect(returned).toBeUndefined()
      })
    expect(heard).toEqual(['GET /a', 'GET /b', 'DELETE /c'])
  })

  it.each([
    { what: 'a relative URL', url: '/a' },
    { what: 'no URL', url: undefined as unknown as string },
    { what: 'null', url: null as unknown as string },
    { what: 'a number', url: 5 as unknown as string },
    { what: 'another scheme', url: 'ftp://localhost/' },
    { what: 'a file', url: new URL('file:///etc/hosts') },
    { what: 'a host that is none', url: 'http://[::1/' },
  ])('is rejected with InvalidArgumentError for $what', async ({ url }) => {
    await expect(request(url)).rejects.toBeInstanceOf(errors.InvalidArgumentError)
  })

  it.each([
    {
      what: 'a dispatcher that is none',
      options: { dispatcher: {} as unknown as Client },
      names: 'dispatcher',
    },
    { what: 'a path that is no string', options: { path: 5 as unknown as string }, names: 'path' },
    { what: 'options that are none', options: 5 as unknown as object, names: 'options' },
    { what: 'CONNECT', options: { method: 'CONNECT' }, names: 'method' },
  ])('is rejected with an error that names $what', async ({ options, names }) => {
    const rejected = request('http://127.0.0.1:1/', options)
    await expect(rejected).rejects.toBeInstanceOf(errors.InvalidArgumentError)
    await expect(rejected).rejects.toThrow(names)
  })
})

describe('stream()', () => {
  it('streams by promise and by callback', async () => {
    const { origin, heard } = await start()
    const sink = new PassThrough()
    const { opaque } = await stream(`${origin}/a`, { body: 'one', opaque: sink }, ({ opaque }) => opaque)
    expect(opaque.read().toString()).toBe('one')
    const other = new PassThrough()
    await new Promise<void>((resolve, reject) => {
      stream(
        `${origin}/b`,
        { body: 'two' },
        () => other,
        (error) => (error === null ? resolve() : reject(error)),
      )
    })
    expect(other.read().toString()).toBe('two')
    expect(heard).toEqual(['PUT /a', 'PUT /b'])
  })

  it('is rejected for an invalid URL', async () => {
    await expect(stream('none', null, () => new PassThrough())).rejects.toBeInstanceOf(
      errors.InvalidArgumentError,
    )
  })
})

describe('pipeline()', () => {
  it('makes a duplex', async () => {
    const { origin, heard } = await start()
    const duplex = pipeline(`${origin}/a`, { method: 'POST' }, ({ body }) => body)
    duplex.end('ping')
    expect(await read(duplex)).toBe('ping')
    expect(heard).toEqual(['POST /a'])
  })

  it('throws for an invalid URL, as there is no stream yet that could be destroyed', () => {
    expect(() => pipeline('none', null, ({ body }) => body)).toThrow(errors.InvalidArgumentError)
  })
})

describe('connect()', () => {
  it('opens a tunnel to the server of the URL, or through it', async () => {
    const { origin, heard } = await start()
    for (const options of [undefined, { path: 'example.test:443' }]) {
      const { socket, statusCode } = await connect(origin, options)
      socket.write('ping')
      expect((await once(socket, 'data')).toString()).toBe('ping')
      expect(statusCode).toBe(200)
      socket.destroy()
    }
    expect(heard).toEqual([`CONNECT ${new URL(origin).host}`, 'CONNECT example.test:443'])
  })

  it('has a callback form', async () => {
    const { origin } = await start()
    const heard = await new Promise((resolve) => {
      connect(origin, { opaque: 'mine' }, (error, { socket, opaque }) => {
        socket.destroy()
        resolve([error, opaque])
      })
    })
    expect(heard).toEqual([null, 'mine'])
  })

  it('has a callback form without options', async () => {
    const { origin, heard } = await start()
    const error = await new Promise((resolve) => {
      connect(origin, (error, { socket }) => {
        socket.destroy()
        resolve(error)
      })
    })
    expect(error).toBeNull()
    expect(heard).toEqual([`CONNECT ${new URL(origin).host}`])
  })

  it('is rejected for an invalid URL and for an invalid authority', async () => {
    await expect(connect('none')).rejects.toBeInstanceOf(errors.InvalidArgumentError)
    await expect(connect('http://127.0.0.1:1', { path: 'none' })).rejects.toThrow('path')
  })
})

describe('upgrade()', () => {
  it('speaks another protocol, by promise and by callback', async () => {
    const { origin, heard } = await start()
    const { socket } = await upgrade(`${origin}/chat?room=1`, { protocol: 'connect-udp' })
    socket.write('ping')
    expect((await once(socket, 'data')).toString()).toBe('ping')
    socket.destroy()
    const opaque = await new Promise((resolve) => {
      upgrade(`${origin}/b`, { opaque: 7 }, (_error, data) => {
        data.socket.destroy()
        resolve(data.opaque)
      })
    })
    expect(opaque).toBe(7)
    const error = await new Promise((resolve) => {
      upgrade(`${origin}/c`, (error, { socket }) => {
        socket.destroy()
        resolve(error)
      })
    })
    expect(error).toBeNull()
    expect(heard).toEqual(['CONNECT /chat?room=1', 'CONNECT /b', 'CONNECT /c'])
  })

  it('is rejected for an invalid URL', async () => {
    await expect(upgrade('none')).rejects.toBeInstanceOf(errors.InvalidArgumentError)
  })
})
