import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { Readable } from 'node:stream'
import { Stream, Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/index.ts'
import type { AgentOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { listen } from '../support/servers/listen.ts'

/** Emits three pieces, and then its end. */
async function emit(stream: EventEmitter, isClosed: boolean): Promise<void> {
  for (const piece of ['a', Buffer.from('b'), new Uint8Array([99])]) {
    stream.emit('data', piece)
    await turn()
  }
  stream.emit('end')
  if (isClosed) stream.emit('close')
}

function pipe(this: EventEmitter, destination: Writable): Writable {
  this.on('data', (chunk) => destination.write(chunk))
  this.on('end', () => destination.end())
  return destination
}

/** Begins when it is first asked, and stops where it is paused. */
class Asked extends Stream {
  readonly #pieces = ['a', 'b', 'c']
  #isPaused = true
  pause(): void {
    this.#isPaused = true
  }
  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    setImmediate(() => this.#give())
  }
  #give(): void {
    while (!this.#isPaused) {
      const piece = this.#pieces.shift()
      if (piece === undefined) {
        this.#isPaused = true
        this.emit('end')
      } else this.emit('data', piece)
    }
  }
}

const KINDS: readonly { readonly name: string; make(): EventEmitter }[] = [
  {
    name: 'a Stream that emits right behind the call, whether it is asked or not',
    make() {
      const stream = new Stream()
      process.nextTick(() => void emit(stream, true))
      return stream
    },
  },
  {
    name: 'an emitter with pipe() and no close',
    make() {
      const stream = Object.assign(new EventEmitter(), { pipe })
      void turn().then(() => emit(stream, false))
      return stream
    },
  },
  { name: 'a Stream that begins by resume()', make: () => new Asked() },
]

async function startHttp1(): Promise<string> {
  const server = createServer((request, response) => void request.pipe(response))
  const { port } = await listen(server)
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${port}`
}

async function startHttp2(): Promise<string> {
  const server = createHttp2Server((request, response) => void request.pipe(response))
  const { port } = await listen(server)
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${port}`
}

const ROUTES: readonly { name: string; options: AgentOptions; start(): Promise<string> }[] = [
  { name: 'engine node', options: { engine: 'node', h2c: true }, start: startHttp2 },
  { name: 'engine wire', options: { engine: 'wire', h2c: true }, start: startHttp2 },
  { name: 'the fallback', options: { h2c: false }, start: startHttp1 },
]

describe.each(ROUTES)('a body that is a stream from before Readable, on $name', ({ options, start }) => {
  async function send(make: () => unknown): Promise<string> {
    const origin = await start()
    const agent = destroyWithTest(new Agent(options))
    // The types ask for a Readable, as undici's do.
    const response = await agent.request({ origin, path: '/', method: 'POST', body: make() as Readable })
    return response.body.text()
  }

  it.each(KINDS)('$name › is sent whole', async ({ make }) => {
    expect(await send(make)).toBe('abc')
  })

  it('fails with its error', async () => {
    const make = (): Stream => {
      const stream = new Stream()
      setImmediate(() => stream.emit('error', new Error('broken')))
      return stream
    }
    await expect(send(make)).rejects.toThrow('broken')
  })

  it('fails when it closes before its end', async () => {
    const make = (): Stream => {
      const stream = new Stream()
      setImmediate(() => stream.emit('close'))
      return stream
    }
    await expect(send(make)).rejects.toMatchObject({
      code: 'UND_ERR_ABORTED',
      message: 'The request body was closed before it ended',
    })
  })

  it('is refused if it is a Writable', async () => {
    await expect(send(() => new Writable())).rejects.toMatchObject({ code: 'UND_ERR_INVALID_ARG' })
  })

  it('is destroyed when the call fails', async () => {
    const stream = Object.assign(new Stream(), { destroyed: false })
    const gone = once(stream, 'gone')
    Object.assign(stream, { destroy: (error: unknown) => stream.emit('gone', error) })
    const origin = await start()
    const agent = new Agent(options)
    const call = agent.request({ origin, path: '/', method: 'POST', body: stream as unknown as Readable })
    const error = new Error('destroyed')
    await turn()
    const outcome = expect(call).rejects.toThrow('destroyed')
    await agent.destroy(error)
    await outcome
    expect(await gone).toEqual([error])
  })
})
