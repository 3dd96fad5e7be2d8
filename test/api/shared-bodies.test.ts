import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../src/index.ts'
import { errors } from '../../src/index.ts'
import { startClient } from '../support/clients/agents.ts'
import type { StreamListener } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
const POST = { path: '/', method: 'POST' } as const

async function start(onStream: StreamListener): Promise<Client> {
  const { client } = await startClient(onStream)
  return client
}

const echo: StreamListener = (stream) => {
  stream.respond({ ':status': 200 })
  stream.pipe(stream)
}

describe('a Readable that other code reads, too', () => {
  const BLOCKS = Array.from({ length: 20 }, (_, index) => Buffer.alloc(300_000, index + 1))

  /** Blocks that flow into a Writable that makes its source wait after each of them. */
  function toShared() {
    const left = [...BLOCKS]
    const body = new Readable({
      highWaterMark: 1_000_000,
      read() {
        this.push(left.shift() ?? null)
      },
    })
    const others: Buffer[] = []
    const other = new Writable({
      highWaterMark: 1,
      write(chunk: Buffer, _encoding, callback) {
        others.push(chunk)
        setImmediate(callback)
      },
    })
    other.on('error', () => {})
    body.pipe(other)
    return { body, other, others }
  }

  it('arrives byte for byte when its request is sent at once', async () => {
    const client = await start(echo)
    await (await client.request(GET)).body.dump()
    const { body, other, others } = toShared()
    const { body: response } = await client.request({ ...POST, body })
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.concat(BLOCKS))).toBe(true)
    if (!other.writableFinished) await once(other, 'finish')
    expect(Buffer.concat(others).equals(Buffer.concat(BLOCKS))).toBe(true)
  })

  it('fails its request when bytes were read before the request could be sent', async () => {
    const received: Buffer[] = []
    const client = await start((stream, headers) => {
      stream.on('data', (chunk: Buffer) => received.push(chunk))
      echo(stream, headers)
    })
    const { body } = toShared()
    // The connection takes longer than the first block.
    const asked = client.request({ ...POST, body })
    await expect(asked).rejects.toBeInstanceOf(errors.InvalidArgumentError)
    await (await client.request(GET)).body.dump()
    expect(received).toEqual([])
    expect(client.stats).toMatchObject({ pending: 0, running: 0 })
  })
})

describe('expectContinue, with a final response and no 100', () => {
  it.each([200, 201])('sends the body after a %d', async (status) => {
    const client = await start((stream) => {
      stream.respond({ ':status': status })
      stream.pipe(stream)
    })
    const { body, statusCode } = await client.request({ ...POST, body: 'hello', expectContinue: true })
    expect(statusCode).toBe(status)
    expect(await body.text()).toBe('hello')
  })

  it.each([417, 401])('sends nothing after a %d, and destroys the source', async (status) => {
    const received: Buffer[] = []
    const client = await start((stream, headers) => {
      if (headers[':method'] === 'GET') return echo(stream, headers)
      stream.on('data', (chunk: Buffer) => received.push(chunk))
      stream.respond({ ':status': status })
      stream.end('no')
    })
    const source = Readable.from(['one ', 'two'])
    const released = once(source, 'close')
    const { body, statusCode } = await client.request({ ...POST, body: source, expectContinue: true })
    expect(statusCode).toBe(status)
    expect(await body.text()).toBe('no')
    await released
    expect(source.readableDidRead).toBe(false)
    await (await client.request(GET)).body.dump()
    expect(received).toEqual([])
    expect(client.stats).toMatchObject({ pending: 0, running: 0 })
  })
})
