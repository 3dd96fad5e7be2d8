import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'

/**
 * Below all ports that an operating system chooses by itself, for a connection or for a server that asks for port 0 (Linux: from 32,768 on; others:
 * from 49,152 on): between our look and the bind of a server, after its end, and between two lives of one, no connection of another test
 * gets the port.
 */
const FIRST = 10_000
const LAST = 32_000
/** Test files run in so many processes at once, at most, each of which has ports of its own. Vitest numbers them from 1 on. */
const PROCESSES = 10
const PORTS = Math.floor((LAST - FIRST) / PROCESSES)
const start = FIRST + (Number(process.env.VITEST_POOL_ID ?? 0) % PROCESSES) * PORTS
// Another run of the tests on the same machine has the same numbers.
let next = Math.floor(Math.random() * PORTS)

/** Servers of node:net, node:tls, node:http and node:http2. */
type Listener = NodeJS.EventEmitter & {
  listen(options: { port: number; host?: string }): unknown
  address(): unknown
}

/** A port on which no process listens now, on no address. This process gets it again only after thousands of others. */
export async function findFreePort(): Promise<number> {
  const server = createServer()
  const port = await listenOnFree(server, null)
  server.close()
  await once(server, 'close')
  return port
}

/**
 * Listens on such a port, in the place of `listen(0)`: for a server that is started again on its port, or whose end a test is about.
 *
 * @param host null: all addresses
 */
export async function listenOnFree(server: Listener, host: string | null = '127.0.0.1'): Promise<number> {
  for (let looks = 1; ; looks++) {
    server.listen({ port: start + next, ...(host === null ? {} : { host }) })
    next = (next + 1) % PORTS
    try {
      await once(server, 'listening')
      return (server.address() as AddressInfo).port
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || looks === PORTS) throw error
    }
  }
}
