/**
 * How many bytes an origin's sessions carry, including framing and header sections.
 *
 * @module
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

/** The sockets' bytes, without TLS. */
export interface ByteCount {
  readonly received: number
  readonly sent: number
}

const READY = 'dodici:session:ready'

/** Counts the bytes of all sessions that become ready, including those that end. */
export class WireBytes {
  readonly #origin: string
  readonly #open = new Set<Socket>()
  #received = 0
  #sent = 0
  readonly #onReady = (message: unknown): void => this.#add(message as ReadyMessage)

  constructor(origin: string) {
    this.#origin = origin
    subscribe(READY, this.#onReady)
  }

  /** So far. */
  read(): ByteCount {
    const open = [...this.#open]
    return {
      received: open.reduce((sum, { bytesRead }) => sum + bytesRead, this.#received),
      sent: open.reduce((sum, { bytesWritten }) => sum + bytesWritten, this.#sent),
    }
  }

  /** Stops watching for new sessions. */
  close(): void {
    unsubscribe(READY, this.#onReady)
  }

  #add({ session, socket }: ReadyMessage): void {
    if (session.origin !== this.#origin) return
    this.#open.add(socket)
    socket.once('close', () => {
      this.#open.delete(socket)
      this.#received += socket.bytesRead
      this.#sent += socket.bytesWritten
    })
  }
}

/** The channel's message. */
interface ReadyMessage {
  readonly session: { readonly origin: string }
  readonly socket: Socket
}
