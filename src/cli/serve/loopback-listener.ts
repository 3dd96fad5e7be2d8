/**
 * The sockets of `dodici serve`.
 *
 * @module
 */

import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { Listening } from '../loopback/listen.ts'

/** One address's sockets. */
export class LoopbackListener implements Listening {
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server, onSocket: (socket: Socket) => void) {
    const address = server.address()
    this.port = address === null || typeof address === 'string' ? 0 : address.port
    this.#server = server
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      // The socket's error closes it.
      socket.on('error', () => {})
      onSocket(socket)
    })
  }

  /** @throws Error from the system if it can't listen */
  static async listen(
    host: string,
    port: number,
    onSocket: (socket: Socket) => void,
  ): Promise<LoopbackListener> {
    const server = createServer({ noDelay: true })
    server.listen({ host, port, exclusive: true })
    await once(server, 'listening')
    return new LoopbackListener(server, onSocket)
  }

  /** Accepts no more sockets, and closes the open ones. */
  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }
}
