/** Waits for a connection that never stands: nothing but the request keeps the process alive, if that does. */
import { Client } from '../../../src/index.ts'
import { report } from './report.ts'

const [, , mode = '', origin = '', witness = ''] = process.argv
const GET = { path: '/', method: 'GET' } as const

async function ask(client: Client, signal: AbortSignal | null): Promise<void> {
  try {
    await client.request({ ...GET, signal })
    report({ name: 'none' })
  } catch (error) {
    report({ name: error instanceof Error ? error.name : String(error) })
  }
}

if (mode === 'silent connector') {
  await ask(new Client('http://localhost', { connect: () => {}, connectTimeout: 100 }), null)
} else if (mode === 'lost again and again') {
  await ask(new Client(origin), null)
} else {
  // Would wait for ever: the abort has to let go of the process.
  const client = new Client(origin, { connectTimeout: 0, connect: { rejectUnauthorized: false } })
  const abort = new AbortController()
  const answer = ask(client, abort.signal)
  // It answers once the handshake has begun.
  const seer = new Client(witness)
  await (await seer.request(GET)).body.dump()
  await seer.close()
  abort.abort()
  await answer
}
