import { EventEmitter, getEventListeners, once } from 'node:events'
import { finished, PassThrough, Readable, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../src/index.ts'
import { errors } from '../../src/index.ts'
import type { Dispatcher, RequestTrailers } from '../../types/index.ts'
import { startClient } from '../support/clients/agents.ts'
import { Recorder } from '../support/clients/recorder.ts'
import type { StreamListener } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
const POST = { path: '/', method: 'POST' } as const

const serveUploads: StreamListener = (stream) => {
  stream.resume()
  stream.respond({ ':status': 200 })
  stream.end('hello')
}

async function start(onStream: StreamListener = serveUploads): Promise<Client> {
  const { client } = await startClient(onStream)
  return client
}

async function expectIdle(client: Client): Promise<void> {
  await expect.poll(() => client.stats).toMatchObject({ pending: 0, running: 0, size: 0 })
}

describe('stream()', () => {
  it('destroys the Writable of a factory that has aborted the signal', async () => {
    const client = await start()
    const aborter = new AbortController()
    const writable = new PassThrough()
    const asked = client.stream({ ...GET, signal: aborter.signal }, () => {
      aborter.abort()
      return writable
    })
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' })
    expect(writable.destroyed).toBe(true)
    expect(getEventListeners(aborter.signal, 'abort')).toEqual([])
    await expectIdle(client)
  })

  it('destroys the Writable of a factory that has destroyed the client', async () => {
    const client = await start()
    const writable = new Writable({ write: (_chunk, _encoding, callback) => callback() })
    const destroyed: Promise<void>[] = []
    const asked = client.stream(GET, () => {
      destroyed.push(client.destroy())
      return writable
    })
    await expect(asked).rejects.toBeInstanceOf(errors.ClientDestroyedError)
    await Promise.all(destroyed)
    expect(writable.destroyed).toBe(true)
  })
})

describe('pipeline()', () => {
  it('destroys the stream of a handler that has aborted the signal', async () => {
    const client = await start()
    const aborter = new AbortController()
    const made = new PassThrough()
    const duplex = client.pipeline({ ...POST, signal: aborter.signal }, ({ body }) => {
      body.on('error', () => {})
      aborter.abort()
      return made
    })
    const failed = once(duplex, 'error')
    duplex.end('x')
    expect((await failed)[0]).toMatchObject({ name: 'AbortError' })
    expect(made.destroyed).toBe(true)
    await expectIdle(client)
  })

  it('whose handler ignores the response ends the call when its own stream ends', async () => {
    const client = await start((stream) => {
      stream.resume()
      stream.respond({ ':status': 200 })
      stream.end(Buffer.alloc(20_000_000))
    })
    const duplex = client.pipeline(POST, () => Readable.from(['done']))
    duplex.end('x')
    expect(Buffer.concat((await duplex.toArray()).map((piece) => Buffer.from(piece))).toString()).toBe('done')
    await client.close()
    expect(client.stats).toMatchObject({ connected: false, pending: 0, running: 0 })
  })
})

describe('an interceptor that throws', () => {
  const CALLS: { readonly name: string; readonly ask: (to: Dispatcher, signal: AbortSignal) => unknown }[] = [
    { name: 'request', ask: (to, signal) => to.request({ ...GET, signal }) },
    { name: 'stream', ask: (to, signal) => to.stream({ ...GET, signal }, () => new PassThrough()) },
    {
      name: 'pipeline',
      ask: (to, signal) =>
        once(
          to.pipeline({ ...POST, signal }, ({ body }) => body),
          'close',
        ),
    },
    { name: 'connect', ask: (to, signal) => to.connect({ path: 'example.test:443', signal }) },
    { name: 'upgrade', ask: (to, signal) => to.upgrade({ path: '/', signal }) },
  ]

  it.each(CALLS)('fails $name(), and leaves no listener on its signal', async ({ ask }) => {
    const mine = new Error('mine')
    const client = await start()
    const broken = client.compose(() => (_options, _handler) => {
      throw mine
    })
    const { signal } = new AbortController()
    const failure = await Promise.resolve(ask(broken, signal)).catch((error: unknown) => error)
    expect(failure).toBe(mine)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

describe('a body that text() has read', () => {
  it.each(['on', 'once', 'addListener'] as const)('emits its end for a late %s()', async (verb) => {
    const client = await start()
    const { body } = await client.request(GET)
    expect(await body.text()).toBe('hello')
    await new Promise<void>((resolve) => body[verb]('end', resolve))
  })

  it('is known to finished()', async () => {
    const client = await start()
    const { body } = await client.request(GET)
    expect(await body.text()).toBe('hello')
    const told = await new Promise((resolve) => finished(body, resolve))
    expect(told).toBeUndefined()
  })
})

it('dump() refuses a signal that is none', async () => {
  const client = await start()
  const { body } = await client.request(GET)
  const signal = new EventEmitter() as unknown as AbortSignal
  const dumped = body.dump({ signal })
  await expect(dumped).rejects.toBeInstanceOf(errors.InvalidArgumentError)
  await expect(dumped).rejects.toThrow('AbortSignal')
  expect(await body.text()).toBe('hello')
})

it('an async function of trailers fails the call, and nothing else', async () => {
  // Without a response: it is the call itself that has to end.
  const client = await start((stream) => stream.resume())
  const trailers = (async () => ({ a: 'b' })) as unknown as RequestTrailers
  const asked = client.request({ ...POST, body: 'x', trailers })
  await expect(asked).rejects.toBeInstanceOf(errors.InvalidReturnValueError)
  await expectIdle(client)
})

describe('a handler hears', () => {
  class SentRecorder extends Recorder {
    readonly sent: string[] = []

    onBodySent(chunk: Buffer): void {
      this.events.push('body sent')
      this.sent.push(chunk.toString())
    }

    onRequestSent(): void {
      this.events.push('sent')
    }
  }

  it('onRequestSent of a request without a body', async () => {
    const client = await start()
    const recorder = new SentRecorder()
    client.dispatch(GET, recorder)
    await recorder.settled
    expect(recorder.events).toEqual(['start', 'sent', 'response 200', 'data', 'end'])
  })

  it.each([
    { what: 'a string', body: 'one two', pieces: ['one two'] },
    { what: 'a Readable', body: Readable.from(['one ', 'two']), pieces: ['one ', 'two'] },
  ])('onBodySent of each piece of $what, and onRequestSent once', async ({ body, pieces }) => {
    const client = await start((stream) => {
      stream.resume()
      stream.on('end', () => serveUploads(stream, {}))
    })
    const recorder = new SentRecorder()
    client.dispatch({ ...POST, body }, recorder)
    await recorder.settled
    expect(recorder.sent).toEqual(pieces)
    expect(recorder.events.filter((event) => event === 'sent')).toHaveLength(1)
    expect(recorder.events.at(-1)).toBe('end')
  })

  it('both, also when the response comes before the last piece', async () => {
    const client = await start((stream) => {
      stream.respond({ ':status': 200 })
      stream.pipe(stream)
    })
    const body = new Readable({ read() {} })
    const recorder = new SentRecorder()
    recorder.onResponseData = (_controller, chunk) => {
      recorder.chunks.push(chunk)
      if (recorder.chunks.length > 1) return
      body.push('two')
      body.push(null)
    }
    client.dispatch({ ...POST, body }, recorder)
    body.push('one ')
    await recorder.settled
    expect(recorder.text).toBe('one two')
    expect(recorder.events).toEqual(['start', 'body sent', 'response 200', 'body sent', 'sent', 'end'])
  })
})

describe('a body function', () => {
  it.each([
    {
      what: 'that throws',
      body: () => {
        throw new errors.RequestAbortedError('mine')
      },
      kind: errors.RequestAbortedError,
    },
    {
      what: 'that returns no body',
      body: () => 5 as unknown as string,
      kind: errors.InvalidReturnValueError,
    },
  ])('$what counts as no attempt', async ({ body, kind }) => {
    const client = await start()
    const failure: unknown = await client.request({ ...POST, body }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(kind)
    expect(failure).toMatchObject({ attempts: 0, streamId: null })
    await expectIdle(client)
  })
})
