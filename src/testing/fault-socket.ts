/**
 * A new connection to a fault server, before TLS and HTTP/2.
 *
 * @module
 */

import type { Socket } from 'node:net'
import { byName } from './by-name.ts'
import { Delays } from './delays.ts'
import type { TlsAlert } from './tls-transport.ts'
import { ALERTS, toAlert } from './tls-transport.ts'

/** A socket that the server has just accepted. If a script takes it over, the server leaves it alone. */
export class FaultSocket {
  /** Its index, from 0, in the order in which the server accepted the sockets. */
  readonly index: number
  /** The TCP socket itself. */
  readonly socket: Socket
  readonly #delays = new Delays()
  #isTaken = false

  constructor(index: number, socket: Socket) {
    this.index = index
    this.socket = socket
    socket.once('close', () => this.#delays.end())
  }

  /** Whether the script has taken it over. */
  get isTaken(): boolean {
    return this.#isTaken || this.socket.destroyed
  }

  /** Waits before TLS and HTTP/2 begin. @returns false if the socket closes before */
  delay(milliseconds: number): Promise<boolean> {
    return this.#delays.wait(milliseconds)
  }

  /** Sends a fatal TLS alert instead of the server's handshake, and FIN. */
  alert(name: TlsAlert = 'handshake_failure'): void {
    this.send(toAlert(byName('alert', ALERTS, name)))
    this.socket.end()
  }

  /** Sends these bytes instead of what the protocol expects. The connection stays open. */
  send(content: string | Uint8Array): void {
    this.#isTaken = true
    // The client's data is read, so that its end is noticed.
    this.socket.resume()
    this.socket.write(content)
  }

  /** Never sends anything. */
  fallSilent(): void {
    this.#isTaken = true
    this.socket.resume()
  }

  /** Closes the socket (FIN). */
  end(): void {
    this.#isTaken = true
    this.socket.resume()
    this.socket.end()
  }

  /** Breaks the connection (a TCP RST). */
  break(): void {
    this.#isTaken = true
    this.socket.resetAndDestroy()
  }
}
