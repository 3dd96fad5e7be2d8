import type { ServerHttp2Stream } from 'node:http2'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../src/index.ts'
import { errors, toRawHeaders } from '../../src/index.ts'
import { startClient } from '../support/clients/agents.ts'
import { HERE } from '../support/clients/engines.ts'

const GET = { path: '/', method: 'GET' } as const

async function start(response: (stream: ServerHttp2Stream) => void): Promise<Client> {
  const { client } = await startClient((stream, headers) => {
    if (headers[':path'] === '/') response(stream)
    else {
      stream.respond({ ':status': 200 })
      stream.end('hello')
    }
  })
  return client
}

describe('a response whose length differs from its content-length', () => {
  it('that is shorter fails its call, and disturbs no sibling', async () => {
    const client = await start((stream) => {
      stream.respond({ ':status': 200, 'content-length': '5' })
      stream.end('four')
    })
    const sibling = client.request({ path: '/other', method: 'GET' })
    const response = await client.request(GET)
    const error = await response.body.text().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(errors.ResponseContentLengthMismatchError)
    expect(error).toMatchObject({ processed: 'yes', attempts: 1, streamId: 3 })
    // Whether nghttp2 has counted, or the call.
    expect(String(error)).toMatch(
      /isn't the 5 bytes that content-length announced|ended after 4 bytes instead of 5 bytes/,
    )
    expect(await (await sibling).body.text()).toBe('hello')
  })

  it('that is longer is an error, and the client goes on', async () => {
    const client = await start((stream) => {
      stream.respond({ ':status': 200, 'content-length': '5' })
      stream.end('four more')
    })
    const response = await client.request(GET)
    const error = await response.body.text().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ processed: 'yes', attempts: 1, streamId: 1 })
    const type = HERE.endsForLongBody ? errors.SocketError : errors.ResponseContentLengthMismatchError
    expect(error).toBeInstanceOf(type)
    expect(await (await client.request({ path: '/other', method: 'GET' })).body.text()).toBe('hello')
  })
})

describe('maxHeadersCount', () => {
  it('counts fields, and :status is none', async () => {
    const client = await start((stream) => {
      stream.respond({ ':status': 200, a: '1', b: '2' }, { endStream: true, sendDate: false } as object)
    })
    const response = await client.request({ ...GET, maxHeadersCount: 3 })
    const count = Object.keys(response.headers).length
    await response.body.dump()
    expect((await client.request({ ...GET, maxHeadersCount: count })).statusCode).toBe(200)
    await expect(client.request({ ...GET, maxHeadersCount: count - 1 })).rejects.toBeInstanceOf(
      errors.HeadersCountError,
    )
  })
})

describe('an upgrade by an API that gives no tunnel', () => {
  it.each([
    'request',
    'stream',
    'pipeline',
  ] as const)('is refused with an error that names it: %s', async (name) => {
    const client = await start(() => {})
    const options = { ...GET, upgrade: 'websocket' }
    const error = await new Promise((resolve) => {
      if (name === 'request') client.request(options).catch(resolve)
      else if (name === 'stream') client.stream(options, () => process.stdout).catch(resolve)
      else client.pipeline(options, ({ body }) => body).on('error', resolve)
    })
    expect(error).toBeInstanceOf(errors.InvalidArgumentError)
    expect(String(error)).toContain('use upgrade() for this')
  })
})

describe('toRawHeaders()', () => {
  it.each([
    { what: 'a Headers', headers: new Headers({ a: '1' }) },
    { what: 'a Map', headers: new Map([['a', '1']]) },
    { what: 'pairs', headers: [['a', '1']] as [string, string][] },
    { what: 'a header object', headers: { a: '1' } },
    { what: 'a flat list', headers: ['a', '1'] },
  ])('takes $what', ({ headers }) => {
    expect(toRawHeaders(headers)).toEqual(['a', '1'])
  })
})
