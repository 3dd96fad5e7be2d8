/**
 * A connection of a fault server before anything was said on it: ahead of TLS, and of HTTP/2.
 *
 * @module
 */

import type { Socket } from 'node:net'
import { byName } from './by-name.ts'
import { Delays } from './delays.ts'
import type { TlsAlert } from './tls-transport.ts'
import { ALERTS, toAlert } from './tls-transport.ts'

/** A socket that the server has just accepted. What a script does with it, the server doesn't go on with. */
export class FaultSocket {
  /** From 0, in the order in which they came. */
  readonly index: number
  /** The socket itself. */
  readonly socket: Socket
  readonly #delays = new Delays()
  #isTaken = false

  constructor(index: number, socket: Socket) {
    this.index = index
    this.socket = socket
    socket.once('close', () => this.#delays.end())
  }

  /** The script has decided about it. */
  get isTaken(): boolean {
    return this.#isTaken || this.socket.destroyed
  }

  /** Waits before TLS and HTTP/2 begin. @returns false where the socket has closed before */
  delay(milliseconds: number): Promise<boolean> {
    return this.#delays.wait(milliseconds)
  }

  /** A fatal TLS alert in place of the server's handshake, and FIN. */
  alert(name: TlsAlert = 'handshake_failure'): void {
    this.send(toAlert(byName('alert', ALERTS, name)))
    this.socket.end()
  }

  /** These octets, in place of whatever the protocol would have. The connection stays open. */
  send(content: string | Uint8Array): void {
    this.#isTaken = true
    // The client's part is read, so that its end is seen.
    this.socket.resume()
    this.socket.write(content)
  }

  /** Nothing is ever said. */
  fallSilent(): void {
    this.#isTaken = true
    this.socket.resume()
  }

  /** Closes it (FIN). */
  end(): void {
    this.#isTaken = true
    this.socket.resume()
    this.socket.end()
  }

  /** Breaks it (a TCP RST). */
  break(): void {
    this.#isTaken = true
    this.socket.resetAndDestroy()
  }
}
