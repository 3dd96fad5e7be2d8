import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { toTlsPeer } from '../../support/peers/peer-tls.ts'
import { RawClient, start } from './rig.ts'

describe('rules for sockets', () => {
  it('run before anything is said, and the server goes on when they have decided nothing', async () => {
    const server = await start()
    const order: string[] = []
    server.onSocket('*', async (socket) => {
      order.push(`socket ${socket.index}`)
      await socket.delay(5)
      order.push('delayed')
    })
    server.onConnection('*', () => order.push('connection'))
    const client = await RawClient.open(server)
    client.ask(1, 'GET /')
    expect(await client.response(1)).toBe('200 GET /')
    expect(order).toEqual(['socket 0', 'delayed', 'connection'])
  })

  it('can say anything, and close or break it', async () => {
    const server = await start()
    server.onSocket(0, (socket) => {
      socket.send('hello')
      socket.end()
    })
    server.onSocket(1, (socket) => socket.break())
    const first = connect(server.port, '127.0.0.1')
    first.setEncoding('utf8')
    const [text] = await once(first, 'data')
    await once(first, 'end')
    const second = connect(server.port, '127.0.0.1')
    const [error] = await once(second, 'error')
    expect([text, error.code]).toEqual(['hello', 'ECONNRESET'])
    expect(server.connections).toEqual([])
  })

  // OpenSSL names a version of the protocol in the codes, and not the same one in each of its versions.
  it.each([
    ['handshake_failure', /^ERR_SSL_\w+(\/TLS)?_ALERT_HANDSHAKE_FAILURE$/],
    ['certificate_required', /^ERR_SSL_\w+_ALERT_CERTIFICATE_REQUIRED$/],
    ['internal_error', /^ERR_SSL_\w+_ALERT_INTERNAL_ERROR$/],
  ] as const)('can send the TLS alert %s', async (name, code) => {
    const tls = await toTlsPeer()
    const server = await start(tls.options)
    server.onSocket('*', (socket) => socket.alert(name))
    const socket = connectTls({ port: server.port, host: 'localhost', ca: tls.ca, ALPNProtocols: ['h2'] })
    const [error] = await once(socket, 'error')
    expect(error.code).toMatch(code)
  })

  it('with an alert that is none › fail', async () => {
    const server = await start()
    // @ts-expect-error There is no such alert.
    server.onSocket('*', (socket) => socket.alert('no_such_alert'))
    connect(server.port, '127.0.0.1').on('error', () => {})
    await expect(server.waitFor(() => false)).rejects.toThrow(
      'Unknown alert "no_such_alert": expected one of unexpected_message',
    )
  })
})

describe('a GOAWAY of a fault server', () => {
  it.each([
    ['never', ['HEADERS 1', 'GOAWAY', 'DATA 1', 'PING'], false],
    ['when drained', ['HEADERS 1', 'GOAWAY', 'DATA 1'], true],
    ['at once', ['HEADERS 1', 'GOAWAY'], true],
  ] as const)('closes the connection › %s', async (closes, names, ends) => {
    const server = await start()
    server.onRequest('/held', async (stream, connection) => {
      stream.head(200)
      connection.goAway({ closes })
      await stream.end('x')
      void connection.ping()
    })
    const client = await RawClient.open(server)
    await client.until(() => client.names.length === 2)
    client.ask(1, 'GET /held')
    await client.until(() => client.socket.readableEnded || client.names.includes('PING'))
    expect([client.names.slice(2), client.socket.readableEnded]).toEqual([names, ends])
  })

  it('keeps the requests above it, and does nothing about them', async () => {
    const server = await start()
    server.onConnection('*', (connection) => connection.goAway({ lastStreamId: 1 }))
    const client = await RawClient.open(server)
    client.ask(1, 'GET /taken')
    client.ask(3, 'GET /above')
    expect(await client.response(1)).toBe('200 GET /taken')
    await server.waitFor('/above')
    expect(server.ledger).toEqual(['0/1 GET /taken', '0/3 GET /above'])
    expect(client.names).not.toContain('HEADERS 3')
  })
})
