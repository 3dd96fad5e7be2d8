import { describe, expect, it, onTestFinished } from 'vitest'
import type { FaultServer, FaultServerOptions } from '../../src/testing/index.ts'
import { createFaultServer } from '../../src/testing/index.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'
import { CLIENTS, fetchByHttp1 } from './fault-clients.ts'

/** Milliseconds: nothing here waits for it. */
const LIMIT = 30_000

async function start(options: FaultServerOptions): Promise<FaultServer> {
  const server = await createFaultServer(options)
  onTestFinished(() => server.close())
  return server
}

const CASES = CLIENTS.flatMap((client) => client.transports.map((transport) => ({ ...client, transport })))

describe.each(CASES)('a fault server and $name over $transport', ({
  ask,
  transport,
  isLacking,
  losesRetired,
}) => {
  it.skipIf(isLacking)('serves, delays, resets, cuts and retires', async () => {
    const tls = transport === 'TLS' ? await toTlsPeer() : null
    const server = await start(tls?.options ?? { h2c: true })
    server
      .onRequest('/named', (stream) =>
        stream.respond({
          status: 203,
          headers: [['x-name', 'value']],
          body: 'named',
          trailers: { 'x-sum': '1' },
        }),
      )
      .onRequest('/late', async (stream) => {
        await stream.delay(20)
        stream.respond('late')
      })
      .onRequest('/reset', (stream) => {
        stream.head(200)
        void stream.data('a part')
        stream.reset('INTERNAL_ERROR')
      })
      .onRequest('/retired', (stream, connection) => {
        connection.goAway({ closes: 'when drained' })
        stream.respond('retired')
      })
    const paths = ['/polite', '/named?a=b', '/late', '/reset', '/retired', '/next']
    const requests = paths.map((path) => `GET ${path}`)
    const answers = await ask({
      origin: server.origin,
      ca: tls?.ca ?? null,
      requests,
      limit: LIMIT,
      pause: 0,
    })

    const failed = { status: expect.any(Number), text: expect.any(String), error: expect.stringMatching(/./) }
    expect(answers).toMatchObject([
      { status: 200, text: 'GET /polite', error: '' },
      { status: 203, text: 'named', error: '' },
      { status: 200, text: 'late', error: '' },
      failed,
      losesRetired ? expect.any(Object) : { status: 200, text: 'retired', error: '' },
      { status: 200, text: 'GET /next', error: '' },
    ])
    // A client may ask for what was reset once more.
    expect(server.requests.map(({ path }) => path).filter((path) => path !== '/reset')).toEqual(
      paths.filter((path) => path !== '/reset'),
    )
    expect(server.request('/named').field(':authority')).toBe(new URL(server.origin).host)
    expect(server.request('/next').connection.index).toBeGreaterThan(
      server.request('/retired').connection.index,
    )
    expect(server.problems).toEqual([])
  })
})

describe('a fault server that serves HTTP/1.1 as well', () => {
  it.each([
    'h2c',
    'TLS',
  ] as const)('serves the built-in fetch and a client of HTTP/2 over %s', async (transport) => {
    const tls = transport === 'TLS' ? await toTlsPeer() : null
    const server = await start({
      ...(tls?.options ?? { h2c: true }),
      http1: (request, response) => response.end(`${request.httpVersion} ${request.url}`),
    })
    const to = { origin: server.origin, ca: tls?.ca ?? null, limit: LIMIT, pause: 0 }
    const newer = CLIENTS.find(({ name }) => name === 'node:http2')
    expect(await fetchByHttp1({ ...to, requests: ['GET /1'] })).toMatchObject([
      { status: 200, text: '1.1 /1', error: '' },
    ])
    expect(await newer?.ask({ ...to, requests: ['GET /2'] })).toMatchObject([
      { status: 200, text: 'GET /2', error: '' },
    ])
    expect(server.ledger).toEqual(['0/1 GET /2'])
  })

  it('says who spoke HTTP/1.1 where it serves none', async () => {
    const server = await start({ h2c: true })
    await expect(fetch(server.origin)).rejects.toThrow()
    expect(server.problems).toEqual([
      expect.stringMatching(/^connection 0: Not the HTTP\/2 preface: "GET \/ HTTP\/1.1/),
    ])
  })
})
