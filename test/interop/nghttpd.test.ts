import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { Nghttpd } from '../support/servers/nghttpd.ts'
import { lacksNghttpd, startNghttpd } from '../support/servers/nghttpd.ts'

const MEBIBYTE = 1024 * 1024

function connect({ origin, ca }: Nghttpd): Client {
  const client = destroyWithTest(new Client(origin, { connect: ca === '' ? {} : { ca } }))
  return client
}

/** Stands for bytes of which a failure should not print millions. */
function toDigest(bytes: ArrayBuffer | Uint8Array): string {
  const view = new Uint8Array(bytes)
  return `${view.byteLength} bytes, ${createHash('sha256').update(view).digest('hex')}`
}

/** The connections that brought requests; nghttpd numbers them. */
function findConnections(log: string): Set<string | undefined> {
  return new Set([...log.matchAll(/\[id=(\d+)\].* recv HEADERS frame/g)].map(([, id]) => id))
}

/** The fields of the `index`th HEADERS frame that nghttpd sent, flat, as its log has them. */
function findSentFields(log: string, index: number): string[] {
  const [, ...frames] = log.split(/ send HEADERS frame .*\n/)
  const [block = ''] = (frames[index] ?? '').split(/^\[/m)
  return [...block.matchAll(/^ +(:?[a-z0-9-]+): (.*)$/gm)].flatMap(([, name = '', value = '']) => [
    name,
    value,
  ])
}

describe.skipIf(lacksNghttpd).each([
  { protocol: 'h2c', tls: false },
  { protocol: 'h2 over TLS', tls: true },
])('nghttpd over $protocol', ({ tls }) => {
  describe('when a file is asked for', () => {
    it('with GET gives its very bytes', async () => {
      // Every byte value, and several frames.
      const content = Buffer.from(Array.from({ length: 50_000 }, (_, index) => index % 256))
      const client = connect(await startNghttpd({ tls, files: { 'file.bin': content } }))
      const { statusCode, headers, body } = await client.request({ path: '/file.bin', method: 'GET' })
      expect(statusCode).toBe(200)
      expect(headers['content-length']).toBe('50000')
      expect(toDigest(await body.arrayBuffer())).toBe(toDigest(content))
    })

    it('with HEAD gives its length, and no body', async () => {
      const client = connect(await startNghttpd({ tls, files: { 'hello.txt': 'hello' } }))
      const { statusCode, headers, body } = await client.request({ path: '/hello.txt', method: 'HEAD' })
      expect(statusCode).toBe(200)
      expect(headers['content-length']).toBe('5')
      expect(await body.text()).toBe('')
    })

    it('that is not there gives 404, and the next response comes on the same connection', async () => {
      const nghttpd = await startNghttpd({ tls, files: { 'hello.txt': 'hello' } })
      const client = connect(nghttpd)
      const missing = await client.request({ path: '/nothing', method: 'GET' })
      expect(missing.statusCode).toBe(404)
      expect(await missing.body.text()).toContain('404 Not Found')
      const { statusCode, body } = await client.request({ path: '/hello.txt', method: 'GET' })
      expect(statusCode).toBe(200)
      expect(await body.text()).toBe('hello')
      await client.close()
      expect(findConnections(await nghttpd.stop()).size).toBe(1)
    })

    it('of 8 MiB gives all of it', async () => {
      const content = randomBytes(8 * MEBIBYTE)
      const client = connect(await startNghttpd({ tls, files: { 'big.bin': content } }))
      const { body } = await client.request({ path: '/big.bin', method: 'GET' })
      expect(toDigest(await body.arrayBuffer())).toBe(toDigest(content))
    })
  })

  it('when 200 requests come at once, with a limit of 100 streams, responds to each on one connection', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `${index}.txt`)
    const files = Object.fromEntries(names.map((name) => [name, `this is ${name}`]))
    const nghttpd = await startNghttpd({ tls, files, args: ['--max-concurrent-streams=100'] })
    const client = connect(nghttpd)
    const texts = await Promise.all(
      names.map(async (name) => {
        const { body } = await client.request({ path: `/${name}`, method: 'GET' })
        return await body.text()
      }),
    )
    expect(texts).toEqual(names.map((name) => `this is ${name}`))
    await client.close()
    const log = await nghttpd.stop()
    expect(findConnections(log).size).toBe(1)
    // None was refused, and so none was sent twice.
    expect(log.match(/ recv HEADERS frame/g)).toHaveLength(200)
  })

  it("when responseHeaders is 'raw', gives the fields in the order of the wire, without pseudo-headers", async () => {
    const nghttpd = await startNghttpd({ tls, files: { 'hello.txt': 'hello' } })
    const client = connect(nghttpd)
    const options = { path: '/hello.txt', method: 'GET', responseHeaders: 'raw' } as const
    const { headers, body } = await client.request(options)
    expect(await body.text()).toBe('hello')
    await client.close()
    const [status, code, ...fields] = findSentFields(await nghttpd.stop(), 0)
    expect([status, code]).toEqual([':status', '200'])
    expect(fields).toContain('content-length')
    expect(headers).toEqual(fields)
  })

  it('when a Readable is posted, takes all of it, and gives it back', async () => {
    const content = randomBytes(MEBIBYTE)
    const nghttpd = await startNghttpd({ tls, args: ['--echo-upload'] })
    const body = Readable.from(
      Array.from({ length: 16 }, (_, index) => content.subarray(index * 65_536, (index + 1) * 65_536)),
    )
    const response = await connect(nghttpd).request({ path: '/', method: 'POST', body })
    expect(response.statusCode).toBe(200)
    expect(toDigest(await response.body.arrayBuffer())).toBe(toDigest(content))
  })

  it('when it sends trailers, gives them after the body', async () => {
    const args = ['--trailer=x-sum: a1b2c3', '--trailer=x-more: yes']
    const client = connect(await startNghttpd({ tls, files: { 'hello.txt': 'hello' }, args }))
    const get = { path: '/hello.txt', method: 'GET' } as const
    const { body, trailers } = await client.request(get)
    expect(await body.text()).toBe('hello')
    expect(trailers).toEqual({ 'x-sum': 'a1b2c3', 'x-more': 'yes' })
    const raw = await client.request({ ...get, responseHeaders: 'raw' })
    await raw.body.dump()
    expect(raw.trailers).toEqual(['x-sum', 'a1b2c3', 'x-more', 'yes'])
  })
})
