import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { onTestFinished } from 'vitest'
import { listenOnFree } from './free-port.ts'

/** One address with several servers behind it. */
export interface Relay {
  readonly port: number
  /**
   * The servers' ports, of which a new connection goes to the next one that takes it. Those that stand are left alone.
   * `null`: out of rotation.
   */
  readonly servers: (number | null)[]
}

/** A relay of bytes on a free port of the loopback interface. It ends with the test. */
export async function startRelay(): Promise<Relay> {
  const sockets = new Set<Socket>()
  let turn = 0
  // What one side closes, the other closes once it is done: a GOAWAY is followed by a closed half.
  const listener = createServer({ allowHalfOpen: true })
  const relay = { port: 0, servers: [] as (number | null)[] }
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', ignore).on('close', () => sockets.delete(socket))
  }
  listener.on('connection', async (client) => {
    keep(client)
    for (let tries = relay.servers.length; tries > 0; tries--) {
      const server = await open(relay.servers[turn++ % relay.servers.length] ?? null)
      if (server === null) continue
      keep(server)
      forward(client, server)
      forward(server, client)
      return
    }
    client.resetAndDestroy()
  })
  relay.port = await listenOnFree(listener)
  onTestFinished(async () => {
    const closed = once(listener, 'close')
    listener.close()
    for (const socket of sockets) socket.destroy()
    await closed
  })
  return relay
}

/** Null when there is no server. */
async function open(port: number | null): Promise<Socket | null> {
  if (port === null) return null
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  try {
    await once(socket, 'connect')
    return socket
  } catch {
    return null
  }
}

/** All that `from` said before it closed, or was killed, reaches `to`, and then the end does. */
function forward(from: Socket, to: Socket): void {
  from.pipe(to)
  from.on('close', () => {
    to.end()
    // Nothing that it says now has a reader.
    to.destroySoon()
  })
}

function ignore(): void {}
