import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import type { ClientOptions } from '../../types/index.ts'
import { startClient } from '../support/clients/agents.ts'
import type { StreamListener } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const

async function start(listener: StreamListener, options: ClientOptions = {}) {
  const codes: Promise<number>[] = []
  const { server, client } = await startClient((stream, headers) => {
    if (headers[':path'] !== '/hello') {
      codes.push(once(stream, 'close').then(() => stream.rstCode))
      return listener(stream, headers)
    }
    stream.respond({ ':status': 200 })
    stream.end('hello')
  }, options)
  return { server, client, codes }
}

/** A sibling that waits for its body while `act` runs, and one after it, on the one session. */
async function expectSiblings(client: Client, act: () => Promise<void>): Promise<void> {
  const before = await client.request({ path: '/hello', method: 'GET' })
  await act()
  const after = await client.request({ path: '/hello', method: 'GET' })
  expect(await before.body.text()).toBe('hello')
  expect(await after.body.text()).toBe('hello')
}

function toFields(count: number, size = 1): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, 'v'.repeat(size)]))
}

describe('maxResponseSize', () => {
  it.each([
    { what: 'a body that announces more', length: { 'content-length': '11' } },
    { what: 'a body that comes with more', length: {} },
  ])('fails $what, resets its stream, and leaves its siblings alone', async ({ length }) => {
    const { client, codes, server } = await start((stream) => {
      stream.respond({ ':status': 200, ...length })
      stream.write('eleven byte')
    })
    await expectSiblings(client, async () => {
      const failed = client.request({ ...GET, maxResponseSize: 10 }).then(({ body }) => body.text())
      await expect(failed).rejects.toBeInstanceOf(errors.ResponseExceededMaxSizeError)
      await expect(failed).rejects.toMatchObject({
        code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE',
        attempts: 1,
        streamId: 3,
      })
      expect(await Promise.all(codes)).toEqual([8])
    })
    expect(server.sessions).toHaveLength(1)
  })

  it('permits exactly that many bytes', async () => {
    const { client } = await start((stream) => {
      stream.respond({ ':status': 200 })
      stream.end('ten bytes.')
    })
    const { body } = await client.request({ ...GET, maxResponseSize: 10 })
    expect(await body.text()).toBe('ten bytes.')
  })

  it('of 0 permits only an empty body', async () => {
    const { client } = await start((stream, headers) => {
      stream.respond({ ':status': 200 })
      stream.end(headers[':path'] === '/empty' ? '' : 'x')
    })
    const limited = { method: 'GET', maxResponseSize: 0 } as const
    expect(await (await client.request({ ...limited, path: '/empty' })).body.text()).toBe('')
    const failed = client.request({ ...limited, path: '/' }).then(({ body }) => body.text())
    await expect(failed).rejects.toBeInstanceOf(errors.ResponseExceededMaxSizeError)
  })

  it('ignores the content-length of a response to HEAD', async () => {
    const { client } = await start((stream) => {
      stream.respond({ ':status': 200, 'content-length': '1000000' }, { endStream: true })
    })
    const { statusCode } = await client.request({ path: '/', method: 'HEAD', maxResponseSize: 10 })
    expect(statusCode).toBe(200)
  })

  it("of a request wins over the client's, in both directions", async () => {
    const { client } = await start(
      (stream) => {
        stream.respond({ ':status': 200 })
        stream.end('ten bytes.')
      },
      { maxResponseSize: 9 },
    )
    const ask = async (options: object) => (await client.request({ ...GET, ...options })).body.text()
    await expect(ask({})).rejects.toBeInstanceOf(errors.ResponseExceededMaxSizeError)
    await expect(ask({ maxResponseSize: null })).rejects.toBeInstanceOf(errors.ResponseExceededMaxSizeError)
    expect(await ask({ maxResponseSize: 10 })).toBe('ten bytes.')
    expect(await ask({ maxResponseSize: -1 })).toBe('ten bytes.')
    await expect(ask({ maxResponseSize: 1 })).rejects.toBeInstanceOf(errors.ResponseExceededMaxSizeError)
  })
})

describe.each([
  {
    option: 'maxHeaderSize',
    error: errors.HeadersOverflowError,
    code: 'UND_ERR_HEADERS_OVERFLOW',
    // `x-0` is 3 bytes, and each field counts 32 besides.
    limit: { maxHeaderSize: 1_000 },
    fits: toFields(1, 800),
    excess: toFields(1, 1_000),
    // Fewer bytes on the wire than Node's server is ready to send: it is the 32 of each that make them too many.
    excessByDefault: toFields(1_990),
  },
  {
    option: 'maxHeadersCount',
    error: errors.HeadersCountError,
    code: 'DODICI_ERR_HEADERS_COUNT',
    limit: { maxHeadersCount: 10 },
    fits: toFields(8),
    excess: toFields(11),
    excessByDefault: toFields(2_001),
  },
])('$option', ({ error, code, limit, fits, excess, excessByDefault }) => {
  it('fails a header section above the limit, resets its stream, and leaves its siblings alone', async () => {
    const { client, codes, server } = await start((stream) => {
      stream.respond({ ':status': 200, ...excess })
      stream.write('body')
    })
    await expectSiblings(client, async () => {
      const failed = client.request({ ...GET, ...limit })
      await expect(failed).rejects.toBeInstanceOf(error)
      await expect(failed).rejects.toMatchObject({ code, attempts: 1, streamId: 3 })
      expect(await Promise.all(codes)).toEqual([8])
    })
    expect(server.sessions).toHaveLength(1)
  })

  it('fails trailers above the limit, and leaves its siblings alone', async () => {
    const { client, server } = await start((stream) => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers(excess))
      stream.end('body')
    })
    await expectSiblings(client, async () => {
      const failed = client.request({ ...GET, ...limit }).then(({ body }) => body.text())
      await expect(failed).rejects.toBeInstanceOf(error)
      await expect(failed).rejects.toMatchObject({ code, processed: 'yes' })
    })
    expect(server.sessions).toHaveLength(1)
  })

  it('fails a tunnel whose header section is above the limit', async () => {
    const { client, codes } = await start((stream) => stream.respond({ ':status': 200, ...excess }))
    await expect(client.connect({ path: 'example.test:443', ...limit })).rejects.toBeInstanceOf(error)
    expect(await Promise.all(codes)).toEqual([8])
  })

  it('permits sizes within the limit, for header section and trailers separately', async () => {
    const { client } = await start((stream) => {
      stream.respond({ ':status': 200, ...fits }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers(fits))
      stream.end('body')
    })
    const { body, headers, trailers } = await client.request({ ...GET, ...limit })
    expect(await body.text()).toBe('body')
    expect(headers).toMatchObject(fits)
    expect(trailers).toEqual(fits)
  })

  it("holds as a client's option, and a request's own wins", async () => {
    const { client } = await start((stream) => {
      stream.respond({ ':status': 200, ...excess })
      stream.end('body')
    }, limit)
    await expect(client.request(GET)).rejects.toBeInstanceOf(error)
    const { body } = await client.request({ ...GET, maxHeaderSize: 100_000, maxHeadersCount: 100 })
    expect(await body.text()).toBe('body')
  })

  it('has a default, above which that call alone fails', async () => {
    const { client, server } = await start((stream) => {
      stream.respond({ ':status': 200, ...excessByDefault })
      stream.end('body')
    })
    // More than that many would need a larger header, too.
    const large = { maxHeaderSize: 200_000 }
    await expectSiblings(client, async () => {
      const options = error === errors.HeadersCountError ? large : {}
      await expect(client.request({ ...GET, ...options })).rejects.toBeInstanceOf(error)
    })
    const raised = { ...large, maxHeadersCount: 3_000 }
    const { body, headers } = await client.request({ ...GET, ...raised })
    expect(await body.text()).toBe('body')
    expect(headers).toMatchObject(excessByDefault)
    expect(server.sessions).toHaveLength(1)
  })
})

describe('an invalid limit', () => {
  it.each([
    { option: 'maxResponseSize', value: -2 },
    { option: 'maxResponseSize', value: 1.5 },
    { option: 'maxHeaderSize', value: 0 },
    { option: 'maxHeaderSize', value: 1_048_577 },
    { option: 'maxHeadersCount', value: 0 },
    { option: 'maxHeadersCount', value: 32_769 },
    { option: 'maxHeadersCount', value: '10' },
  ])('such as $option: $value is refused with an error that names it, of a client and of a request', async ({
    option,
    value,
  }) => {
    const options = { [option]: value }
    expect(() => new Client('http://127.0.0.1:1', options)).toThrow(option)
    const { client, server } = await start(() => {})
    const refused = client.request({ ...GET, ...options })
    await expect(refused).rejects.toBeInstanceOf(errors.InvalidArgumentError)
    await expect(refused).rejects.toThrow(option)
    expect(server.sessions).toHaveLength(0)
  })
})
