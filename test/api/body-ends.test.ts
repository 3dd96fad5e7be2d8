import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { PassThrough, Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../src/index.ts'
import { startClient } from '../support/clients/agents.ts'

const path = '/'
const method = 'POST'

/** @param onData called for each piece that the server has read */
async function start(onData: (stream: ServerHttp2Stream) => void): Promise<Client> {
  const { client } = await startClient((stream) => {
    stream.on('error', () => {})
    stream.on('data', () => onData(stream))
  })
  return client
}

/** Notes what is called. `next()` gives a piece, and then does what the test says. */
class WatchedIterator implements AsyncIterableIterator<string> {
  readonly said: string[] = []
  readonly #then: () => Promise<IteratorResult<string>>

  constructor(then: () => Promise<IteratorResult<string>>) {
    this.#then = then
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<string>> {
    this.said.push('next')
    return this.said.length === 1 ? { done: false, value: 'piece' } : this.#then()
  }

  async return(): Promise<IteratorResult<string>> {
    this.said.push('return')
    return { done: true, value: undefined }
  }
}

describe('the source of a body', () => {
  it('when it is a Readable without destroy() › is left, and the call fails with the reason of its signal', async () => {
    const controller = new AbortController()
    const client = await start(() => controller.abort(new Error('enough')))
    const body = new Readable({ read: () => {} })
    body.push('piece')
    Object.assign(body, { destroy: undefined })
    const call = client.request({ path, method, body, signal: controller.signal })
    await expect(call).rejects.toThrow('enough')
    expect(body.destroyed).toBe(false)
  })

  it('when it is an iterator that throws › is not told to return', async () => {
    const client = await start(() => {})
    const body = new WatchedIterator(() => Promise.reject(new Error('broken')))
    await expect(client.request({ path, method, body })).rejects.toThrow('broken')
    expect(body.said).toEqual(['next', 'next'])
  })

  it('when it is an iterator that was never read › is told to return, once', async () => {
    const client = await start(() => {})
    const body = new WatchedIterator(() => new Promise(() => {}))
    const controller = new AbortController()
    const call = client.request({ path, method, body, signal: controller.signal })
    controller.abort(new Error('at once'))
    await expect(call).rejects.toThrow('at once')
    await client.close()
    expect(body.said).toEqual(['return'])
  })

  it('when it breaks behind the whole response › does not fail the call, which is over', async () => {
    const client = await start((stream) => {
      if (stream.headersSent) return
      stream.respond({ ':status': 413 })
      stream.end('too large')
    })
    const body = new PassThrough()
    body.write('piece')
    const response = await client.request({ path, method, body })
    expect(await response.body.text()).toBe('too large')
    body.destroy(new Error('too late'))
    const [error] = await once(body, 'error')
    expect(error.message).toBe('too late')
  })

  it('when it breaks within the response › fails the call', async () => {
    const client = await start((stream) => {
      if (stream.headersSent) return
      stream.respond({ ':status': 200 })
      stream.write('half')
    })
    const body = new PassThrough()
    body.write('piece')
    const response = await client.request({ path, method, body })
    body.destroy(new Error('broken'))
    await expect(response.body.text()).rejects.toThrow('broken')
  })
})
