import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Flag, frames } from '../../../src/testing/frames.ts'
import { createFaultServer } from '../../../src/testing/index.ts'
import { CANCEL, ENHANCE_YOUR_CALM } from '../../support/peers/error-codes.ts'
import { RawClient, start } from './rig.ts'

describe('what a fault server keeps', () => {
  it('of requests: all of them in the order in which they came, as they were', async () => {
    const server = await start()
    const client = await RawClient.open(server)
    client.ask(1, 'POST /a', [
      ['X-B', '1'],
      ['x-b', '2'],
      ['x-a', '3'],
    ])
    client.write(
      frames.data(1, 'one '),
      frames.data(1, 'zw\u00f6lf'),
      frames.headers(1, [['x-sum', '2']], Flag.END_STREAM),
    )
    client.ask(3, 'GET /b')
    client.ask(5, 'GET /b')
    await client.response(5)
    const [first, second, third] = server.requests
    expect(first).toMatchObject({
      ...{ index: 0, count: 1, id: 1, method: 'POST', path: '/a', text: 'one zw\u00f6lf', isComplete: true },
      headers: [
        ['X-B', '1'],
        ['x-b', '2'],
        ['x-a', '3'],
      ],
      trailers: [['x-sum', '2']],
    })
    expect(first?.field(':authority')).toBe('a')
    expect(first?.body).toEqual(Buffer.from('one zw\u00f6lf'))
    expect([second?.count, third?.count]).toEqual([1, 2])
    expect(first?.receivedAt).toBeLessThanOrEqual(first?.completedAt ?? 0)
    expect(server.ledger).toEqual(['0/1 POST /a', '0/3 GET /b', '0/5 GET /b'])
    expect(server.counts).toEqual({ 'POST /a': 1, 'GET /b': 2 })
    expect(server.request('/b')).toBe(third)
    expect(() => server.request('/c')).toThrow('There is no /c')
  })

  it('of frames: each with its name, its connection and when it came', async () => {
    const server = await start()
    const client = await RawClient.open(server)
    client.write(
      frames.ping(),
      frames.frame(0xbe, 0, 0),
      frames.goAway(3, ENHANCE_YOUR_CALM, 'bye'),
      frames.reset(1, CANCEL),
    )
    await server.waitFor(() => server.frames.some(({ name }) => name === 'RST_STREAM'))
    const names = server.frames.map(({ name }) => name)
    expect(names).toEqual(['SETTINGS', 'PING', '190', 'GOAWAY', 'RST_STREAM'])
    expect(server.frames.every(({ connection, at }) => connection === 0 && at > 0)).toBe(true)
    expect(server.goaways).toMatchObject([{ connection: 0, lastStreamId: 3, code: 11, debugData: 'bye' }])
    expect(server.pings).toHaveLength(1)
    expect(server.connection(0).of('PING')).toEqual(server.pings)
    expect(() => server.connection(1)).toThrow('There are only 1 connections')
  })

  it('of what is not HTTP/2: a problem, and the connection is closed', async () => {
    const server = await start()
    const socket = connect(server.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\n\r\n')
    socket.resume()
    await once(socket, 'close')
    expect(server.problems).toEqual([expect.stringContaining('Not the HTTP/2 preface: "GET /')])
    await expect(server.waitFor('/', { timeout: 1 })).rejects.toThrow('Not the HTTP/2 preface')
  })
})

describe('a wait', () => {
  it('for a request › has it, whether it came before or comes', async () => {
    const server = await start()
    const early = server.waitFor('POST /a')
    const client = await RawClient.open(server)
    client.ask(1, 'POST /a')
    expect((await early).id).toBe(1)
    expect((await server.waitFor(0)).path).toBe('/a')
  })

  it('for a condition › has what it returned', async () => {
    const server = await start()
    const waiting = server.waitFor(() => server.connections[0])
    await RawClient.open(server)
    expect((await waiting).index).toBe(0)
  })

  it('in vain › says for what, and what came', async () => {
    const server = await start({ h2c: true, timeout: 1 })
    await expect(server.waitFor('/a')).rejects.toThrow('Waited 1 ms for: /a. Last requests: no request')
    await expect(server.waitFor(() => server.goaways.length === 3)).rejects.toThrow(
      'server.goaways.length === 3',
    )
  })

  it('fails when the server closes', async () => {
    const server = await createFaultServer({ h2c: true })
    const waiting = server.waitFor('/a')
    await server.close()
    await expect(waiting).rejects.toThrow('was closed while')
  })

  it.each([
    'sync',
    'async',
  ])('throws the error of a script at once, and close() does no more: %s', async (kind) => {
    const server = await createFaultServer({ h2c: true })
    const error = new Error('of the script')
    server.onRequest('/', async () => {
      if (kind === 'async') await Promise.resolve()
      throw error
    })
    const client = await RawClient.open(server)
    client.ask(1, 'GET /')
    expect(await client.response(1)).toBe('RST_STREAM')
    await expect(server.waitFor('/never')).rejects.toBe(error)
    await server.close()
  })

  it('that nobody has › leaves the errors of scripts to close()', async () => {
    const server = await createFaultServer({ h2c: true })
    const thrown = [new Error('one'), new Error('two')]
    server.onRequest('*', ({ index }) => {
      throw thrown[index]
    })
    const client = await RawClient.open(server)
    client.ask(1, 'GET /')
    client.ask(3, 'GET /')
    await Promise.all([1, 3].map((id) => client.response(id)))
    await expect(server[Symbol.asyncDispose]()).rejects.toMatchObject({ errors: thrown })
  })
})
