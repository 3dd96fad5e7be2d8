import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Client } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import { Flag, frames, PREFACE, Type } from '../../src/testing/frames.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { NO_ERROR } from '../support/peers/error-codes.ts'
import { REFUSED_DUPLEX, SERVE, startPeer, toConnector } from '../support/peers/peer-rig.ts'

const GET = { path: '/', method: 'GET' } as const

describe.each([
  ['on engine wire', { engine: 'wire' }],
  ['of a client that names no engine', {}],
] as const)('a connection of a peer without a socket, %s', (_what, options) => {
  async function start(scripts: ConnectionScript | readonly ConnectionScript[]) {
    const peer = await startPeer(scripts)
    const client = destroyWithTest(new Client(peer.origin, { ...options, connect: toConnector(peer) }))
    return { peer, client }
  }

  it('serves requests, and is listed in the ledger', async () => {
    const { peer, client } = await start(SERVE)
    for (let call = 0; call < 2; call++) {
      const { body } = await client.request({ path: '/', method: 'POST', body: 'x'.repeat(200_000) })
      expect(await body.text()).toBe('POST /')
    }
    expect(peer.ledger).toEqual(['0/1 POST /', '0/3 POST /'])
    expect(peer.requests.map(({ length }) => length)).toEqual([200_000, 200_000])
    await client.close()
    await peer.waitFor(() => peer.connection(0).isClosed)
    expect(() => peer.connection(0).socket).toThrow('no socket')
  })

  it('breaks like one with a socket', async () => {
    const onComplete: ConnectionScript['onComplete'] = (_stream, connection) => connection.break()
    const { peer, client } = await start([{ onComplete }, SERVE])
    const lost = once(client, 'disconnect')
    await expect(client.request({ path: '/', method: 'POST' })).rejects.toThrow('ECONNRESET')
    await lost
    expect(await (await client.request(GET)).body.text()).toBe('GET /')
    expect(peer.ledger).toEqual(['0/1 POST /', '1/1 GET /'])
  })

  it('writes a frame cut anywhere, and the client reads it', async () => {
    const { peer, client } = await start({
      onComplete: ({ id }, connection) => {
        const bytes = Buffer.concat([frames.response(id), frames.data(id, 'hello', Flag.END_STREAM)])
        void connection.writeCut(bytes, 1, 8, 9, 9, 10, 12, 22)
      },
    })
    expect(await (await client.request(GET)).body.text()).toBe('hello')
    expect(peer.ledger).toEqual(['0/1 GET /'])
  })
})

it('a connection of a peer without a socket, on engine node, is refused before a byte is sent', async () => {
  const peer = await startPeer(SERVE)
  const client = destroyWithTest(new Client(peer.origin, { engine: 'node', connect: toConnector(peer) }))
  await expect(client.request(GET)).rejects.toMatchObject(REFUSED_DUPLEX)
  await peer.waitFor(() => peer.connection(0).isClosed)
  expect(peer.connection(0).frames).toEqual([])
})

describe('writeCut()', () => {
  const BYTES = Buffer.concat([frames.settings([3, 100]), frames.ping(), frames.goAway(1, NO_ERROR, 'why')])

  /** What a client reads, by the length of each piece. It sends its preface and nothing more. */
  async function read(...offsets: number[]): Promise<number[]> {
    const peer = await startPeer({
      settings: null,
      // In the middle of a poll of sockets.
      onFrame: (_frame, connection) => {
        void connection.writeCut(BYTES, ...offsets).then(() => connection.end())
      },
    })
    const socket: Socket = connect(Number(new URL(peer.origin).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const pieces: Buffer[] = []
    socket.on('data', (piece: Buffer) => pieces.push(piece))
    socket.write(Buffer.concat([Buffer.from(PREFACE), frames.frame(Type.PRIORITY, 0, 1, Buffer.alloc(5))]))
    await once(socket, 'end')
    expect(Buffer.concat(pieces)).toEqual(BYTES)
    return pieces.map(({ length }) => length)
  }

  it('sends each part in a segment of its own', async () => {
    for (let at = 1; at < BYTES.length; at++) {
      expect(await read(at)).toEqual([at, BYTES.length - at])
    }
    expect(await read(3, 9, 15, 20)).toEqual([3, 6, 6, 5, BYTES.length - 20])
  })

  it('leaves out parts that are empty', async () => {
    expect(await read(0, 9, 9, BYTES.length)).toEqual([9, BYTES.length - 9])
  })
})

it('a peer needs no test runner: scripts use it, too', async () => {
  const { metafile } = await build({
    entryPoints: [fileURLToPath(new URL('../../src/testing/fault-server.ts', import.meta.url))],
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
  })
  const folders = Object.keys(metafile.inputs).map((path) => path.replace(/[^/]*$/, ''))
  expect([...new Set(folders)]).toEqual(['src/testing/'])
})
