/**
 * The TLS layer of a fault server, and its failures.
 *
 * @module
 */

import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** A record's type, version and length (RFC 8446 §5.1), and 32 octets that no key decrypts. */
const GARBAGE = Buffer.from([0x17, 3, 3, 0, 32, ...Array<number>(32).fill(0xdd)])
const ALERT = [0x15, 3, 3, 0, 2]
const FATAL = 2

/** Alerts that a server can send (RFC 8446 §6). */
export const ALERTS = {
  unexpected_message: 10,
  handshake_failure: 40,
  bad_certificate: 42,
  certificate_revoked: 44,
  certificate_expired: 45,
  illegal_parameter: 47,
  unknown_ca: 48,
  access_denied: 49,
  decode_error: 50,
  protocol_version: 70,
  internal_error: 80,
  unrecognized_name: 112,
  certificate_required: 116,
  no_application_protocol: 120,
} as const

/** The name of a TLS alert. */
export type TlsAlert = keyof typeof ALERTS

/** Creates an unencrypted fatal alert, which a client accepts instead of a ServerHello. */
export function toAlert(description: number): Buffer {
  return Buffer.from([...ALERT, FATAL, description])
}

/** The layers below an HTTP/2 connection. */
export interface ConnectionLayers {
  readonly transport: Duplex
  /** The stream that carries HTTP/2: the transport, or TLS over it. */
  readonly link: Duplex
  /** Makes TLS send an alert. Null without TLS. */
  readonly alert: (() => void) | null
}

/** The stream below TLS. Its data comes from the socket, or from a script. */
export class TlsTransport extends Duplex {
  readonly #socket: Socket

  constructor(socket: Socket) {
    super()
    this.#socket = socket
    socket.on('data', (bytes: Buffer) => {
      if (!this.push(bytes)) socket.pause()
    })
    socket.on('end', () => this.push(null))
    socket.on('close', () => this.destroy())
    // The socket's error closes it.
    this.on('error', () => {})
  }

  /** Makes the server's TLS send a fatal alert, `bad_record_mac`, by giving it a record that it can't decrypt. */
  alert(): void {
    this.push(GARBAGE)
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    if (this.#socket.destroyed) callback()
    else this.#socket.write(bytes, () => callback())
  }

  override _final(callback: () => void): void {
    this.#socket.end()
    callback()
  }

  /** TLS has failed, for example because of an alert: the socket closes after what TLS has sent about that. */
  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#socket.destroySoon()
    callback(error)
  }
}
