import { once } from 'node:events'
import type { ClientHttp2Session, OutgoingHttpHeaders } from 'node:http2'
import { connect } from 'node:http2'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import { Setting } from '../../src/testing/frames.ts'
import { encodeFields, HpackDecoder } from '../../src/testing/hpack.ts'
import { SERVE, startPeer } from '../support/peers/peer-rig.ts'

describe('the HPACK decoder of the tests', () => {
  it('reads the requests of RFC 7541, appendix C.4', () => {
    const decoder = new HpackDecoder()
    const read = (hex: string) => decoder.decode(Buffer.from(hex, 'hex')).map((field) => field.join(': '))
    const first = [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com']
    expect(read('828684418cf1e3c2e5f23a6ba0ab90f4ff')).toEqual(first)
    expect(read('828684be5886a8eb10649cbf')).toEqual([...first, 'cache-control: no-cache'])
    expect(read('828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf')).toEqual([
      ':method: GET',
      ':scheme: https',
      ':path: /index.html',
      ':authority: www.example.com',
      'custom-key: custom-value',
    ])
  })

  it('reads every octet that the encoder of node:http2 may write, in one table over many requests', async () => {
    const octets = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))
    const value = octets.filter((char) => char >= ' ' && char !== '\x7f').join('')
    const { peer, send } = await startClient()
    for (let i = 0; i < 3; i++) await send({ ':path': `/${i}`, 'x-value': `a${value}${value}z` })
    expect(peer.requests.map(({ path }) => path)).toEqual(['/0', '/1', '/2'])
    for (const stream of peer.requests) expect(stream.field('x-value')).toBe(`a${value}${value}z`)
  })

  it('reads what the encoder of the tests has written', () => {
    const fields = [[':status', '200'] as const, ['x-long', 'v'.repeat(5_000)] as const]
    expect(new HpackDecoder().decode(encodeFields(fields))).toEqual(fields)
  })

  it.each([
    { what: 'an entry that there is none of', hex: 'ff7f' },
    { what: 'a string that is cut off', hex: '000561' },
    { what: 'padding that is no prefix of EOS', hex: '00810081a0' },
    { what: 'a table larger than allowed', hex: '3fe2ff03' },
  ])('refuses $what', ({ hex }) => {
    expect(() => new HpackDecoder().decode(Buffer.from(hex, 'hex'))).toThrow()
  })
})

/** A bare client of node's. */
async function startClient(): Promise<{
  peer: FaultServer
  client: ClientHttp2Session
  send(headers: OutgoingHttpHeaders): Promise<void>
}> {
  const peer = await startPeer(SERVE)
  const client = connect(peer.origin)
  client.on('error', () => {})
  onTestFinished(() => client.destroy())
  const send = async (headers: OutgoingHttpHeaders): Promise<void> => {
    const stream = client.request(headers)
    stream.resume()
    await once(stream, 'close')
  }
  return { peer, client, send }
}

describe('the ledger of a scripted peer', () => {
  it('counts a request twice that came twice', async () => {
    const { peer, send } = await startClient()
    await send({ ':path': '/a' })
    await send({ ':path': '/b' })
    await send({ ':path': '/a' })
    expect(peer.ledger).toEqual(['0/1 GET /a', '0/3 GET /b', '0/5 GET /a'])
    expect(peer.counts).toEqual({ 'GET /a': 2, 'GET /b': 1 })
  })

  it('counts how many are open at once, also those that were reset', async () => {
    const peer = await startPeer({ settings: [[Setting.MAX_CONCURRENT_STREAMS, 10]] })
    const client = connect(peer.origin)
    client.on('error', () => {})
    onTestFinished(() => client.destroy())
    const streams = [0, 1, 2].map(() => client.request().on('error', () => {}))
    await peer.waitFor(() => peer.requests.length === 3)
    const connection = peer.connection(0)
    expect([connection.open, connection.maxOpen]).toEqual([3, 3])
    streams[0]?.close(8)
    await peer.waitFor(() => peer.requests[0]?.resetCode === 8)
    peer.requests[1]?.respond()
    peer.requests[2]?.reset(7)
    expect([connection.open, connection.maxOpen]).toEqual([0, 3])
  })

  it('lists what it has seen when it waits in vain', async () => {
    const peer = await startPeer(SERVE, { timeout: 1 })
    await expect(peer.waitFor(() => peer.requests.length === 1)).rejects.toThrow('peer.requests.length === 1')
  })
})
