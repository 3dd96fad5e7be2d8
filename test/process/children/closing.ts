/**
 * Has an idle connection, whose peer never closes its side, closed: by its timeout, by its owner, by the one after the
 * other, or by its owner before a tunnel over it has ended.
 */
import { subscribe } from 'node:diagnostics_channel'
import { Client } from '../../../src/index.ts'
import { report } from './report.ts'

const [, , mode = '', origin = ''] = process.argv
const GET = { path: '/', method: 'GET' } as const

/** Waits until the session is closed on our side; what remains open then isn't ours. */
function untilDraining(): Promise<void> {
  const stay = setInterval(() => {}, 1_000)
  return new Promise((resolve) => {
    subscribe('dodici:session:draining', () => {
      clearInterval(stay)
      resolve()
    })
  })
}

/** Settles when it is closed. Its client is being closed before the tunnel ends. */
async function closeWithTunnel(client: Client): Promise<void> {
  const { socket } = await client.connect({ path: 'far.example:80' })
  const closed = client.close()
  setImmediate(() => socket.resume().end())
  await closed
}

const isByTimeout = mode.startsWith('timeout')
const client = new Client(origin, { keepAliveTimeout: isByTimeout ? 1 : 0 })
const draining = isByTimeout ? untilDraining() : null
process.on('exit', () => report({ sessions: client.stats.sessions.map(({ state }) => state) }))
await (await client.request(GET)).body.text()
await draining
if (mode !== 'timeout') {
  if (mode === 'owner, before a tunnel has ended') await closeWithTunnel(client)
  else await client.close()
  report({ isClosed: true })
}
