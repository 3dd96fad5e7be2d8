import { describe, expect, it } from 'vitest'
import { Flag, frames } from '../../../src/testing/frames.ts'
import type { FaultServerOptions } from '../../../src/testing/index.ts'
import { createFaultServer } from '../../../src/testing/index.ts'
import { RawClient, start } from './rig.ts'

describe('the options of a fault server', () => {
  const certificate = { key: 'k', cert: 'c' }
  it.each<[string, FaultServerOptions | Record<string, unknown>]>([
    ['either h2c: true, or a key and a cert', {}],
    ['either h2c: true, or a key and a cert', undefined as never],
    ['either h2c: true, or a key and a cert', null as never],
    ['either h2c: true, or a key and a cert', { h2c: true, ...certificate }],
    ['either h2c: true, or a key and a cert', { key: 'k' }],
    ['no option h2C', { h2C: true }],
    ['setting maxStreams', { h2c: true, settings: { maxStreams: 1 } }],
  ])('that make none › are refused: %s', async (message, options) => {
    await expect(createFaultServer(options)).rejects.toThrow(message)
    await expect(createFaultServer(options)).rejects.toThrow(TypeError)
  })

  it('with a key that is none › reject as node does', async () => {
    await expect(createFaultServer(certificate)).rejects.toThrow()
  })
})

describe('rules for requests', () => {
  it.each([
    ['*', ['/a', '/b', '/b?c=1']],
    ['/b', ['/b', '/b?c=1']],
    ['/b?c=1', ['/b?c=1']],
    ['GET /a', ['/a']],
    ['PUT /a', []],
    [1, ['/b']],
    [/^GET \/b/g, ['/b', '/b?c=1']],
    [({ id }: { id: number }) => id === 5, ['/b?c=1']],
  ])('for %s › run for these', async (match, taken) => {
    const server = await start()
    server.onRequest(match, (stream) => stream.respond('ruled'))
    const client = await RawClient.open(server)
    const paths = ['/a', '/b', '/b?c=1']
    for (const [index, path] of paths.entries()) client.ask(2 * index + 1, `GET ${path}`)
    const answers = await Promise.all(paths.map((_, index) => client.response(2 * index + 1)))
    expect(paths.filter((_, index) => answers[index] === '200 ruled')).toEqual(taken)
  })

  it('that are for nothing, or have an option that is none › are refused', async () => {
    const server = await start()
    // @ts-expect-error There is no such option.
    expect(() => server.onRequest('/', () => {}, { time: 1 })).toThrow(
      'onRequest() has no option time; it has at, times',
    )
    // @ts-expect-error There is no such option.
    expect(() => server.onConnection('*', { ackPings: false })).toThrow(
      'onConnection() has no option ackPings',
    )
    expect(() => server.onRequest('path', () => {})).toThrow('such as \'POST /a\', not "path"')
    // @ts-expect-error A rule has to be for something.
    expect(() => server.onRequest(null, () => {})).toThrow(TypeError)
  })

  it('the newest that matches runs, so often as it may', async () => {
    const server = await start()
    server.onRequest('/a', (stream) => stream.respond('older'))
    server.onRequest('/a', (stream) => stream.respond('newer'), { times: 2 })
    const client = await RawClient.open(server)
    for (const id of [1, 3, 5]) client.ask(id, 'GET /a')
    expect(await Promise.all([1, 3, 5].map((id) => client.response(id)))).toEqual([
      '200 newer',
      '200 newer',
      '200 older',
    ])
  })

  it('run when the request is whole, or at its header section', async () => {
    const server = await start()
    server.onRequest('/early', (stream) => stream.respond(`early ${stream.text}`), { at: 'header' })
    server.onRequest('/whole', (stream) => stream.respond(`whole ${stream.text}`))
    const client = await RawClient.open(server)
    client.ask(1, 'POST /early')
    expect(await client.response(1)).toBe('200 early ')
    client.ask(3, 'POST /whole')
    client.write(frames.data(3, 'one '), frames.data(3, 'two', Flag.END_STREAM))
    expect(await client.response(3)).toBe('200 whole one two')
  })

  it('a refusal counts the requests that it is for', async () => {
    const server = await start()
    server.refuse(1, '/a')
    const client = await RawClient.open(server)
    for (const [id, path] of [
      [1, '/b'],
      [3, '/a'],
      [5, '/a'],
    ] as const)
      client.ask(id, `GET ${path}`)
    expect(await Promise.all([1, 3, 5].map((id) => client.response(id)))).toEqual([
      '200 GET /b',
      'RST_STREAM',
      '200 GET /a',
    ])
    expect(server.requests.map(({ isRefused }) => isRefused)).toEqual([false, true, false])
  })

  it('without one › a request gets 200, CONNECT 501, and an expectation 100', async () => {
    const server = await start()
    const client = await RawClient.open(server)
    client.ask(1, 'GET /a?b=1')
    client.ask(3, 'CONNECT /')
    client.ask(5, 'POST /c', [['expect', '100-continue']])
    await client.until(() => client.names.includes('HEADERS 5'))
    client.write(frames.data(5, 'body', Flag.END_STREAM))
    expect(await client.response(1)).toBe('200 GET /a?b=1')
    expect(await client.response(3)).toBe('501')
    expect(await client.response(5)).toBe('100 200 POST /c')
    client.ask(7, 'HEAD /')
    expect(await client.response(7)).toBe('200')
  })

  it('taken away › are as if they had never been', async () => {
    const server = await start()
    server.onRequest('*', (stream) => stream.refuse()).clear()
    const client = await RawClient.open(server)
    client.ask(1, 'GET /')
    expect(await client.response(1)).toBe('200 GET /')
  })
})

describe('rules for connections', () => {
  it('all that match apply, and of an option the last', async () => {
    const server = await start({ h2c: true, settings: { maxConcurrentStreams: 5 } })
    const heard: string[] = []
    server.onConnection('*', { settings: { maxConcurrentStreams: 1 }, onRequest: () => heard.push('first') })
    server.onConnection(1, { settings: [[3, 2]], onRequest: () => heard.push('second') })
    const settings: number[] = []
    for (let index = 0; index < 2; index++) {
      const client = await RawClient.open(server)
      await client.until(() => client.frames.length > 0)
      settings.push(client.frames[0]?.payload.readUInt32BE(2) ?? -1)
      client.ask(1, 'GET /')
      await client.response(1)
    }
    expect(settings).toEqual([1, 2])
    expect(heard).toEqual(['first', 'first', 'second'])
  })

  it('a function runs behind the SETTINGS, and null says nothing at all', async () => {
    const server = await start()
    server.onConnection(0, (connection) =>
      connection.goAway({ lastStreamId: 0, code: 11, closes: 'at once' }),
    )
    const client = await RawClient.open(server)
    await client.until(() => client.socket.readableEnded)
    expect(client.names).toEqual(['SETTINGS', 'GOAWAY'])
    server.onConnection(1, { settings: null })
    const silent = await RawClient.open(server)
    silent.ask(1, 'GET /')
    await server.waitFor(() => server.requests.length === 1)
    expect(silent.reads).toEqual([])
  })
})
