/**
 * Listens on the loopback interface, and nowhere else.
 *
 * @module
 */

import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { isSystemError } from '../certificates/cache-folder.ts'
import { CliError, EXIT } from '../cli-error.ts'

/** How often a free port is looked for that is free for both addresses. */
const ATTEMPTS = 20

/** A port of 127.0.0.1 and, where there is one, of ::1. */
export class LoopbackListener {
  readonly port: number
  readonly #servers: readonly Server[]
  readonly #sockets = new Set<Socket>()

  private constructor(servers: readonly Server[], onSocket: (socket: Socket) => void) {
    this.port = toPort(servers[0])
    this.#servers = servers
    for (const server of servers) {
      server.on('connection', (socket: Socket) => {
        this.#sockets.add(socket)
        socket.on('close', () => this.#sockets.delete(socket))
        // An error of the socket closes it.
        socket.on('error', () => {})
        onSocket(socket)
      })
    }
  }

  /**
   * @param port 0 for any that is free
   * @param option the name of the option that chooses it, for the message
   * @throws CliError when it can't be listened on
   */
  static async listen(
    port: number,
    option: string,
    onSocket: (socket: Socket) => void,
  ): Promise<LoopbackListener> {
    try {
      return new LoopbackListener(await listenOnBoth(port), onSocket)
    } catch (error) {
      if (isSystemError(error)) throw new CliError(toMessage(error, port, option), EXIT.listen)
      throw error
    }
  }

  /** Takes no more sockets, and closes those that there are. */
  async close(): Promise<void> {
    const closed = this.#servers.map((server) => once(server, 'close'))
    for (const server of this.#servers) server.close()
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all(closed)
  }
}

async function listenOnBoth(port: number): Promise<Server[]> {
  for (let attempt = 1; ; attempt++) {
    const first = await listenOn('127.0.0.1', port)
    try {
      return [first, await listenOn('::1', toPort(first))]
    } catch (error) {
      if (isWithoutAddress(error)) return [first]
      first.close()
      await once(first, 'close')
      // A port that is free for 127.0.0.1 may be taken for ::1.
      if (port !== 0 || attempt === ATTEMPTS) throw error
    }
  }
}

async function listenOn(host: string, port: number): Promise<Server> {
  const server = createServer({ noDelay: true })
  server.listen({ host, port, exclusive: true })
  await once(server, 'listening')
  return server
}

/** Without IPv6, as in many containers. */
function isWithoutAddress(error: unknown): boolean {
  return isSystemError(error) && ['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(error.code)
}

function toPort(server: Server | undefined): number {
  const address: AddressInfo | string | null = server?.address() ?? null
  return address === null || typeof address === 'string' ? 0 : address.port
}

function toMessage(error: NodeJS.ErrnoException, port: number, option: string): string {
  if (error.code === 'EADDRINUSE') {
    return `port ${port} of the loopback interface is taken: choose another by ${option} PORT, or any by ${option} 0`
  }
  if (error.code === 'EACCES') {
    return `port ${port} isn't allowed for this user: choose one from 1024 on by ${option} PORT, or any by ${option} 0`
  }
  return `can't listen on port ${port}: ${error.message}`
}
