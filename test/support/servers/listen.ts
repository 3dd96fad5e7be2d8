/** Servers of sockets, and what becomes of their connections. */

import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { listenOnFree } from './free-port.ts'

/** What a listening server is to a test that looks at its sockets. */
export interface SocketServer {
  readonly port: number
  /** Every socket so far, closed ones too. */
  readonly sockets: readonly Socket[]
  /** Settles when each of these sockets is closed. */
  readonly allClosed: () => Promise<unknown>
}

/** Listens until the test ends. @param port 0: a free one */
export async function listen(server: Server, host = '127.0.0.1', port = 0): Promise<SocketServer> {
  const sockets: Socket[] = []
  const closes: Promise<unknown>[] = []
  server.on('connection', (socket: Socket) => {
    sockets.push(socket)
    closes.push(new Promise((resolve) => socket.once('close', resolve)))
    // A client that goes away in the middle of a handshake is what many tests are about.
    socket.on('error', ignore)
  })
  server.on('tlsClientError', ignore)
  if (port === 0) await listenOnFree(server, host)
  else await once(server.listen(port, host), 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    const closed = once(server, 'close')
    server.close()
    await closed
  })
  return { port: (server.address() as AddressInfo).port, sockets, allClosed: () => Promise.all(closes) }
}

function ignore(): void {}
