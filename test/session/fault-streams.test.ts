import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Client } from '../../src/index.ts'
import { createFaultServer } from '../../src/testing/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startScene } from '../support/peers/fault-rig.ts'

describe.each(ENGINES)('a fault server and engine %s', (engine) => {
  async function start() {
    const server = await createFaultServer({ h2c: true, settings: { enableConnectProtocol: 1 } })
    const client = new Client(server.origin, { engine })
    onTestFinished(async () => {
      await client.destroy()
      await server.close()
    })
    return { server, client }
  }

  it('SETTINGS_MAX_CONCURRENT_STREAMS to 1, and back', async () => {
    const { server, ask, toEnd } = await startScene({ engine })
    expect(await toEnd(ask('GET /first'))).toBe('200 GET /first')
    const connection = server.connection(0)
    expect(await connection.settings({ maxConcurrentStreams: 1 })).toBe(true)
    server.onRequest('/held', async (stream) => {
      await server.waitFor(() => server.requests.length === 4)
      await stream.respond()
    })
    server.onRequest('/next', async (stream) => {
      await connection.settings({ maxConcurrentStreams: 100 })
      await stream.respond()
    })
    const calls = ['GET /next', 'GET /a', 'GET /b', 'GET /c'].map((what) => ask(what))
    expect(await Promise.all(calls.map(toEnd))).toEqual([
      '200 GET /next',
      '200 GET /a',
      '200 GET /b',
      '200 GET /c',
    ])
    // One at a time until the SETTINGS of the second request, and then all that waited.
    expect(server.ledger.slice(0, 2)).toEqual(['0/1 GET /first', '0/3 GET /next'])
    expect(connection.maxOpen).toBeGreaterThan(1)
    expect(server.connections).toHaveLength(1)
  })

  it('an extended CONNECT, whose tunnel is an echo', async () => {
    const { server, client } = await start()
    server.onRequest('/chat', async (stream) => {
      stream.accept({ 'x-protocol': 'chat' })
      await stream.echo()
    })
    const { headers, socket } = await client.upgrade({ path: '/chat', protocol: 'websocket' })
    socket.end('there and back')
    expect([headers['x-protocol'], await text(socket)]).toEqual(['chat', 'there and back'])
    expect(server.request('/chat').field(':protocol')).toBe('websocket')
  })

  it('a CONNECT, whose tunnel is reset', async () => {
    const { server, client } = await start()
    server.onRequest('*', async (stream) => {
      stream.accept()
      for await (const chunk of stream) {
        await stream.data(chunk)
        stream.reset('CONNECT_ERROR')
      }
    })
    const { socket } = await client.connect({ path: 'a.example:443' })
    socket.write('hello')
    socket.resume()
    const [error] = await once(socket, 'error')
    expect(error).toMatchObject({ name: 'StreamError', http2ErrorCode: 10, processed: 'yes' })
    expect(server.requests[0]?.text).toBe('hello')
  })

  it('a response in this spelling and order, behind informational ones, with trailers', async () => {
    const { server, client } = await start()
    server.onRequest('/', (stream) => {
      stream.inform(103, [['link', '</a>']])
      return stream.respond({
        status: 203,
        headers: [
          ['x-b', '2'],
          ['x-a', '1'],
          ['set-cookie', 'c=1'],
          ['set-cookie', 'd=2'],
        ],
        body: 'body',
        trailers: [['x-sum', '4']],
      })
    })
    const { statusCode, headers, body, trailers } = await client.request({ path: '/', method: 'GET' })
    expect([statusCode, await body.text()]).toEqual([203, 'body'])
    expect(Object.entries(headers)).toEqual([
      ['x-b', '2'],
      ['x-a', '1'],
      ['set-cookie', ['c=1', 'd=2']],
    ])
    expect(trailers).toMatchObject({ 'x-sum': '4' })
  })

  it('an upload that the server reads slowly comes whole', async () => {
    const { server, client } = await start()
    server.onRequest(
      '/',
      async (stream, connection) => {
        connection.pauseReading()
        await stream.delay(20)
        connection.resumeReading()
        if (await stream.whole()) await stream.respond(String(stream.length))
      },
      { at: 'header' },
    )
    const { body } = await client.request({ path: '/', method: 'POST', body: Buffer.alloc(3_000_000) })
    expect(await body.text()).toBe('3000000')
  })
})
