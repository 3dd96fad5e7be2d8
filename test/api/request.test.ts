import { getEventListeners, once } from 'node:events'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import type { BodyReadable, ClientOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { watchHeaderObjects } from '../support/clients/engines.ts'
import type { StreamListener, TestServer } from '../support/servers/server.ts'
import { read, startServer } from '../support/servers/server.ts'
import { writeAll } from '../support/servers/watched-server.ts'

const GET = { path: '/', method: 'GET' } as const

function connect(server: TestServer, options: ClientOptions = {}): Client {
  return destroyWithTest(new Client(server.origin, { connect: { ca: server.ca }, ...options }))
}

const serveText: StreamListener = (stream) => {
  stream.respond({ ':status': 200, 'content-type': 'text/plain' })
  stream.end('hello')
}

describe.each([
  { protocol: 'h2c', tls: false },
  { protocol: 'h2 over TLS', tls: true },
])('request over $protocol', ({ tls }) => {
  it('gives status, headers and body', async () => {
    const client = connect(await startServer(serveText, { tls }))
    const { statusCode, headers, body, trailers, opaque } = await client.request({ ...GET, opaque: 'mine' })
    expect(statusCode).toBe(200)
    expect(headers['content-type']).toBe('text/plain')
    expect(await body.text()).toBe('hello')
    expect(trailers).toEqual({})
    expect(opaque).toBe('mine')
  })
})

describe('the headers of a response', () => {
  const serveDuplicates: StreamListener = (stream) => {
    stream.respond(
      { ':status': 200, 'x-dup': ['1', '2'], 'set-cookie': ['a=1', 'b=2'] },
      { waitForTrailers: true },
    )
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': ['3', '4'] }))
    stream.end('body')
  }

  it('are the very object that the engine made, without pseudo-headers and symbols', async () => {
    const client = connect(await startServer(serveDuplicates))
    const made = watchHeaderObjects()
    const { headers } = await client.request(GET)
    expect(made()).toContain(headers)
    expect(Object.getPrototypeOf(headers)).toBeNull()
    expect(Reflect.ownKeys(headers)).toEqual(['x-dup', 'set-cookie', 'date'])
    expect(headers['set-cookie']).toEqual(['a=1', 'b=2'])
    expect(new Headers(headers as Record<string, string>).get('x-dup')).toBe('1, 2')
  })
})

describe('the headers of a request', () => {
  it.each([
    {
      form: 'an object',
      headers: { 'X-One': 'a', 'x-two': ['b', 'c'], 'x-nothing': undefined, 'x-three': 3 },
    },
    { form: 'a flat array', headers: ['X-One', 'a', 'x-two', 'b', 'x-two', 'c', 'x-three', '3'] },
    {
      form: 'an iterable of pairs',
      headers: new Map<string, string | string[]>([
        ['x-one', 'a'],
        ['x-two', ['b', 'c']],
        ['x-three', '3'],
      ]),
    },
    {
      form: 'a Headers',
      headers: new Headers([
        ['x-one', 'a'],
        ['x-two', 'b'],
        ['x-two', 'c'],
        ['x-three', '3'],
      ]),
    },
  ])('may be $form', async ({ headers }) => {
    let received: unknown
    const server = await startServer((stream, heard) => {
      received = heard
      serveText(stream, heard)
    })
    const { body } = await connect(server).request({ ...GET, headers })
    await body.dump()
    expect(received).toMatchObject({ 'x-one': 'a', 'x-two': 'b, c', 'x-three': '3' })
  })

  it('may have more than 64 KiB in all, and leave the session alone', async () => {
    const server = await startServer(serveText, { settings: { maxHeaderListSize: 262_144 } })
    const client = connect(server)
    const headers = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`x-${i}`, 'v'.repeat(10_000)]))
    const responses = await Promise.all([
      client.request(GET),
      client.request({ ...GET, headers }),
      client.request(GET),
    ])
    for (const { body } of responses) expect(await body.text()).toBe('hello')
    expect(server.sessions).toHaveLength(1)
  })

  it('turn host into :authority, and lose connection: close silently', async () => {
    let received: Record<string, unknown> = {}
    const server = await startServer((stream, heard) => {
      received = { ...heard }
      serveText(stream, heard)
    })
    const headers = { Host: 'example.test', Connection: 'close', 'Keep-Alive': 'timeout=5', te: 'trailers' }
    const { body } = await connect(server).request({ ...GET, headers })
    await body.dump()
    expect(received).toMatchObject({ ':authority': 'example.test', te: 'trailers' })
    expect(Object.keys(received)).not.toContain('host')
    expect(Object.keys(received)).not.toContain('connection')
    expect(Object.keys(received)).not.toContain('keep-alive')
  })
})

describe('invalid input', () => {
  it.each([
    { what: 'a header with CR LF', options: { headers: { 'x-a': 'b\r\nc: d' } }, names: 'x-a' },
    { what: 'te: gzip', options: { headers: { te: 'gzip' } }, names: 'te' },
    { what: 'connection: a b', options: { headers: { connection: 'a b' } }, names: 'connection' },
    {
      what: 'transfer-encoding',
      options: { headers: ['transfer-encoding', 'chunked'] },
      names: 'transfer-encoding',
    },
    { what: 'a pseudo-header', options: { headers: { ':path': '/b' } }, names: ':path' },
    {
      what: 'a field of more than 64 KiB',
      options: { headers: { 'x-big': 'b'.repeat(70_000) } },
      names: 'x-big',
    },
    {
      what: 'headers of more than 136 KiB in all',
      options: { headers: Array.from({ length: 40 }, (_, i) => [`x-${i >> 1}`, 'v'.repeat(8_000)]).flat() },
      names: 'headers',
    },
    { what: 'a path of more than 64 KiB', options: { path: `/${'p'.repeat(66_000)}` }, names: 'path' },
    { what: 'a path without slash', options: { path: 'a' }, names: 'path' },
    { what: 'a method with a space', options: { method: 'G ET' }, names: 'method' },
    { what: 'an endless method', options: { method: 'A'.repeat(300_000) }, names: 'method' },
    {
      what: 'an endless host beside many headers',
      options: {
        headers: { host: 'h'.repeat(60_000), 'x-a': 'v'.repeat(60_000), 'x-b': 'v'.repeat(60_000) },
      },
      names: 'headers',
    },
    { what: 'another origin', options: { origin: 'http://127.0.0.1:1' }, names: 'origin' },
    { what: 'a negative timeout', options: { headersTimeout: -1 }, names: 'headersTimeout' },
    { what: 'a body that is a number', options: { body: 5 as unknown as string }, names: 'body' },
    {
      what: 'a false content-length',
      options: { body: 'abc', headers: { 'content-length': '4' } },
      names: 'content-length',
    },
    { what: 'a signal that is none', options: { signal: {} as unknown as AbortSignal }, names: 'signal' },
  ])('such as $what is refused with an error that names it, and disturbs no sibling', async ({
    options,
    names,
  }) => {
    let streams = 0
    const server = await startServer((stream) => {
      streams++
      stream.respond({ ':status': 200 })
      stream.end(`${streams}`)
    })
    const client = connect(server)
    const before = client.request(GET)
    const refused = client.request({ ...GET, ...options })
    const after = client.request(GET)
    await expect(refused).rejects.toThrow(names)
    await expect(refused).rejects.toBeInstanceOf(errors.DodiciError)
    await expect(refused).rejects.toMatchObject({ processed: 'no', streamId: null })
    const texts = await Promise.all([before, after].map(async (response) => (await response).body.text()))
    expect(texts).toEqual(['1', '2'])
    expect(server.sessions).toHaveLength(1)
  })
})

describe('the callback form', () => {
  it('calls back with an error and opaque, later', async () => {
    const client = connect(await startServer(serveText))
    let isLater = false
    const heard = await new Promise<unknown[]>((resolve) => {
      client.request({ path: 'bad', method: 'GET', opaque: 7 }, (error, data) => {
        resolve([isLater, error, data.opaque])
      })
      isLater = true
    })
    expect(heard).toEqual([true, expect.any(errors.InvalidArgumentError), 7])
  })
})

describe('aborting', () => {
  it('leaves no listener on a signal when the responses have no body', async () => {
    const client = connect(await startServer(serveText))
    const { signal } = new AbortController()
    for (let i = 0; i < 5; i++) await client.request({ path: '/', method: 'HEAD', signal })
    await expect.poll(() => getEventListeners(signal, 'abort').length).toBe(0)
  })

  /** As in the package eventemitter3: not Node's class. */
  class OtherEmitter {
    readonly listeners = new Set<() => void>()

    once(_event: 'abort', listener: () => void): void {
      this.listeners.add(listener)
    }

    removeListener(_event: 'abort', listener: () => void): void {
      this.listeners.delete(listener)
    }

    fire(): void {
      for (const listener of this.listeners) listener()
    }
  }

  it("works with another package's EventEmitter", async () => {
    const client = connect(await startServer(serveText))
    const emitter = new OtherEmitter()
    const signal = emitter as unknown as AbortSignal
    const call = client.request({ ...GET, signal })
    emitter.fire()
    await expect(call).rejects.toBeInstanceOf(errors.RequestAbortedError)
    expect(emitter.listeners.size).toBe(0)
    expect(await (await client.request({ ...GET, signal })).body.text()).toBe('hello')
    await expect.poll(() => emitter.listeners.size).toBe(0)
  })

  it("works with an EventTarget, which doesn't tell whether it has fired", async () => {
    const client = connect(await startServer(serveText))
    const target = new EventTarget()
    const call = client.request({ ...GET, signal: target as AbortSignal })
    target.dispatchEvent(new Event('abort'))
    await expect(call).rejects.toBeInstanceOf(errors.RequestAbortedError)
    expect(getEventListeners(target, 'abort')).toHaveLength(0)
  })

  it('by destroying the body resets the stream', async () => {
    const codes: Promise<number>[] = []
    const server = await startServer((stream) => {
      codes.push(once(stream, 'close').then(() => stream.rstCode))
      stream.respond({ ':status': 200 })
      stream.write('begun')
    })
    const client = connect(server)
    const { body } = await client.request(GET)
    body.destroy()
    expect(await Promise.all(codes)).toEqual([8])
    expect(body.errored).toBeInstanceOf(errors.RequestAbortedError)
  })

  it('from inside the generator of the body leaves a session that works and does not spin', async () => {
    const server = await startServer((stream, headers) => {
      if (headers[':method'] === 'GET') serveText(stream, headers)
      else stream.resume()
    })
    const client = connect(server)
    const controller = new AbortController()
    async function* generate() {
      yield Buffer.alloc(16_384)
      yield Buffer.alloc(16_384)
      controller.abort()
      yield Buffer.alloc(16_384)
    }
    const body = Readable.from(generate())
    const upload = client.request({ path: '/', method: 'POST', body, signal: controller.signal })
    await expect(upload).rejects.toMatchObject({ name: 'AbortError' })
    // A native session that spins takes a core for itself: far more than these few requests cost.
    const cpu = process.cpuUsage()
    const started = performance.now()
    for (let i = 0; i < 20; i++) expect(await (await client.request(GET)).body.text()).toBe('hello')
    await new Promise((resolve) => setImmediate(resolve))
    expect(body.destroyed).toBe(true)
    expect(client.stats.running).toBe(0)
    await client.close()
    const { user, system } = process.cpuUsage(cpu)
    expect((user + system) / 1_000).toBeLessThan(2_000 + (performance.now() - started))
  })
})

describe('the body of a response', () => {
  async function ask(listener: StreamListener = serveText): Promise<BodyReadable> {
    const { body } = await connect(await startServer(listener)).request(GET)
    return body as unknown as BodyReadable
  }

  const serveJson: StreamListener = (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/json' })
    stream.end('\ufeff{"a":1}')
  }

  it('is read by text(), once', async () => {
    const body = await ask()
    expect(body.bodyUsed).toBe(false)
    expect(await body.text()).toBe('hello')
    expect(body.bodyUsed).toBe(true)
    await expect(body.text()).rejects.toBeInstanceOf(TypeError)
  })

  it.each([
    ['all of it has come', serveText],
    [
      'a part of it has come',
      (stream) => {
        stream.respond({ ':status': 200 })
        stream.write('he')
        stream.session?.ping(() => stream.end('llo'))
      },
    ],
  ] satisfies [
    string,
    StreamListener,
  ][])('includes what was put back before text(), when %s', async (_when, listener) => {
    const body = await ask(listener)
    body.unshift(Buffer.from('>'))
    expect(await body.text()).toBe('>hello')
  })

  it('is read by text() also when it came long before', async () => {
    const body = await ask()
    await once(body, 'readable')
    expect(body.readableLength).toBe(5)
    expect(await body.bytes()).toEqual(new Uint8Array(Buffer.from('hello')))
  })

  it.each<[string, (body: BodyReadable) => Promise<unknown>, unknown]>([
    ['json', (body) => body.json(), { a: 1 }],
    ['bytes', async (body) => Buffer.from(await body.bytes()).toString(), '\ufeff{"a":1}'],
    ['arrayBuffer', async (body) => (await body.arrayBuffer()).byteLength, 10],
    [
      'blob',
      async (body) => [(await body.blob()).type, (await body.blob().catch(() => null)) === null],
      ['application/json', true],
    ],
  ])('is read by %s()', async (_name, readBody, expected) => {
    expect(await readBody(await ask(serveJson))).toEqual(expected)
  })

  it('is read by formData()', async () => {
    const body = await ask((stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/x-www-form-urlencoded' })
      stream.end('a=1&b=2')
    })
    expect([...(await body.formData())]).toEqual([
      ['a', '1'],
      ['b', '2'],
    ])
  })

  it('is read by async iteration', async () => {
    expect(await read(await ask())).toBe('hello')
  })

  it('is read as a web stream, which text() locks', async () => {
    const body = await ask()
    expect(await read(body.body as unknown as AsyncIterable<Buffer>)).toBe('hello')
    const other = await ask()
    const text = other.text()
    expect(other.body.locked).toBe(true)
    expect(await text).toBe('hello')
  })

  it('is aborted by dump() above its limit', async () => {
    const codes: Promise<number>[] = []
    const body = await ask((stream) => {
      codes.push(once(stream, 'close').then(() => stream.rstCode))
      stream.respond({ ':status': 200, 'content-length': '1000' })
      stream.write('x')
    })
    await body.dump({ limit: 999 })
    expect(await Promise.all(codes)).toEqual([8])
  })

  it('fails with the error of its stream', async () => {
    const body = await ask((stream) => {
      stream.respond({ ':status': 200 })
      // `close(2)` would end the writable side first, and END_STREAM would be on the wire before the reset.
      stream.write('half', () => stream.destroy(new Error('broken')))
    })
    await expect(body.text()).rejects.toMatchObject({
      code: 'DODICI_ERR_STREAM',
      http2ErrorCode: 2,
      processed: 'yes',
      attempts: 1,
      streamId: 1,
    })
  })

  it('that is not read stops the peer at the stream window', async () => {
    // Not a multiple of the window: Node's server resets with NO_ERROR instead of ending a stream whose window is used
    // up.
    const total = 8 * 1024 * 1024 + 1
    let written = 0
    const server = await startServer((stream, headers) => {
      if (headers[':method'] === 'HEAD') {
        stream.respond({ ':status': 200 }, { endStream: true })
        return
      }
      writeAll(stream, total, (count) => {
        written = count
      })
    })
    const client = connect(server, { initialWindowSize: 262_144 })
    const { body } = await client.request({ ...GET, highWaterMark: 65_536 })
    await once(body, 'readable')
    // A request behind it has gone there and back: what the peer could send by then, it has sent.
    for (let i = 0; i < 50; i++) await (await client.request({ path: '/', method: 'HEAD' })).body.dump()
    // The other pieces wait outside of node's buffer.
    expect(body.readableLength).toBeGreaterThan(0)
    expect(body.readableLength).toBeLessThanOrEqual(65_536)
    expect(written).toBeLessThan(1024 * 1024)
    let received = 0
    for await (const chunk of body) received += chunk.length
    expect(received).toBe(total)
  })

  it('is decoded correctly by text() after setEncoding(), also in the middle of a character', async () => {
    const [first, second] = [Buffer.from('žluť').subarray(0, 1), Buffer.from('žluť').subarray(1)]
    let finish = () => {}
    const body = await ask((stream) => {
      stream.respond({ ':status': 200 })
      stream.write(first)
      finish = () => stream.end(second)
    })
    body.setEncoding('utf8')
    const text = body.text()
    finish()
    expect(await text).toBe('žluť')
  })

  it.each([
    { what: 'has arrived', isWhole: true },
    { what: 'is arriving', isWhole: false },
  ])('that $what, and is destroyed during text() after setEncoding(), settles it', async ({ isWhole }) => {
    const listener: StreamListener = (stream) => {
      stream.respond({ ':status': 200 })
      stream.write('first')
      if (isWhole) stream.end('last')
    }
    const client = connect(await startServer(listener))
    const { body } = await client.request(GET)
    body.setEncoding('utf8')
    await once(body, 'readable')
    if (isWhole) await expect.poll(() => client.stats.running).toBe(0)
    const text = body.on('error', () => {}).text()
    body.destroy()
    const outcome = await text.catch((error) => error.code)
    expect(isWhole ? ['UND_ERR_ABORTED', 'firstlast'] : ['UND_ERR_ABORTED']).toContain(outcome)
  })

  it('is given as it is by bytes() after setEncoding()', async () => {
    const bytes = Buffer.from([0xff, 0x00, 0xc5])
    const body = await ask((stream) => {
      stream.respond({ ':status': 200 })
      stream.end(bytes)
    })
    expect(Buffer.from(await body.setEncoding('utf8').bytes())).toEqual(bytes)
  })

  it('can be aborted by the signal while it waits to be read, although all of it has come', async () => {
    const controller = new AbortController()
    const client = connect(await startServer(serveText))
    const { body } = await client.request({ ...GET, signal: controller.signal })
    await expect.poll(() => client.stats.running).toBe(0)
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(body.text()).rejects.toBe(reason)
    expect(body.destroyed).toBe(true)
  })

  it('resets its stream when its web stream is cancelled before it was read', async () => {
    const codes: Promise<number>[] = []
    const body = await ask((stream) => {
      codes.push(once(stream, 'close').then(() => stream.rstCode))
      stream.respond({ ':status': 200 })
      stream.write('endless')
    })
    await body.body.cancel()
    expect(await Promise.all(codes)).toEqual([8])
    expect(body.destroyed).toBe(true)
  })
})

describe('a requestTimeout below a second', () => {
  it.each([
    'the request',
    'the client',
  ])('of %s never fires early, however many calls there are', async (whose) => {
    const server = await startServer(() => {})
    const clients = [60, 75, 90].map((requestTimeout) => {
      const client = destroyWithTest(
        new Client(server.origin, whose === 'the client' ? { requestTimeout } : {}),
      )
      return { client, requestTimeout }
    })
    const calls = clients.flatMap(({ client, requestTimeout }) =>
      Array.from({ length: 40 }, async (_, i) => {
        const own = whose === 'the client' ? requestTimeout : requestTimeout + i * 0.7
        const from = performance.now()
        const limit = whose === 'the client' ? {} : { requestTimeout: own }
        const error: unknown = await client.request({ path: '/', method: 'GET', ...limit }).then(
          () => null,
          (thrown: unknown) => thrown,
        )
        expect(error).toBeInstanceOf(errors.RequestTimeoutError)
        expect(performance.now() - from).toBeGreaterThanOrEqual(own)
      }),
    )
    await Promise.all(calls)
  })
})
