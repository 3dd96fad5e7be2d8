import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import type { DispatchOptions } from '../../types/index.ts'
import { lacksGo } from '../support/servers/restarting-server.ts'
import type { InteropServer } from './fetch-servers.ts'
import { Cleaner, startServer } from './fetch-servers.ts'

const MEGABYTE = 1_000_000

/** Large bodies, as they are sent at once, and piece by piece. */
const BODIES: Record<string, () => DispatchOptions['body']> = {
  'a Buffer of 100 MB': () => Buffer.alloc(100 * MEGABYTE),
  '50 MB from a generator, 16 KB each': async function* () {
    const piece = Buffer.alloc(16_000)
    for (let sent = 0; sent < 50 * MEGABYTE; sent += piece.length) yield piece
  },
}

// It gives credit for each 4 KiB that its handler has read, on the stream and on the connection: thousands of
// WINDOW_UPDATEs.
describe.skipIf(lacksGo)('an upload to Go’s net/http on engine wire', () => {
  const cleaner = new Cleaner()
  let server: InteropServer

  beforeAll(async () => {
    server = await startServer('go', cleaner)
  })
  afterAll(() => cleaner.clean())

  it.each(Object.entries(BODIES))('is read to its end: %s', async (name, toBody) => {
    const client = new Client(server.origin, { engine: 'wire', connect: { ca: server.ca } })
    try {
      const path = `/swallow/${encodeURIComponent(name)}`
      const { statusCode, body } = await client.request({ path, method: 'POST', body: toBody() })
      expect([statusCode, await body.text()]).toEqual([200, 'swallowed'])
      expect(client.stats).toMatchObject({ running: 0, size: 0 })
    } finally {
      await client.destroy()
    }
  })
})
