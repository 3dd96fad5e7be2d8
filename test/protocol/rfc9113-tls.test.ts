/**
 * RFC 9113 §3.2 and §9.2: what a client says in its TLS handshake, and whom it takes. Node's OpenSSL does it; the
 * options are ours.
 */

import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { TLSSocket, TlsOptions } from 'node:tls'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errors } from '../../src/index.ts'
import { Harness } from '../support/clients/engines.ts'
import { PATIENT } from '../support/peers/peer-rig.ts'
import { toCertificate } from '../support/servers/server.ts'
import { frames } from './support-connection.ts'

/** Types of extensions (RFC 8446 §4.2). */
const Extension = { SERVER_NAME: 0, GROUPS: 10, ALPN: 16, VERSIONS: 43, POST_HANDSHAKE_AUTH: 49 } as const
const TLS_1_2 = 0x0303
const TLS_1_3 = 0x0304
const ECDHE_RSA_AES128_GCM_SHA256 = 0xc02f
const P_256 = 0x0017

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function start(port: number, ca: string): Harness {
  const harness = new Harness(`https://localhost:${port}`, { engine: 'wire', ...PATIENT, connect: { ca } })
  onTestFinished(() => harness.scheduler.destroy(null))
  return harness
}

/** Numbers of two octets each. */
function toNumbers(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length >> 1 }, (_, i) => bytes.readUInt16BE(2 * i))
}

interface ClientHello {
  readonly ciphers: readonly number[]
  readonly compressions: readonly number[]
  readonly extensions: ReadonlyMap<number, Buffer>
}

/** RFC 8446 §4.1.2, behind the headers of its record and of its handshake message. */
function toClientHello(record: Buffer): ClientHello {
  let at = 5 + 4 + 2 + 32
  const take = (lengthSize: number): Buffer => {
    const size = record.readUIntBE(at, lengthSize)
    at += lengthSize + size
    return record.subarray(at - size, at)
  }
  take(1)
  const ciphers = toNumbers(take(2))
  const compressions = [...take(1)]
  const end = at + 2 + record.readUInt16BE(at)
  at += 2
  const extensions = new Map<number, Buffer>()
  while (at < end) {
    const type = record.readUInt16BE(at)
    at += 2
    extensions.set(type, take(2))
  }
  return { ciphers, compressions, extensions }
}

/** The first bytes that the client sends; the peer sends nothing. */
async function hear(): Promise<ClientHello> {
  const server = createServer()
  const record = new Promise<Buffer>((resolve) => {
    server.on('connection', (socket) => {
      let bytes = Buffer.alloc(0)
      socket.on('data', (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk])
        if (bytes.length < 5 || bytes.length < 5 + bytes.readUInt16BE(3)) return
        resolve(bytes)
        socket.destroy()
      })
    })
  })
  const { cert } = await toCertificate()
  const call = start(await listen(server), cert).dispatch()
  const hello = toClientHello(await record)
  await call.settled
  expect(call.error).toBeInstanceOf(errors.ConnectError)
  return hello
}

describe('the ClientHello', () => {
  it('RFC 9113 §3.2: offers h2 by ALPN, and never h2c', async () => {
    const { extensions } = await hear()
    expect(extensions.get(Extension.ALPN)?.toString('latin1', 2)).toBe('\x02h2')
  })

  it('RFC 9113 §9.2: offers TLS 1.2 and later alone', async () => {
    const { extensions } = await hear()
    expect(toNumbers(extensions.get(Extension.VERSIONS)?.subarray(1) ?? Buffer.alloc(0))).toEqual([
      TLS_1_3,
      TLS_1_2,
    ])
  })

  it('RFC 9113 §9.2: names the server', async () => {
    const { extensions } = await hear()
    expect(extensions.get(Extension.SERVER_NAME)?.toString('latin1', 5)).toBe('localhost')
  })

  it('RFC 9113 §9.2.1: offers no compression', async () => {
    expect((await hear()).compressions).toEqual([0])
  })

  it('RFC 9113 §9.2.2: offers TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 with the curve P-256', async () => {
    const { ciphers, extensions } = await hear()
    expect(ciphers).toContain(ECDHE_RSA_AES128_GCM_SHA256)
    expect(toNumbers(extensions.get(Extension.GROUPS)?.subarray(2) ?? Buffer.alloc(0))).toContain(P_256)
  })

  it('RFC 9113 §9.2.3: offers no authentication after the handshake: OpenSSL ends the connection at a request for it', async () => {
    expect((await hear()).extensions.has(Extension.POST_HANDSHAKE_AUTH)).toBe(false)
  })
})

describe('a connection over TLS', () => {
  async function startTls(options: TlsOptions, onSecure: (socket: TLSSocket) => void = () => {}) {
    const { private: key, cert } = await toCertificate()
    const server = createTlsServer({ key, cert, ALPNProtocols: ['h2'], ...options }, (socket) => {
      socket.on('error', () => {})
      onSecure(socket)
    })
    server.on('tlsClientError', () => {})
    return start(await listen(server), cert)
  }

  it('RFC 9113 §9.2: is not made with a server of TLS 1.1', async () => {
    const ciphers = 'DEFAULT@SECLEVEL=0'
    const call = (await startTls({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers })).dispatch()
    await call.settled
    expect(call.error).toBeInstanceOf(errors.ConnectError)
  })

  it('RFC 9113 §9.2.1: is never negotiated again', async () => {
    let resolve: (error: Error | null) => void = () => {}
    const refusal = new Promise<Error | null>((settle) => {
      resolve = settle
    })
    const harness = await startTls({ maxVersion: 'TLSv1.2' }, (socket) => {
      socket.on('error', resolve)
      socket.write(frames.settings())
      // The client's preface says that its handshake is over as well.
      socket.once('data', () => socket.renegotiate({}, resolve))
    })
    const call = harness.dispatch()
    expect(await refusal).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' })
    await call.settled
    expect(call.error).toBeInstanceOf(errors.SocketError)
  })
})
