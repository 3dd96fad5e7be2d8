import { once } from 'node:events'
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** A peer that never closes its side, and is deaf: an empty SETTINGS frame is all that it ever says by itself. */
export async function startDeafPeer(): Promise<{ origin: string; sockets: Socket[] }> {
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.resume()
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { origin: `http://127.0.0.1:${port}`, sockets }
}
