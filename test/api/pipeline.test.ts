import { EventEmitter, once } from 'node:events'
import { PassThrough, Readable, Stream, Transform, Writable } from 'node:stream'
import { pipeline as join } from 'node:stream/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { StreamListener, TestServer } from '../support/servers/server.ts'
import { read, startServer } from '../support/servers/server.ts'
import { startWatched } from '../support/servers/watched-server.ts'

const PUT = { path: '/', method: 'PUT' } as const

function connect(server: TestServer): Client {
  return destroyWithTest(new Client(server.origin))
}

const echo: StreamListener = (stream) => {
  stream.respond({ ':status': 200 })
  stream.pipe(stream)
}

/** Keeps what is written to it, objects too. */
function toSink(chunks: unknown[]): Writable {
  return new Writable({
    objectMode: true,
    write(chunk, _encoding, callback) {
      chunks.push(chunk)
      callback()
    },
  })
}

async function expectHello(client: Client): Promise<void> {
  expect(await (await client.request({ path: '/hello', method: 'GET' })).body.text()).toBe('hello')
}

describe('pipeline()', () => {
  it('sends the bytes that are written, and gives the stream that the handler returns', async () => {
    const client = connect(await startServer(echo))
    const chunks: unknown[] = []
    const duplex = client.pipeline({ ...PUT, opaque: 'mine' }, ({ statusCode, opaque, body }) => {
      expect([statusCode, opaque]).toEqual([200, 'mine'])
      return body
    })
    await join(Readable.from(['one, ', 'two']), duplex, toSink(chunks))
    expect(chunks.join('')).toBe('one, two')
    await expect.poll(() => client.stats.running).toBe(0)
    expect(duplex.destroyed).toBe(true)
  })

  it('takes strings, Buffers and typed arrays', async () => {
    const client = connect(await startServer(echo))
    const duplex = client.pipeline(PUT, ({ body }) => body)
    duplex.write('žluť')
    duplex.write('20ac', 'hex')
    duplex.write(new Uint8Array([65]))
    duplex.end(Buffer.from('z'))
    const bytes = Buffer.concat(await duplex.toArray())
    expect(bytes).toEqual(Buffer.from([...Buffer.from('žluť'), 0x20, 0xac, 65, 122]))
  })

  it('carries 8 MB there and back', async () => {
    const client = connect(await startServer(echo))
    const block = Buffer.alloc(65_536, 'block')
    let received = 0
    let right = true
    await join(
      Readable.from(Array(128).fill(block)),
      client.pipeline(PUT, ({ body }) => body),
      new Writable({
        write(chunk: Buffer, _encoding, callback) {
          const at = received % block.length
          for (let i = 0; i < chunk.length; i += 1021) {
            if (chunk[i] !== block[(at + i) % block.length]) right = false
          }
          received += chunk.length
          callback()
        },
      }),
    )
    expect([received, right]).toEqual([128 * 65_536, true])
  })

  it('gives the stream that a handler makes of the response', async () => {
    const client = connect(await startServer(echo))
    const duplex = client.pipeline(PUT, ({ body }) => {
      const upper = new Transform({
        transform: (chunk: Buffer, _encoding, callback) => callback(null, chunk.toString().toUpperCase()),
      })
      return body.pipe(upper)
    })
    duplex.end('quiet')
    expect(await read(duplex)).toBe('QUIET')
  })

  it('gives objects with objectMode', async () => {
    const client = connect(await startServer(echo))
    const duplex = client.pipeline({ ...PUT, objectMode: true }, ({ body }) =>
      body.pipe(
        new Transform({
          readableObjectMode: true,
          transform: (chunk: Buffer, _encoding, callback) => callback(null, JSON.parse(chunk.toString())),
        }),
      ),
    )
    duplex.end('{"a":1}')
    expect(await duplex.toArray()).toEqual([{ a: 1 }])
  })

  it('ends without data for a response without a body', async () => {
    const server = await startServer((stream) => stream.respond({ ':status': 204 }, { endStream: true }))
    const duplex = connect(server).pipeline({ path: '/', method: 'GET' }, ({ body }) => body)
    duplex.end()
    expect(await read(duplex)).toBe('')
  })

  it.each([
    { what: 'a path without slash', options: { ...PUT, path: 'none' }, names: 'path' },
    { what: 'CONNECT', options: { path: '/', method: 'CONNECT' }, names: 'connect()' },
    { what: 'no options', options: null as never, names: 'options' },
    { what: 'no handler', options: PUT, handler: 'no' as never, names: 'handler' },
  ])('given $what destroys the duplex, later', async ({ options, handler, names }) => {
    const client = connect(await startServer(echo))
    const duplex = client.pipeline(options, handler ?? (({ body }) => body))
    const [error] = await once(duplex, 'error')
    expect(error).toBeInstanceOf(errors.InvalidArgumentError)
    expect(error.message).toContain(names)
  })

  it('given a body warns of it once, and sends what is written, as undici does', async () => {
    const warnings: string[] = []
    const onWarning = ({ message }: Error): unknown => warnings.push(message)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const client = connect(await startServer(echo))
    for (const body of ['mine', new Blob(['mine'])]) {
      const duplex = client.pipeline({ ...PUT, body }, (response) => response.body)
      duplex.end('written')
      expect(await read(duplex)).toBe('written')
    }
    expect(warnings).toEqual([
      'The pipeline() option "body" has no effect: the body is what you write to the duplex',
    ])
  })

  describe('when the handler', () => {
    it.each([
      { what: 'nothing', response: undefined },
      { what: 'null', response: null },
      { what: 'a string', response: 'text' },
      { what: 'an EventEmitter', response: new EventEmitter() },
    ])('returns $what, the duplex fails with InvalidReturnValueError', async ({ response }) => {
      const { server, codes, closed } = await startWatched(echo)
      const client = connect(server)
      const duplex = client.pipeline(PUT, (() => response) as never)
      duplex.write('data')
      const [error] = await once(duplex, 'error')
      expect(error).toBeInstanceOf(errors.InvalidReturnValueError)
      await closed
      expect(codes).toEqual([8])
      await expectHello(client)
    })

    it.each([
      {
        what: 'errors',
        end: (response: Readable) => response.destroy(new Error('bad data')),
        message: 'bad data',
      },
      { what: 'is closed', end: (response: Readable) => response.destroy(), message: 'before it ended' },
    ])('returns a stream that $what, the duplex fails and the stream is reset', async ({ end, message }) => {
      const { server, codes, closed } = await startWatched(echo)
      const client = connect(server)
      const response = new PassThrough()
      const duplex = client.pipeline(PUT, ({ body }) => body.pipe(response))
      const failed = once(duplex, 'error')
      duplex.write('data')
      await once(duplex, 'data')
      end(response)
      const [error] = await failed
      expect(error.message).toContain(message)
      await closed
      expect(codes).toEqual([8])
      await expectHello(client)
    })
  })

  describe('when the handler returns a stream from before Readable', () => {
    /** It has neither `readableEnded` nor `destroy()`, and closes after its end. */
    class Old extends Stream {
      readonly writable = true
      write(chunk: unknown): boolean {
        this.emit('data', chunk)
        return true
      }
      end(): void {
        this.emit('end')
        this.emit('close')
      }
    }

    it('gives all of it, although it closes', async () => {
      const client = connect(await startServer(echo))
      const old = new Old()
      const duplex = client.pipeline(PUT, ({ body }) => {
        body.on('data', (chunk) => old.write(chunk)).on('end', () => old.end())
        return old as unknown as Readable
      })
      duplex.end('old')
      expect(await read(duplex)).toBe('old')
    })

    it('fails with the error that ends the duplex', async () => {
      const { server, codes, closed } = await startWatched(echo)
      const duplex = connect(server).pipeline(PUT, ({ body }) => {
        body.on('error', () => {}).on('data', () => duplex.destroy(new Error('mine')))
        return new Old() as unknown as Readable
      })
      duplex.write('data')
      const [error] = await once(duplex, 'error')
      expect(error.message).toBe('mine')
      await closed
      expect(codes).toEqual([8])
    })
  })

  describe('when the duplex is destroyed', () => {
    it('before there is a connection, nothing is sent', async () => {
      const { server } = await startWatched(echo)
      const duplex = connect(server).pipeline(PUT, ({ body }) => body)
      duplex.destroy()
      const [error] = await once(duplex, 'error')
      expect(error).toBeInstanceOf(errors.RequestAbortedError)
      expect(server.sessions).toHaveLength(0)
    })

    it('while it waits for the response, the stream is reset', async () => {
      let duplex = new PassThrough() as ReturnType<Client['pipeline']>
      const { server, codes, closed } = await startWatched(() => duplex.destroy(new Error('late')))
      const client = connect(server)
      duplex = client.pipeline(PUT, ({ body }) => body)
      duplex.write('data')
      const [error] = await once(duplex, 'error')
      expect(error.message).toBe('late')
      await closed
      expect(codes).toEqual([8])
      await expectHello(client)
    })

    it('midway through the response, the stream is reset and the body fails', async () => {
      const { server, codes, closed } = await startWatched(echo)
      const client = connect(server)
      let response: Readable = new PassThrough()
      const duplex = client.pipeline(PUT, ({ body }) => {
        response = body
        return body
      })
      duplex.write('data')
      await once(duplex, 'data')
      duplex.destroy()
      const [error] = await once(duplex, 'error')
      expect(error).toMatchObject({ name: 'AbortError' })
      await closed
      expect(codes).toEqual([8])
      expect(response.destroyed).toBe(true)
      await expectHello(client)
    })

    it('after the end, nothing happens', async () => {
      const client = connect(await startServer(echo))
      const duplex = client.pipeline(PUT, ({ body }) => body)
      duplex.end('data')
      expect(await read(duplex)).toBe('data')
      duplex.destroy()
      if (!duplex.closed) await once(duplex, 'close')
      expect(duplex.errored).toBeNull()
    })
  })

  describe('when the server', () => {
    it('responds early, later writes are discarded, and the pipeline ends without an error', async () => {
      const server = await startServer((stream) => {
        stream.respond({ ':status': 200 })
        stream.end('enough')
      })
      const chunks: unknown[] = []
      let made = 0
      const source = Readable.from(
        (function* () {
          for (; made < 64; made++) yield Buffer.alloc(65_536)
        })(),
      )
      await join(
        source,
        connect(server).pipeline(PUT, ({ body }) => body),
        toSink(chunks),
      )
      expect(chunks.join('')).toBe('enough')
      expect(made).toBe(64)
    })

    it('begins its response before the request has ended, both flow at the same time', async () => {
      const client = connect(await startServer(echo))
      const duplex = client.pipeline(PUT, ({ body }) => body)
      for (const word of ['one', 'two', 'three']) {
        duplex.write(word)
        expect((await once(duplex, 'data')).toString()).toBe(word)
      }
      duplex.end()
      await once(duplex, 'end')
    })

    it('resets the stream midway, the duplex and the stream of the handler fail alike', async () => {
      const server = await startServer((stream) => {
        stream.respond({ ':status': 200 })
        stream.write('half', () => stream.destroy(new Error('broken')))
      })
      const response = new PassThrough()
      const duplex = connect(server).pipeline(PUT, ({ body }) => body.pipe(response))
      response.on('error', () => {})
      duplex.resume()
      const [error] = await once(duplex, 'error')
      expect(error).toMatchObject({ code: 'DODICI_ERR_STREAM', processed: 'yes' })
      expect(response.errored).toBe(error)
    })

    it('reads nothing, writers are held back', async () => {
      const { server } = await startWatched((stream) => stream.respond({ ':status': 200 }))
      const client = connect(server)
      let pulled = 0
      const source = Readable.from(
        (function* () {
          for (;;) {
            pulled++
            yield Buffer.alloc(65_536)
          }
        })(),
      )
      const duplex = client.pipeline(PUT, ({ body }) => body)
      const joined = join(source, duplex, new PassThrough().resume())
      await expect.poll(() => pulled).toBeGreaterThan(1)
      for (let i = 0; i < 30; i++) await expectHello(client)
      // What the window takes, and what each stream on the way may hold: a few of its pieces.
      expect(pulled).toBeLessThan(40)
      duplex.destroy(new Error('enough'))
      await expect(joined).rejects.toThrow('enough')
    })
  })

  it('can be written on once a loop has read the whole response, as on undici', async () => {
    const server = await startServer((stream) => {
      stream.respond({ ':status': 200 })
      stream.end('enough')
    })
    const duplex = connect(server).pipeline(PUT, ({ body }) => body)
    duplex.write('one')
    let text = ''
    for await (const piece of duplex) text += piece
    expect([text, duplex.destroyed, duplex.errored]).toEqual(['enough', false, null])
    const closed = once(duplex, 'close')
    duplex.end('two')
    await closed
    expect(duplex.errored).toBe(null)
  })

  it('fails as by Node when a loop is left before the end', async () => {
    const duplex = connect(await startServer(echo)).pipeline(PUT, ({ body }) => body)
    duplex.write('one')
    for await (const _piece of duplex) break
    expect([duplex.destroyed, duplex.errored]).toMatchObject([
      true,
      { name: 'AbortError', code: 'ABORT_ERR' },
    ])
  })

  it('holds a response back that is not read', async () => {
    let written = 0
    const { server } = await startWatched((stream) => {
      stream.respond({ ':status': 200 })
      const write = (): void => {
        written += 65_536
        stream.write(Buffer.alloc(65_536))
        stream.once('drain', write)
      }
      write()
    })
    const client = destroyWithTest(new Client(server.origin, { initialWindowSize: 131_072 }))
    const duplex = client.pipeline(PUT, ({ body }) => body)
    duplex.on('error', () => {})
    await expect.poll(() => written).toBeGreaterThan(0)
    for (let i = 0; i < 30; i++) await expectHello(client)
    expect(written).toBeLessThan(1024 * 1024)
    duplex.destroy()
  })
})

describe('pipeline(), when its handler returns a Readable that has emitted its end,', () => {
  it.each(['destroyed', 'read to its end'])('fails: %s', async (how) => {
    const response = new PassThrough()
    if (how === 'destroyed') {
      response.destroy()
      await once(response, 'close')
    } else {
      response.end()
      response.resume()
      await once(response, 'end')
    }
    const duplex = connect(await startServer(echo)).pipeline(PUT, () => response)
    duplex.write('x')
    const [error] = await once(duplex, 'error')
    expect(error).toBeInstanceOf(errors.InvalidReturnValueError)
    expect(error.message).toContain('an open Readable')
  })
})

describe('pipeline() of a HEAD', () => {
  it('lets its handler dump the body, however long one it announces', async () => {
    const server = await startServer((stream) => {
      stream.respond({ ':status': 200, 'content-length': '1000000' }, { endStream: true })
    })
    const dumped: Promise<void>[] = []
    const duplex = connect(server).pipeline({ path: '/', method: 'HEAD' }, ({ body }) => {
      dumped.push(body.dump({ limit: 1000 }))
      return body
    })
    duplex.end()
    duplex.resume()
    await once(duplex, 'end')
    expect(await Promise.all(dumped)).toEqual([undefined])
  })
})
