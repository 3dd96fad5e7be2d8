/**
 * Has header sections cut off by node:http2 or by the peer, and collects garbage in the very turns of the event loop in
 * which node destroys its halves of the sessions and of the streams.
 */
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { Client } from '../../../src/index.ts'
import type { FaultConnection } from '../../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../../src/testing/fault-stream.ts'
import { Flag, frames, Type } from '../../../src/testing/frames.ts'
import { listenPeer } from '../../support/peers/peer.ts'
import { report } from './report.ts'

/** With a key and its certificate, it plays over TLS. */
const [end, method, rounds, siblings, key, cert] = process.argv.slice(2)

const PIECES = 12
/** HPACK: `:status: 200`, and a field that enters the table. */
const STATUS_200 = Buffer.of(0x88)
const FIELD = Buffer.concat([Buffer.of(0x40, 3), Buffer.from('x-a'), Buffer.of(30), Buffer.alloc(30, 'b')])

/** The frames of a header section in 13 frames, all of them legal. */
function toSection({ id }: FaultStream): Buffer[] {
  const section = [frames.frame(Type.HEADERS, Flag.END_STREAM, id, Buffer.concat([STATUS_200, FIELD]))]
  for (let count = 1; count <= PIECES; count++)
    section.push(frames.frame(Type.CONTINUATION, count === PIECES ? Flag.END_HEADERS : 0, id, FIELD))
  return section
}

const ENDS: Record<string, (stream: FaultStream, connection: FaultConnection) => void> = {
  'many frames': (stream, connection) => connection.write(...toSection(stream)),
  'another frame': (stream, connection) => connection.write(...toSection(stream).slice(0, 6), frames.ping()),
  break(stream, connection) {
    connection.write(...toSection(stream).slice(0, 6))
    setImmediate(() => {
      connection.break()
      collector.poke()
    })
  },
}

/**
 * A socket that collects garbage when it reads: between the callbacks that node runs in one turn, which no timer can
 * do.
 */
async function openCollector(): Promise<{ poke(): void; close(): void }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const reader = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const writer = await new Promise<Socket>((resolve) => server.once('connection', resolve))
  writer.setNoDelay(true)
  reader.on('data', () => globalThis.gc?.())
  // Its end may come while something is written.
  for (const end of [reader, writer]) end.on('error', () => {})
  const poke = (): void => {
    writer.write('x')
    setImmediate(() => writer.write('y'))
    setTimeout(() => writer.write('z'), 1)
  }
  const close = (): void => {
    reader.destroy()
    server.close()
  }
  return { poke, close }
}

const collector = await openCollector()
const tls = key === undefined || cert === undefined ? null : { key, cert }
const peer = await listenPeer(
  {
    onRequest(stream, connection) {
      if (stream.path === '/sibling') return
      const cut = (): void => {
        ENDS[end ?? '']?.(stream, connection)
        collector.poke()
      }
      // A body is being sent then.
      if (stream.method === 'GET') cut()
      else setTimeout(cut, 2)
    },
  },
  tls ?? {},
)

let failed = 0
for (let round = 0; round < Number(rounds); round++) {
  const client = new Client(peer.origin, {
    engine: 'node',
    ...(tls !== null && { connect: { ca: tls.cert } }),
    // Node 20 reports nothing of a broken header section.
    headersTimeout: 200,
    uploadTimeout: 200,
    replaySafe: false,
  })
  const count = (): void => void failed++
  const calls = Array.from({ length: Number(siblings) }, () =>
    client.request({ path: '/sibling', method: 'GET' }).catch(() => {}),
  )
  const body = method === 'POST' ? Buffer.alloc(5_000_000) : null
  await client.request({ path: '/', method: method ?? 'GET', body }).catch(count)
  await client.destroy()
  await Promise.all(calls)
}
await peer.close()
collector.close()
globalThis.gc?.()
report({ failed })
