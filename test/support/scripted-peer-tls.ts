/** TLS beneath a scripted peer, and what can go wrong in it. */

import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { PeerOptions } from './scripted-peer.ts'
import type { PeerConnection } from './scripted-peer-connection.ts'
import { toCertificate } from './server.ts'

/** A record of application data that no key fits (RFC 8446 §5.2). */
const GARBAGE = Buffer.from([0x17, 3, 3, 0, 32, ...Array<number>(32).fill(0xdd)])

/** What goes through it comes from the socket, or from a test. */
class Splice extends Duplex {
  readonly #socket: Socket

  constructor(socket: Socket) {
    super()
    this.#socket = socket
    socket.on('data', (bytes: Buffer) => this.push(bytes))
    socket.on('end', () => this.push(null))
    socket.on('close', () => this.destroy())
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    if (this.#socket.destroyed) callback()
    else this.#socket.write(bytes, () => callback())
  }

  override _final(callback: () => void): void {
    this.#socket.end()
    callback()
  }
}

/** How a TLS peer listens, and whom its clients have to trust. */
export interface TlsPeer {
  readonly options: PeerOptions
  readonly ca: string
  /** Makes the peer's side of the connection send a fatal alert, `bad_record_mac`, and leaves the socket open. */
  alert(connection: PeerConnection): void
}

/** TLS with ALPN `h2`, and a certificate for `localhost`. */
export async function toTlsPeer(): Promise<TlsPeer> {
  const { private: key, cert } = await toCertificate()
  const splices = new WeakMap<Socket, Splice>()
  const wrap = (socket: Socket): Duplex => {
    const splice = new Splice(socket)
    splices.set(socket, splice)
    splice.on('error', () => {})
    return new TLSSocket(splice, { isServer: true, key, cert, ALPNProtocols: ['h2'] })
  }
  return {
    options: { scheme: 'https', wrap },
    ca: cert,
    alert: ({ socket }) => splices.get(socket)?.push(GARBAGE),
  }
}
