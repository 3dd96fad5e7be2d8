/** A TCP server that speaks as little as a test needs. */

import { createServer } from 'node:net'
import { listen } from '../servers/listen.ts'

/** Says these bytes to each client, and then nothing; null: it hangs up. It ends with the test. @returns its port */
export async function listenRaw(bytes: Buffer | string | null): Promise<number> {
  const server = createServer((socket) => {
    if (bytes === null) socket.destroy()
    else socket.write(bytes)
  })
  return (await listen(server)).port
}
