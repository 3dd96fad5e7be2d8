/** Loses a connection, and reports whether its socket, and with it its session, is collected as garbage. */
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { Client } from '../../../src/index.ts'
import { listenPeer } from '../../support/peers/peer.ts'
import { report } from './report.ts'

/** Turns of the event loop, with a collection each. */
const PATIENCE = 50

const peer = await listenPeer({ onRequest: (_stream, connection) => connection.break() })
let socket: WeakRef<Socket> | null = null
const client = new Client(peer.origin, {
  engine: process.argv[2] === 'wire' ? 'wire' : 'node',
  replaySafe: false,
  connect: ({ hostname, port }, callback) => {
    const made = connect(Number(port), hostname)
    socket = new WeakRef(made)
    made.once('connect', () => callback(null, made))
  },
})

async function lose(): Promise<string> {
  try {
    await client.request({ path: '/', method: 'GET' })
    return 'no error'
  } catch (error) {
    return Object(error).name
  }
}

const toLeft = (): boolean => socket?.deref() !== undefined

const error = await lose()
for (let turn = 0; turn < PATIENCE && toLeft(); turn++) {
  await new Promise((resolve) => setTimeout(resolve, 10))
  globalThis.gc?.()
}
report({ error, isLeft: toLeft() })
await client.destroy()
await peer.close()
