/**
 * RFC 9113 §8.2, §8.3 and §8.5, as requests of the public API keep to them on the wire; and §8.1.1, as it hears of a
 * bad response.
 */

import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import { frames } from '../../src/testing/frames.ts'
import type { DispatchOptions } from '../../types/index.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { PROTOCOL_ERROR } from '../support/peers/error-codes.ts'
import { ask, PATIENT, SERVE, startHarness, startPeer, toOutcome } from '../support/peers/peer-rig.ts'

/** A peer and a client of engine `wire`. */
async function start(script: ConnectionScript = SERVE) {
  const peer = await startPeer(script)
  const harness = startHarness(peer, { engine: 'wire', ...PATIENT })
  return { peer, harness }
}

/** What a request has on the wire; null where it was refused before. */
async function toFields(
  options: Partial<DispatchOptions>,
): Promise<readonly (readonly [string, string])[] | null> {
  const { peer, harness } = await start()
  try {
    await harness.dispatch(options).settled
  } catch (error) {
    expect(error).toBeInstanceOf(errors.InvalidArgumentError)
    expect(peer.requests).toEqual([])
    return null
  }
  return peer.requests[0]?.fields ?? []
}

describe('the pseudo-header fields of a request', () => {
  it('RFC 9113 §8.3.1: are :method, :scheme, :authority and :path, once each, before all other fields', async () => {
    const { peer, harness } = await start()
    await ask(harness, 'GET /a?b=c', { headers: { x: '1', accept: '*/*' } }).settled
    expect(peer.requests[0]?.fields).toEqual([
      ...[
        [':method', 'GET'],
        [':scheme', 'http'],
        [':authority', new URL(peer.origin).host],
        [':path', '/a?b=c'],
      ],
      ...[
        ['x', '1'],
        ['accept', '*/*'],
      ],
    ])
  })

  it('RFC 9113 §8.3.1: have no empty :path', async () => {
    for (const path of ['', '?a=b']) {
      const fields = await toFields({ path })
      const sent = fields?.find(([name]) => name === ':path')?.[1]
      expect(sent === undefined || sent.startsWith('/')).toBe(true)
    }
  })

  it('RFC 9113 §8.3.1: have the :path * for an OPTIONS of the server as a whole', async () => {
    const fields = await toFields({ method: 'OPTIONS', path: '*' })
    expect(fields?.find(([name]) => name === ':path')).toEqual([':path', '*'])
  })

  it('RFC 9113 §8.3.1: have the authority of a host field, and no host beside it', async () => {
    const fields = await toFields({ headers: { Host: 'other.test' } })
    expect(fields?.filter(([name]) => name === ':authority' || name === 'host')).toEqual([
      [':authority', 'other.test'],
    ])
  })

  it('RFC 9113 §8.3.1: have no user and password in :authority', async () => {
    expect(await toFields({ headers: { host: 'user:secret@other.test' } })).toBeNull()
    expect(await toFields({ headers: { host: 'user@other.test' } })).toBeNull()
  })

  it.each([
    ':method',
    ':status',
    ':path',
    ':protocol',
    ':mine',
    ':',
  ])('RFC 9113 §8.3: are never the caller’s own, such as %s', async (name) => {
    expect(await toFields({ headers: { [name]: 'x' } })).toBeNull()
    expect(await toFields({ method: 'POST', body: 'x', trailers: { [name]: 'x' } })).toBeNull()
  })
})

describe('the fields of a request', () => {
  it('RFC 9113 §8.2: have names in lower case, also in trailers', async () => {
    const { peer, harness } = await start()
    await ask(harness, 'POST /', { headers: { 'X-Name': 'Value' }, trailers: { 'X-SUM': 'S' } }).settled
    expect(peer.requests[0]?.field('x-name')).toBe('Value')
    expect(peer.requests[0]?.trailers).toEqual([['x-sum', 'S']])
    for (const [name] of peer.requests[0]?.fields ?? []) expect(name).toBe(name.toLowerCase())
  })

  it('RFC 9113 §8.2.1: have no octet that no name and no value may have', async () => {
    for (const name of ['a b', 'a:b', 'ä', 'a\0', 'a\n', ''])
      expect(await toFields({ headers: { [name]: 'x' } })).toBeNull()
    for (const value of ['a\0b', 'a\nb', 'a\rb']) expect(await toFields({ headers: { a: value } })).toBeNull()
    const fields = await toFields({ headers: { a: ' \tb\t ' } })
    expect(fields === null || fields.some(([name, value]) => name === 'a' && value === 'b')).toBe(true)
  })

  it.each([
    ['connection', 'upgrade'],
    ['connection', 'close'],
    ['keep-alive', 'timeout=5'],
    ['proxy-connection', 'keep-alive'],
    ['transfer-encoding', 'chunked'],
    ['upgrade', 'h2c'],
    ['te', 'gzip'],
  ])('RFC 9113 §8.2.2: are not those of a connection: %s: %s is refused, or not sent', async (name, value) => {
    const fields = await toFields({ headers: { [name]: value } })
    expect(fields === null || fields.every(([sent]) => sent !== name)).toBe(true)
  })

  it('RFC 9113 §8.2.2: may have te: trailers', async () => {
    expect(await toFields({ headers: { te: 'trailers' } })).toContainEqual(['te', 'trailers'])
  })
})

describe('a response of another length than its content-length', () => {
  /** Responses `/bad` as a test says, and all else politely. */
  function startBad(say: (peerSays: (...bytes: Buffer[]) => void, id: number) => void) {
    return start({
      onComplete: (stream, connection) => {
        if (stream.path === '/bad') say((...bytes) => connection.write(...bytes), stream.id)
        else stream.respond()
      },
    })
  }

  it.each([
    { what: 'longer', texts: ['hello', 'more'] },
    { what: 'shorter', texts: ['hel', ''] },
    { what: 'missing', texts: [''] },
  ])('RFC 9113 §8.1.1: is no response: its call fails, others do not ($what)', async ({ texts }) => {
    const { peer, harness } = await startBad((write, id) => {
      const header = frames.headers(id, [
        [':status', '200'],
        ['content-length', '5'],
      ])
      write(header, ...texts.map((text, at) => frames.data(id, text, at === texts.length - 1 ? 1 : 0)))
    })
    const [bad, good] = [ask(harness, 'GET /bad'), ask(harness, 'GET /good')]
    await Promise.all([bad.settled, good.settled])
    expect(bad.error).toBeInstanceOf(errors.ResponseContentLengthMismatchError)
    expect(toOutcome(good)).toBe('GET /good')
    expect(peer.connections).toHaveLength(1)
  })

  it('RFC 9113 §8.1.1: is reset with PROTOCOL_ERROR where it goes on beyond that', async () => {
    const { peer, harness } = await startBad((write, id) => {
      write(
        frames.headers(id, [
          [':status', '200'],
          ['content-length', '5'],
        ]),
        frames.data(id, 'too long'),
      )
    })
    await ask(harness, 'GET /bad').settled
    await peer.waitFor(() => peer.request('/bad').resetCode !== null)
    expect(peer.request('/bad').resetCode).toBe(PROTOCOL_ERROR)
  })

  it('RFC 9113 §8.1.1: is reset with PROTOCOL_ERROR where it ends too early, and the request has not ended', async () => {
    const { peer, harness } = await start({
      onRequest: ({ id }, connection) => {
        connection.write(
          frames.headers(id, [
            [':status', '200'],
            ['content-length', '5'],
          ]),
          frames.data(id, 'hel', 1),
        )
      },
    })
    const call = ask(harness, 'POST /bad', { body: new Readable({ read() {} }) })
    await call.settled
    expect(call.error).toBeInstanceOf(errors.ResponseContentLengthMismatchError)
    await peer.waitFor(() => peer.request('/bad').resetCode !== null)
    expect(peer.request('/bad').resetCode).toBe(PROTOCOL_ERROR)
  })
})

describe('a malformed response', () => {
  it('RFC 9113 §8.1.1: is no response: its call fails with PROTOCOL_ERROR, the stream is reset, and others go on', async () => {
    const { peer, harness } = await start({
      onComplete: (stream) => {
        if (stream.path === '/bad') stream.head(200, [['Bad', 'name']])
        else stream.respond()
      },
    })
    const [bad, good] = [ask(harness, 'GET /bad'), ask(harness, 'GET /good')]
    await Promise.all([bad.settled, good.settled])
    expect(bad.error).toBeInstanceOf(errors.StreamError)
    expect(bad.error).toMatchObject({ http2ErrorCode: PROTOCOL_ERROR, processed: 'yes' })
    expect(bad.events).toEqual(['start', 'error'])
    expect(toOutcome(good)).toBe('GET /good')
    expect(await toReset(peer, '/bad')).toBe(PROTOCOL_ERROR)
  })

  async function toReset(peer: FaultServer, path: string): Promise<number | null> {
    await peer.waitFor(() => peer.request(path).resetCode !== null)
    return peer.request(path).resetCode
  }

  it('RFC 9113 §8.5: of a tunnel is one that has HEADERS behind its first', async () => {
    const { peer, harness } = await start({
      onRequest: (stream, connection) => {
        if (stream.method === 'CONNECT') {
          connection.write(frames.headers(stream.id, [[':status', '200']]), frames.data(stream.id, 'text'))
          connection.write(frames.headers(stream.id, [['a', 'b']], 1))
        } else stream.respond()
      },
    })
    const tunnel = new Recorder()
    const ended = new Promise<Error | null>((resolve) => {
      Object.assign(tunnel, {
        onRequestUpgrade: (
          _controller: unknown,
          _status: number,
          _headers: unknown,
          socket: NodeJS.ReadWriteStream,
        ) => {
          socket
            .on('error', resolve)
            .on('end', () => resolve(null))
            .resume()
        },
      })
    })
    harness.dispatch({ method: 'CONNECT', path: 'a.test:80' }, tunnel)
    expect(await ended).toMatchObject({ http2ErrorCode: PROTOCOL_ERROR })
    const [connect] = peer.requests
    expect(connect?.fields).toEqual([
      [':method', 'CONNECT'],
      [':authority', 'a.test:80'],
    ])
    await peer.waitFor(() => connect?.resetCode !== null)
    expect(connect?.resetCode).toBe(PROTOCOL_ERROR)
    const sibling = ask(harness, 'GET /')
    await sibling.settled
    expect(toOutcome(sibling)).toBe('GET /')
    expect(peer.connections).toHaveLength(1)
  })
})
