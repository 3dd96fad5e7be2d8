/** The interceptor that decodes responses: it takes fields out of the header object, and splices the raw list. */

import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Protocol, Respond } from './interceptors-server.ts'
import { composeAgent, composeClient, send, startWebServer } from './interceptors-server.ts'
import { NEWER_UNDICIS } from './interceptors-undicis.ts'
import { PIPELINE, toCases, toReason, WAYS } from './interceptors-ways.ts'

const TEXT = 'hello, hello, hello, hello'
const ENCODERS = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync }

/** `/gzip` and so on; the text is in the query where there is one. */
const encoding: Respond = ({ path }, reply) => {
  for (const [name, encode] of Object.entries(ENCODERS)) {
    if (path !== `/${name}`) continue
    const body = encode(TEXT)
    send(
      reply,
      200,
      { 'content-encoding': name, 'content-length': String(body.length), 'x-said': 'yes' },
      body,
    )
  }
}

const PROTOCOLS: { protocol: Protocol }[] = [{ protocol: 'h2' }, { protocol: 'http/1.1' }]

describe.each(PROTOCOLS)('the decompress interceptor over $protocol', ({ protocol }) => {
  describe.each(toCases(NEWER_UNDICIS, [...WAYS, PIPELINE]))('of $from, by $what', ({ undici, way }) => {
    // Told of an encoding that is no more, a fetch would decode the text a second time, and fail.
    it.each(Object.keys(ENCODERS))('decodes %s, and removes its field', async (name) => {
      const server = await startWebServer(encoding, protocol)
      const dispatcher = composeAgent(server, undici.interceptors.decompress())
      const { status, headers, text } = await way.ask(undici, dispatcher, `${server.origin}/${name}`)
      expect([status, text]).toEqual([200, TEXT])
      expect(headers).toMatchObject({ 'x-said': 'yes' })
      expect(Object.keys(headers)).not.toContain('content-encoding')
      expect(Object.keys(headers)).not.toContain('content-length')
    })

    it('does not change a response without an encoding', async () => {
      const server = await startWebServer(
        (_exchange, reply) => send(reply, 200, { 'content-length': '5' }, 'plain'),
        protocol,
      )
      const dispatcher = composeAgent(server, undici.interceptors.decompress())
      const { headers, text } = await way.ask(undici, dispatcher, server.origin)
      expect([headers['content-length'], text]).toEqual(['5', 'plain'])
    })

    it('fails a call whose body does not have its encoding', async () => {
      const server = await startWebServer(
        (_exchange, reply) => send(reply, 200, { 'content-encoding': 'gzip' }, 'this is no gzip'),
        protocol,
      )
      const dispatcher = composeAgent(server, undici.interceptors.decompress())
      const error = await way.ask(undici, dispatcher, server.origin).then(
        () => null,
        (thrown: Error) => thrown,
      )
      // A fetch has its response by then: its body breaks off.
      expect(error?.cause ?? error).toMatchObject({ code: 'Z_DATA_ERROR' })
    })
  })

  it.each(NEWER_UNDICIS)('of $name is seen by raw headers', async ({ interceptors }) => {
    const server = await startWebServer(encoding, protocol)
    const dispatcher = composeAgent(server, interceptors.decompress())
    const options = { origin: server.origin, path: '/gzip', method: 'GET', responseHeaders: 'raw' } as const
    const { headers, body } = await dispatcher.request(options)
    expect(await body.text()).toBe(TEXT)
    const names = Array.isArray(headers) ? headers.filter((_, index) => index % 2 === 0) : []
    const lower = names.map((name) => String(name).toLowerCase())
    expect(lower).toContain('x-said')
    expect(lower).not.toContain('content-encoding')
    expect(lower).not.toContain('content-length')
  })
})

describe.each(NEWER_UNDICIS)('the decompress interceptor of $name', ({ interceptors }) => {
  it('decodes over a Client', async () => {
    const server = await startWebServer(encoding)
    const dispatcher = composeClient(server, interceptors.decompress())
    const { body } = await dispatcher.request({ path: '/br', method: 'GET' })
    expect(await body.text()).toBe(TEXT)
  })

  it('holds the server back while the body is not read, and then decodes the rest', async () => {
    const large = Buffer.alloc(8 * 1024 * 1024, 'text that shrinks ')
    const server = await startWebServer((_exchange, reply) =>
      send(reply, 200, { 'content-encoding': 'gzip' }, gzipSync(large)),
    )
    const dispatcher = composeAgent(server, interceptors.decompress())
    const { body } = await dispatcher.request({ origin: server.origin, path: '/', method: 'GET' })
    let length = 0
    for await (const chunk of body) length += chunk.length
    expect(length).toBe(large.length)
  })

  it('ends a call that is cancelled in the middle', async () => {
    const encoded = gzipSync(Buffer.alloc(8 * 1024 * 1024, 'text that shrinks '))
    const server = await startWebServer((_exchange, reply) => {
      reply.statusCode = 200
      reply.setHeader('content-encoding', 'gzip')
      // The rest never comes.
      reply.write(encoded.subarray(0, encoded.length / 2))
    })
    const dispatcher = composeAgent(server, interceptors.decompress())
    const aborter = new AbortController()
    const { signal } = aborter
    const { body } = await dispatcher.request({ origin: server.origin, path: '/', method: 'GET', signal })
    const reason = new Error('enough')
    aborter.abort(reason)
    expect(await toReason(body.text())).toBe(reason)
  })
})
