/** Waits for a connection that is never established: only the request can keep the process alive. */
import type { Socket } from 'node:net'
import { Agent, Client } from '../../../src/index.ts'
import { PairedDuplex } from '../../../src/testing/duplex-pair.ts'
import type { Connector } from '../../../types/index.ts'
import { report } from './report.ts'

const [, , mode = '', origin = '', witness = ''] = process.argv
const GET = { path: '/', method: 'GET' } as const

async function ask(client: Agent | Client, signal: AbortSignal | null): Promise<void> {
  try {
    await client.request({
      ...GET,
      ...(client instanceof Agent ? { origin: 'http://localhost' } : {}),
      signal,
    })
    report({ name: 'none' })
  } catch (error) {
    report({ name: error instanceof Error ? error.name : String(error) })
  }
}

if (mode === 'silent connector') {
  await ask(new Client('http://localhost', { connect: () => {}, connectTimeout: 100 }), null)
} else if (mode.startsWith('held ')) {
  const connect: Connector = (_options, callback) => {
    // There is no peer. A Duplex stands in for the socket: the types permit only sockets, as undici's do.
    if (mode === 'held in memory') callback(null, PairedDuplex.toPair()[0] as unknown as Socket)
  }
  const client =
    mode === 'held by HTTP/1.1'
      ? new Agent({ connect, connectTimeout: 0 })
      : new Client('http://localhost', { connect, connectTimeout: 0, pingInterval: 0 })
  const abort = new AbortController()
  // It rings only where something else keeps the process alive.
  setTimeout(() => abort.abort(), 100).unref()
  await ask(client, abort.signal)
} else if (mode === 'lost again and again') {
  await ask(new Client(origin), null)
} else {
  // Would wait for ever: the abort has to let go of the process.
  const client = new Client(origin, { connectTimeout: 0, connect: { rejectUnauthorized: false } })
  const abort = new AbortController()
  const response = ask(client, abort.signal)
  // It responds once the handshake has begun.
  const seer = new Client(witness)
  await (await seer.request(GET)).body.dump()
  await seer.close()
  abort.abort()
  await response
}
